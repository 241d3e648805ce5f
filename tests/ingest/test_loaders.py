"""Loaders: the documents of each format, and the reasons for unreadable files."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth import Engine
from sleuth.files import FileFormat
from sleuth.files.formats import BUILT_IN
from sleuth.ingest import ReadOptions, read
from sleuth.ingest.extraction import name_columns
from sleuth.ingest.loaders import FileBytes
from sleuth.ingest.loaders.file import iso_time, kind_of
from sleuth.text.chunkers import Chunker
from sleuth.types import Document
from tests.ingest.extraction.reading import load, only, reason
from tests.ingest.files import pdf, pdf_of


def test_metadata_of_every_file(tmp_path: Path) -> None:
    """A document has its source, modification time, size and type as metadata."""
    path = tmp_path / "sub" / "some notes.txt"
    path.parent.mkdir()
    path.write_text("text\r\nmore\rlast\n")
    os.utime(path, ns=(0, 1_700_000_000_999_999_999))
    (document, _) = read([tmp_path], options=ReadOptions(metadata={"team": "a"}))
    assert isinstance(document, Document)
    assert document.page_content == "text\nmore\nlast\n"
    assert document.id is None
    assert document.metadata == {
        "source": str(path), "path": str(path), "title": "some notes", "modified": "2023-11-14T22:13:20Z",
        "size": 16, "type": "text", "team": "a",
    }  # fmt: skip


def test_times_out_of_range(tmp_path: Path) -> None:
    """A file with a time in the far future has a valid time."""
    assert iso_time(2**63 - 1) == "2262-04-11T23:47:16Z"
    assert iso_time(10**21) == "9999-01-01T00:00:00Z"
    assert iso_time(-(10**21)) == "0001-01-01T00:00:00Z"


def test_encoding_is_noted_where_it_is_not_utf8(tmp_path: Path) -> None:
    """UTF-16 is decoded, and the encoding is noted."""
    document = only(tmp_path / "a.txt", "Grüße".encode("utf-16"))
    assert document.page_content == "Grüße"
    assert document.metadata["encoding"] == "utf-16"
    assert "encoding" not in only(tmp_path / "b.txt", "Grüße").metadata


def test_markdown(tmp_path: Path) -> None:
    """Front matter becomes metadata and blank lines, so that line numbers equal those of the file."""
    text = '---\ntitle: "The Guide"\ntags: [a, b c]\nauthors:\n  - Ann\n  - Bob\ndraft: true\nyear: 2024\nsize: 7\n'
    text += "nested:\n  deep: 1\nnote: one\n  two\n---\n\n# Heading\n\nBody.\n"
    document = only(tmp_path / "a.md", text)
    facts = document.metadata
    assert (facts["title"], facts["tags"], facts["authors"]) == ("The Guide", ["a", "b c"], ["Ann", "Bob"])
    assert (facts["draft"], facts["year"], facts["note"]) == (True, 2024, "one two")
    assert facts["size"] == len(text)
    assert facts["type"] == "markdown"
    (chunk,) = Chunker().split(document)
    assert chunk.text == "# Heading\n\nBody."
    assert text.splitlines()[chunk.start_line - 1] == "# Heading"


def test_toml_front_matter(tmp_path: Path) -> None:
    """Front matter between plus signs is TOML."""
    document = only(
        tmp_path / "a.md", '+++\ntitle = "T"\ndate = 2020-01-01\nbig = 99999999999999999999\n+++\nBody\n'
    )
    assert (document.metadata["title"], document.metadata["date"]) == ("T", "2020-01-01")
    assert "big" not in document.metadata


@pytest.mark.parametrize(
    "text", ["---\n\nA rule above.\n\n---\n", "---\nnever closed\n", "+++\nno toml\n+++\n", "---\n"]
)
def test_what_is_no_front_matter(tmp_path: Path, text: str) -> None:
    """A horizontal rule at the top is not front matter, and no text is lost."""
    assert only(tmp_path / "a.md", text).page_content == text


def test_titles(tmp_path: Path) -> None:
    """A title is the first heading, or else the name of the file."""
    late = ["word\n" * (blanks // 5) + "x" * (blanks % 5) for blanks in range(980, 1010)]
    for name, text, title in (
        ("a.md", "text\n\n## The `Title` ##\n\n# Other", "The Title"),
        ("b.md", "no heading", "b"),
        ("c.rst", "=====\nTitle\n=====\n\ntext", "Title"),
        *(("d.md", f"{start}\n\nLate Title\n===\n\n# Other", "Late Title") for start in late),
        *(("e.rst", f"{start}\n\nLate Title\n==========\n\nx", "Late Title") for start in late),
        ("f.md", "x" * 1500 + "\n\n# After a long line", "After a long line"),
        ("d.py", "# comment\nx = 1", "d.py"),
        (".hidden", "x", ".hidden"),
    ):
        assert only(tmp_path / name, text).metadata["title"] == title


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.html", "<html><script>x</script></html>", "no text in this page"),
        ("a.md", "", "empty"), ("b.txt", " \n\n", "empty"),
        *((f"c{extension}", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary") for extension in (
            ".txt", ".md", ".py", ".html", ".csv", ".json", ".jsonl", "",
        )),
        *(("d.html", f"{page}text", "elements nested too deeply") for page in (
            "<div>" * 80_000, "<div></b>" * 80_000, "<span>" * 40_000 + "<div></div>" * 40_000,
            "<svg>" + "<a " * 80_000,
        )),
        ("a.pdf", pdf([["text"]], encrypted=True), "protected by a password"),
        ("b.pdf", pdf([["text"] * 20])[:100], "not a PDF, or damaged"),
        ("c.pdf", b"no PDF at all", "not a PDF, or damaged"), ("d.pdf", pdf([[]]), "no text in its pages"),
    ],
    ids=lambda value: ascii(value)[:30],
)  # fmt: skip
def test_files_without_a_document(tmp_path: Path, name: str, content: bytes | str, expected: str) -> None:
    """Files without text, pages that would take many seconds to parse, and unreadable PDFs are skipped with reasons."""
    assert reason(tmp_path / name, content) == expected


HTML = Path(__file__).with_name("page.txt").read_text("utf8")


def test_html(tmp_path: Path) -> None:
    """A page becomes Markdown with headings, lists, tables and code, without navigation."""
    document = only(tmp_path / "a.html", HTML)
    assert document.metadata["title"] == "The & Title"
    assert document.page_content == (
        "§ and ¶\n\n# Heading\n\nOne bold word,\nnew line.\n\n- first\n- second\n  1. inner\n  2. next\n\n"
        "| a | b |\n| 1 | 2 |\n\n```\n  x = 1\n  y = 2\n```\n\nCafé <tag>"
    )


def test_html_main_part(tmp_path: Path) -> None:
    """If a page marks its main part, only that is read."""
    text = "word " * 100
    page = f"<body><div>frame</div><main><h1>T</h1><p>{text}</p></main><div>frame</div></body>"
    assert "frame" not in only(tmp_path / "a.html", page).page_content


@pytest.mark.parametrize(
    "code",
    [
        "<table><tr><td>pretty</td><td><pre>[\n 1\n]\n</pre></td></tr></table>",
        "<table><tr><td>sum</td><td><pre>1 + 1</pre></td><td>two</td></tr></table>",
        "<ul><li><pre>first\nsecond</pre></li></ul>",
        "<table><tr><td><ul><li><pre>first\nsecond</pre></li></ul></td><td>cell</td></tr></table>",
        "<pre>\n```sh\n# comment\n```\n/// ```\n</pre>",
        "<pre>outer\n<pre>inner\n</pre>outer</pre>",
    ],
)
def test_headings_below_code(tmp_path: Path, code: str) -> None:
    """A passage stands under the heading above it, whatever holds code before that heading."""
    body = "A sentence of this part. " * 90
    page = f"<h1>Guide</h1><p>{body}</p>{code}<h2>Use</h2><p>{body}</p><h2>End</h2><p>{body}</p>"
    chunks = Chunker().split(only(tmp_path / "a.html", page))
    headings = list(dict.fromkeys(chunk.fields["heading"] for chunk in chunks))
    assert headings == ["Guide", "Guide > Use", "Guide > End"]


def test_headings_without_signs_of_links(tmp_path: Path) -> None:
    """Links of headings to themselves and no-break spaces are left out; words and signs of a heading stay."""
    page = (
        "<title>9.\xa0Cats\xb6</title><h1>9.\xa0Cats<a href='#a' class='id_link'>#</a></h1>"
        "<h2><a href='#b'>\xa7</a>C# and <a href='c'>C++</a> \xb6</h2><p>Text.</p>"
    )
    document = only(tmp_path / "a.html", page)
    assert document.metadata["title"] == "9. Cats"
    assert document.page_content == "# 9. Cats\n\n## C# and C++\n\nText."


def test_html_declared_encoding(tmp_path: Path) -> None:
    """A page is decoded with the encoding that it declares."""
    page = '<html><head><meta charset="cp1251"></head><body><p>Быстрая лиса</p></body></html>'
    document = only(tmp_path / "a.html", page.encode("cp1251"))
    assert (document.page_content, document.metadata["encoding"]) == ("Быстрая лиса", "cp1251")


def test_html_nested_deeply(tmp_path: Path) -> None:
    """A page nested ten times deeper than browsers allow is read."""
    document = only(tmp_path / "a.html", "<div>" * 5000 + "deep" + "</div>" * 5000)
    assert document.page_content == "deep"


def test_html_that_is_large_and_sloppy(tmp_path: Path) -> None:
    """Missing end tags and many shapes of a drawing do not count as depth."""
    drawing = "<svg>" + "<path d='M 0'/>" * 40_000 + "</svg>"
    page = "<p>word <br><b>bold</b>" * 20_000 + drawing + "<ul>" + "<li>x" * 9_000
    assert only(tmp_path / "a.html", page).page_content.startswith("word")


def test_pdf(tmp_path: Path) -> None:
    """Each page is a document part, and chunks have page numbers."""
    document = only(
        tmp_path / "a.pdf", pdf([["First page", "second line"], [], ["Third page"]], title="The Title")
    )
    assert document.page_content == "First page\nsecond line\f\fThird page"
    assert (document.metadata["title"], document.metadata["pages"]) == ("The Title", 3)
    assert [(c.page, c.text) for c in Chunker().split(document)] == [
        (1, "First page\nsecond line"),
        (3, "Third page"),
    ]


def test_missing_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its package a file is skipped with the command that installs it."""
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    assert "pip install 'sleuth[pdf]'" in reason(tmp_path / "a.pdf", b"any bytes")


