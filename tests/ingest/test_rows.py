"""Files of rows: the documents of CSV, JSON lines, Parquet and JSON, and the reasons for rows that are left out."""

import json
from datetime import date
from pathlib import Path

import pytest

from sleuth import Engine
from sleuth.errors import ArgumentError
from sleuth.ingest import ReadOptions, Skipped
from sleuth.types import RESERVED, Document
from tests.ingest.extraction.reading import documents, load, only, reason

CSV = 'id,title,body,year\n7,"A ""title""","Two\nlines",2020\n\n8,Other,"x, y",\n9,short\n10,T,b,2021,more\n'


def test_csv(tmp_path: Path) -> None:
    """Each row is a document of `key: value` lines with its row number."""
    path = tmp_path / "a.csv"
    first, second, third, fourth = documents(path, "\ufeff" + CSV.replace("\n", "\r\n"))
    assert first.page_content == 'id: 7\ntitle: A "title"\nbody: Two\nlines\nyear: 2020'
    assert (first.metadata["source"], first.metadata["row"]) == (f"{path}#1", 1)
    assert first.metadata["title"] == 'A "title"'
    assert second.metadata["source"] == f"{path}#2"
    assert third.page_content == "id: 9\ntitle: short"
    assert fourth.page_content.endswith("field 5: more")


def test_chosen_fields(tmp_path: Path) -> None:
    """Options choose the fields for text, metadata, title and id."""
    first, *_ = load(
        tmp_path / "a.csv", CSV, text_fields=["body"], metadata_fields=["year"], id_field="id",
        title_field="body",
    )  # fmt: skip
    assert isinstance(first, Document)
    assert (first.page_content, first.id) == ("Two\nlines", "7")
    assert (first.metadata["year"], first.metadata["title"]) == (2020, "Two\nlines")


def test_numbers_in_columns(tmp_path: Path) -> None:
    """A numeric cell becomes a number in the metadata; the text keeps its spelling."""
    cells = {
        "2022": 2022, "-1.5": -1.5, "0": 0, " 19.90": 19.9, "0.5": 0.5, "007": "007", "1e5": "1e5", "1_000": "1_000",
        "+1": "+1", "-0": "-0", ".5": ".5", "1.": "1.", "1,000": "1,000", "nan": "nan", "٣": "٣", "9" * 19: "9" * 19,
    }  # fmt: skip
    rows = documents(
        tmp_path / "a.csv",
        "n\n" + "".join(f'"{cell}"\n' for cell in cells),
        text_fields=["n"],
        metadata_fields=["n"],
    )
    contents = [(row.page_content, row.metadata["n"]) for row in rows]
    assert contents == [(cell.strip(), value) for cell, value in cells.items()]
    assert [type(value) for _, value in contents] == [type(value) for value in cells.values()]
    assert (
        only(tmp_path / "a.jsonl", '{"t": "x", "n": "2022"}', metadata_fields=["n"]).metadata["n"] == "2022"
    )


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_names_that_are_taken(tmp_path: Path, name: str) -> None:
    """Fields of rows, callers and front matter cannot change the engine's own metadata keys."""
    with pytest.raises(
        ArgumentError, match=f"metadata_fields must be none .* got {name}: give them another name"
    ):
        ReadOptions(metadata_fields=["year", name])
    with pytest.raises(ArgumentError, match=f"metadata must be none .* got {name}"):
        ReadOptions(metadata={name: "x"})
    assert only(tmp_path / "a.md", f"---\n{name}: odd\n---\ntext\n").metadata.get(name) != "odd"


