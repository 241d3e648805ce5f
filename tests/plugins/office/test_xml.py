"""XML files: prose, data, and what is refused."""

from pathlib import Path

import pytest

from tests.ingest.extraction.reading import only, reason

ARTICLE = """<?xml version="1.0"?><article xmlns="http://docbook.org/ns/docbook"><title>Tea</title>
<section><title>Brewing</title><para>Use <emphasis>hot</emphasis> water,
not <link>boiling</link>.</para><para>Wait.</para></section></article>"""
DATA = (
    '<?xml version="1.0" encoding="iso-8859-1"?>'
    '<stock><item sku="a7" id="1"><name>Caf\xe9</name><count>3</count></item></stock>'
)


def test_prose(tmp_path: Path) -> None:
    """Titles are headings, and a sentence stays whole around elements inside it."""
    content = only(tmp_path / "a.xml", ARTICLE)
    assert content.page_content == "# Tea\n\n## Brewing\n\nUse hot water, not boiling.\n\nWait."
    assert content.metadata["title"] == "Tea"


DOCBOOK_TABLE = """<informaltable><tgroup cols="2"><thead><row><entry>Person</entry><entry>Room</entry></row></thead>
<tbody><row><entry><para>Ann</para><para>Lee</para></entry><entry>12</entry></row></tbody></tgroup></informaltable>"""
SHEET = (
    "<Table><Row><Cell><Data>Person</Data></Cell><Cell><Data>Room</Data></Cell></Row>"
    "<Row><Cell><Data>Ann Lee</Data></Cell><Cell><Data>12</Data></Cell></Row></Table>"
)


@pytest.mark.parametrize(
    "table", [DOCBOOK_TABLE, SHEET, DOCBOOK_TABLE.replace("row", "tr").replace("entry", "td")]
)
def test_tables(tmp_path: Path, table: str) -> None:
    """The cells of a row stand in one line, below the names of the columns, and prose goes on after a blank line."""
    content = only(
        tmp_path / "a.xml", f"<book><para>Before.</para>{table}<para>After.</para></book>"
    ).page_content
    assert content.endswith("\n\n| Person | Room |\n|---|---|\n| Ann Lee | 12 |\n\nAfter.")


def test_rows_without_cells(tmp_path: Path) -> None:
    """Elements named "row" that hold no cells are data as any other."""
    assert (
        only(tmp_path / "a.xml", "<a><row><name>x</name></row><row sku='7'/></a>").page_content
        == "name: x\nrow: sku=7"
    )


def test_data(tmp_path: Path) -> None:
    """Elements are lines with their names and attributes; the declared encoding holds."""
    content = only(tmp_path / "a.xml", DATA.encode("iso-8859-1"))
    assert content.page_content == "item: sku=a7\nname: Café\ncount: 3"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "declares entities, which are not read"),
        (
            '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
            "declares entities, which are not read",
        ),
        ("<a>" * 5_000, "nested too deeply"),
        ("<a><b></a>", "not readable as XML: mismatched tag: line 1, column 8"),
        ("<a></a>", "no text in it"),
        ("words", "not readable as XML: syntax error: line 1, column 0"),
    ],
)
def test_what_is_refused(tmp_path: Path, data: str, expected: str) -> None:
    """Entities, deep nesting and damage cost the file."""
    assert reason(tmp_path / "a.xml", data) == expected


def test_a_doctype_outside_the_file_is_not_read(tmp_path: Path) -> None:
    """A document type that names another file is read without it."""
    (tmp_path / "x.dtd").write_text('<!ENTITY b "secret">')
    content = only(tmp_path / "a.xml", f'<!DOCTYPE a SYSTEM "{tmp_path}/x.dtd"><a><p>words</p></a>')
    assert content.page_content == "words"