def test_columns_are_named_where_tables_are_long() -> None:
    """A short table, a table in code and a table of uneven rows stay as they are."""
    short = "| a | b |\n| 1 | 2 |"
    rows = "\n".join(f"| {'x' * 40} | {number} |" for number in range(40))
    assert name_columns(short) == short
    assert name_columns(f"```\n| a | b |\n{rows}\n```") == f"```\n| a | b |\n{rows}\n```"
    assert name_columns(f"| a |\n{rows}") == f"| a |\n{rows}"
    text = name_columns(f"Before.\n\n| a | b |\n| --- | --- |\n{rows}\n\nAfter.")
    assert text.startswith(f"Before.\n\n| a | b |\n| a: {'x' * 40} | b: 0 |\n")
    assert text.endswith("| b: 39 |\n\nAfter.")


def test_kinds() -> None:
    """The kind of a file follows from its extension, else its name, else its first bytes."""
    assert kind_of("a/b.PY") == "python"
    assert kind_of("Makefile") == "makefile"
    assert kind_of("README") == "text"
    assert kind_of("x", b"%PDF-1.7") == "pdf"
    assert kind_of("x", b"\n <!DOCTYPE html>") == "html"
    assert kind_of("x", b"#!/usr/bin/env python3\n") == "python"
    assert kind_of("x", b"#!/bin/bash\n") == "shell"