def test_lines_of_rows(tmp_path: Path) -> None:
    """A row has its lines in the file as metadata."""

    def lines(name: str, content: str) -> list[tuple[int, int]]:
        rows = documents(tmp_path / name, content)
        return [(row.metadata["start_line"], row.metadata["end_line"]) for row in rows]

    assert lines("a.csv", CSV) == [(2, 3), (5, 5), (6, 6), (7, 7)]
    assert lines("a.csv", CSV.replace("\n", "\r\n")) == [(2, 3), (5, 5), (6, 6), (7, 7)]
    assert lines("a.jsonl", '{"a": 1}\n\n{"a": 2}\n') == [(1, 1), (3, 3)]
    assert lines("a.json", '\n[{"a": 1},\n {"a":\n  2}\n, {"a": 3}, "x"\n]\n') == [
        (2, 2), (3, 4), (5, 5), (5, 5),
    ]  # fmt: skip


def test_csv_that_is_damaged(tmp_path: Path) -> None:
    """A row over the limit is skipped, and the rows after it are read."""
    path = tmp_path / "a.csv"
    rows = load(path, "a,b\n" + "x" * 5000 + ",y\n1,2\n", max_row_bytes=1000)
    assert [isinstance(row, Document) for row in rows] == [False, True]
    assert str(rows[0]) == f"{path}#1: over the limit of 1,000 bytes"
    unclosed = load(path, 'a,b\n1,2\n3,"' + "x\n" * 3000, max_row_bytes=1000)
    assert isinstance(unclosed[0], Document)
    assert isinstance(unclosed[1], Skipped)


@pytest.mark.parametrize(
    "row",
    [
        '2,"' + "x" * 5000 + '"',
        '2,"one\n' + "x" * 5000 + '\ntwo"',
        '2,"one\n' + "x" * 5000 + '"',
        '2,"' + "x" * 5000 + '\ntwo"',
        '2,"one ""' + "x" * 5000 + '"" two\n""",z',
        '2,"one\n' + "x" * 5000 + '","' + "x" * 5000 + '\ntwo",z',
    ],
)
def test_csv_lines_over_the_limit(tmp_path: Path, row: str) -> None:
    """A line over the limit costs only its row, even within a quoted cell."""
    path = tmp_path / "a.csv"
    first, second, third = load(path, f"a,b\n1,x\n{row}\n3,z\n", max_row_bytes=1000)
    assert str(second) == f"{path}#2: over the limit of 1,000 bytes"
    assert [type(first), type(third)] == [Document, Document]
    assert isinstance(third, Document)
    assert third.page_content == "a: 3\nb: z"


def test_rows_in_other_encodings(tmp_path: Path) -> None:
    """The encoding is detected from all lines together; undecodable bytes are replaced."""
    lines = ["Zażółć", "gęślą", "jaźń", "plain", "łódź", "grün"] * 50
    data = [line.encode("cp1250") for line in lines]
    strange = [b"caf\x98", b"ordinary", "naïve".encode()]
    for name, make in (("a.csv", b"t\n%s"), ("a.jsonl", b"%s")):
        wrapped = [b'"%s"' % line for line in (*data, *strange)]
        rows = load(tmp_path / name, make % b"\n".join(wrapped), text_fields=["t"] if name == "a.csv" else [])
        texts = [row.page_content for row in rows if isinstance(row, Document)]
        assert texts[: len(lines)] == lines
        assert texts[-3][:3] == "caf"
        assert texts[-2:] == ["ordinary", "naïve"]


def test_jsonl(tmp_path: Path) -> None:
    """Each line is a document; nested fields are named by their path."""
    rows = [
        {"title": "A", "meta": {"n": 1, "ok": True, "none": None}, "tags": ["x", "y"], "list": [{"a": 1}]},
        "plain",
    ]
    first, second = documents(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert first.page_content == "title: A\nmeta.n: 1\nmeta.ok: true\ntags: x, y\nlist.1.a: 1"
    assert second.page_content == "plain"


def test_parquet(tmp_path: Path) -> None:
    """Each row is a document; dates are texts, bytes are left out, and other bytes are no Parquet."""
    pyarrow = pytest.importorskip(
        "pyarrow", reason="pyarrow is not installed: it comes with the extra cluster"
    )
    from pyarrow import parquet

    rows = [
        {"text": "tide", "year": 2020, "on": date(2020, 1, 2), "raw": b"\0", "by": {"name": "Ann"}},
        {"text": "moon", "year": None, "on": None, "raw": None, "by": None},
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    first, second = documents(tmp_path / "a.parquet", content, metadata_fields=["year"])
    assert first.page_content == "text: tide\non: 2020-01-02\nby.name: Ann"
    assert (first.metadata["year"], first.metadata["row"], first.metadata["type"]) == (2020, 1, "parquet")
    assert "start_line" not in first.metadata
    assert second.page_content == "text: moon"
    (damaged,) = load(tmp_path / "b.parquet", content[:100])
    assert isinstance(damaged, Skipped)
    assert damaged.reason.startswith("not Parquet")


HOSTILE_ROWS = {
    "[" * 5000 + "]" * 5000: "nested too deeply",
    '{"a":' * 150 + "1" + "}" * 150: "nested too deeply",
    '{"text": "\\ud800"}': "holds a lone surrogate, which is no text",
    '{"text": "x", "n": 99999999999999999999}': "n must fit in 64 bits to be metadata",
    '{"text": ' + "9" * 5000 + "}": "not JSON",
    '{"text": "x"': "not JSON",
    '{"text": ""}': "no text in its fields",
    '{"text": "' + "x" * 100_000 + '"}': "over the limit of 50,000 bytes",
}


def test_hostile_rows(tmp_path: Path) -> None:
    """Each invalid row is skipped with its reason, and the valid one after it is read."""
    path = tmp_path / "a.jsonl"
    lines = [line for row in HOSTILE_ROWS for line in (row, '{"text": "good", "n": 1}')]
    rows = load(path, "\n".join(lines), metadata_fields=["n"], max_row_bytes=50_000)
    assert len(rows) == 2 * len(HOSTILE_ROWS)
    for number, (bad, expected) in enumerate(zip(rows[0::2], HOSTILE_ROWS.values(), strict=True)):
        assert isinstance(bad, Skipped)
        assert bad.path == f"{path}#{2 * number + 1}"
        assert bad.reason.startswith(expected)
        assert bad.kind == "row"
    assert all(isinstance(row, Document) and row.page_content == "text: good" for row in rows[1::2])


def test_json(tmp_path: Path) -> None:
    """A list gives one document per member, any other value one document."""
    path = tmp_path / "a.json"
    _, second = documents(path, '[{"a": "x"}, {"a": "y"}]')
    assert (second.page_content, second.metadata["source"]) == ("a: y", f"{path}#2")
    document = only(path, '{"a": {"b": "x"}, "n": NaN}')
    assert (document.page_content, document.metadata["source"]) == ("a.b: x", str(path))


def test_json_that_cannot_be_read(tmp_path: Path) -> None:
    """A whole JSON file that is invalid is one skipped file."""
    path = tmp_path / "a.json"
    assert reason(path, "[" * 100_000, all=True) == "nested too deeply"
    assert reason(path, "{").startswith("not JSON")
    for bad in ("[1,]", "[1 2]", "[1] 2", "[", "[1", "[,1]", "[1]]"):
        assert reason(path, bad).startswith("not JSON")
    assert reason(path, "{}") == "no text in its fields"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.csv",
            f"text,year,rent,let,day,code,source\ntide,2020,1.5,true,2024-01-31,007,x\n{'w ' * 60},,,False,,,\n",
        ),
        (
            "a.jsonl",
            '{"text":"tide","year":2020,"rent":1.5,"let":true,"day":"2024-01-31","code":"007","source":"x"}\n'
            f'{{"text":"{"w " * 60}","let":false,"big":99999999999999999999,"odd":"\\ud800"}}\n',
        ),
    ],
)
def test_columns_are_metadata_without_a_choice(tmp_path: Path, name: str, content: str) -> None:
    """Short values are metadata with their types; long texts, what is too large, and the engine's keys are not."""
    rows = load(tmp_path / name, content, text_fields=["text"])
    first, second = ({**row.metadata} for row in rows if isinstance(row, Document))
    facts = {"year": 2020, "rent": 1.5, "let": True, "day": "2024-01-31", "code": "007"}
    assert {key: first[key] for key in facts} == facts
    assert (first["source"], second["let"]) == (f"{tmp_path / name}#1", False)
    assert not {"text", "year", "big", "odd"} & second.keys()
    assert "text" not in first