def test_a_loader_that_fails_costs_one_file(tmp_path: Path) -> None:
    """A loader of the user's own keeps the documents it yielded before it failed; the failure names the file."""

    def upper(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
        text, metadata = file.text()
        yield Document(text.upper(), {"title": "Mine", **metadata})
        raise KeyError("bad")

    loaders = [FileFormat("upper", upper, [".up"])]
    first, second = load(tmp_path / "b.up", "bad", loaders=loaders)
    assert isinstance(first, Document)
    assert (first.page_content, first.metadata["title"], first.metadata["type"]) == ("BAD", "Mine", "upper")
    assert str(second) == f"{tmp_path}/b.up: KeyError: 'bad'"


def test_ligatures_of_latex(tmp_path: Path) -> None:
    """Codes 27 to 31 of fonts that name no characters are the ligatures of T1."""
    page = "BT /F1 12 Tf (o\\036ce \\034nd o\\033 \\035ow wa\\037e) Tj ET"
    (tmp_path / "a.pdf").write_bytes(pdf_of(page, "/Font << /F1 3 0 R >>", []))
    assert only(tmp_path / "a.pdf").page_content == "office find off flow waffle"


def test_overstruck_letters_stand_once(tmp_path: Path) -> None:
    """A letter over itself is bold, one over an underscore underlined."""
    (tmp_path / "a.txt").write_text("N\bNA\bAM\bME\bE\n  _\bf_\bo - x\bx\bxy \bz\n\b\n")
    assert only(tmp_path / "a.txt").page_content == "NAME\n  fo - xyz\n\n"


def test_mdx_has_its_words_alone(tmp_path: Path) -> None:
    """Imports, exports, components and comments are blank, code stays, and lines keep their numbers."""
    source = (
        "---\ntitle: T\n---\nimport {\n  A,\n} from 'b';\n\nexport const x = 1;\n\n# Head\n\n<Tabs a=\"b\"\n  c={1}>\n"
        "Words <Icon name='x' /> here, a < b.\n\n{/* no */}\n```js\nimport stays from 'x';\n<Stays />\n```\n</Tabs>\n"
    )
    (tmp_path / "a.mdx").write_text(source)
    text = only(tmp_path / "a.mdx").page_content
    assert text.count("\n") == source.count("\n")
    words = ["# Head", "Words  here, a < b.", "```js", "import stays from 'x';", "<Stays />", "```"]
    assert list(filter(None, text.split("\n"))) == words


@pytest.mark.parametrize("has_lines", [True, False])
def test_a_format_says_whether_it_has_the_lines_of_the_file(
    engine: Engine, tmp_path: Path, has_lines: bool
) -> None:
    """Passages of a loader have lines if its format says that they are those of the file."""

    def load(file: object, options: ReadOptions) -> list[Document]:
        return [Document("fourth line of words")]

    (tmp_path / "a.note").write_text("\n\n\nfourth line of words")
    options = ReadOptions(loaders=[FileFormat("note", load, [".note"], has_lines=has_lines)])
    engine.index([tmp_path], options=options)
    (item,) = engine.retrieve("fourth")
    assert ("start_line" in item.metadata) == has_lines


def test_formats_that_a_process_extracts_have_no_lines() -> None:
    """A text that was extracted, or a row, has no lines of the file; source code and Markdown have."""
    assert not any(one.has_lines for one in BUILT_IN.values() if one.extract or one.form in ("rows", "files"))
    assert all(one.has_lines for one in BUILT_IN.values() if one.form == "code")