def test_columns_are_filtered_by(engine: Engine, tmp_path: Path) -> None:
    """A search takes filters on the columns of an indexed file, whose rows keep all words."""
    truths = enumerate(("true", "false", "True", "False", "TRUE", "FALSE"), 2018)
    rows = ["note,year,let", *(f"the tide falls,{year},{truth}" for year, truth in truths)]
    (tmp_path / "a.csv").write_text("\n".join(rows))
    engine.index([tmp_path / "a.csv"])
    for filter, expected in (("year>=2022", {5, 6}), ("let:true", {1, 3, 5}), ("let:false", {2, 4, 6})):
        assert {hit.metadata["row"] for hit in engine.retrieve("tide", filter=filter)} == expected
    assert [hit.metadata["row"] for hit in engine.retrieve("2021")] == [4]


def test_names_of_columns_are_bounded(tmp_path: Path) -> None:
    """Rows that each name other fields make no column each: the first hundred names of a file are metadata."""
    lines = "\n".join(f'{{"text": "tide", "k{n}": {n}}}' for n in range(300))
    rows = documents(tmp_path / "a.jsonl", lines)
    names = {key for row in rows for key in row.metadata if key.startswith("k")}
    assert len(names) == 99  # beside `text`


def contents(path: Path, content: str, encoding: str = "utf-8", **options: int) -> list[str]:
    """Return the texts of rows, or the reasons why they have none."""
    rows = load(path, content.encode(encoding), **options)
    return [row.page_content if isinstance(row, Document) else row.reason for row in rows]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize(
    "content",
    [
        "a;b\n1;x, y, z\n", "a|b\n1|x, y, z\n", "a\tb\n1\tx, y, z\n", '"a";"b"\n1;"x, y, z"\n',
        "\n\na;b\n1;x, y, z\n", "sep=;\na;b\n1;x, y, z\n", '"sep=;"\r\na;b\r\n1;x, y, z\r\n',
        'a,b\r1,"x, y, z"\r',
    ],
)  # fmt: skip
def test_cells(tmp_path: Path, content: str, encoding: str) -> None:
    """The first line with content determines the delimiter, or declares it."""
    assert contents(tmp_path / "a.csv", content, encoding) == ["a: 1\nb: x, y, z"]


def test_delimiters_in_quotes_do_not_count(tmp_path: Path) -> None:
    """Quoted names may contain commas, line ends and quotes; inch signs are not quotes."""
    content = '"Name, ""first"", last\n(all, of, them)";"Text"\nA, B;C\n'
    assert contents(tmp_path / "a.csv", content) == ['Name, "first", last\n(all, of, them): A, B\nText: C']
    assert contents(tmp_path / "b.csv", '5" disks;3,5" disks;n\n1;2;3\n') == [
        '5" disks: 1\n3,5" disks: 2\nn: 3'
    ]


def test_a_row_that_holds_a_carriage_return(tmp_path: Path) -> None:
    """A lone carriage return in a file with line feeds costs its row, with a clear reason."""
    assert contents(tmp_path / "a.csv", "a,b\n1,2\rx,y\n3,4\n") == [
        "new-line character seen in unquoted field", "a: 3\nb: 4",
    ]  # fmt: skip


def test_carriage_returns_in_large_files(tmp_path: Path) -> None:
    """A file with carriage returns as line ends is read whole, unless it is too large for that."""
    assert contents(tmp_path / "a.csv", "a\r1\r", max_bytes=3) == [
        "its lines end in carriage returns alone and too large to convert"
    ]
