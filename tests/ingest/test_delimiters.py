"""CSV dialects: delimiters and line ends."""

from pathlib import Path

import pytest

from sleuth.ingest import ReadOptions, Skipped, read
from sleuth.types import Document


def rows(path: Path, content: str, encoding: str = "utf-8", **options: int) -> list[str]:
    path.write_bytes(content.encode(encoding))
    records = read([path], options=ReadOptions(**options))  # type: ignore[arg-type]
    return [
        record.page_content if isinstance(record, Document) else record.reason
        for record in records
        if isinstance(record, Document | Skipped)
    ]


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
    assert rows(tmp_path / "a.csv", content, encoding) == ["a: 1\nb: x, y, z"]


def test_delimiters_in_quotes_do_not_count(tmp_path: Path) -> None:
    """Quoted names may contain commas, line ends and quotes; inch signs are not quotes."""
    content = '"Name, ""first"", last\n(all, of, them)";"Text"\nA, B;C\n'
    assert rows(tmp_path / "a.csv", content) == ['Name, "first", last\n(all, of, them): A, B\nText: C']
    assert rows(tmp_path / "b.csv", '5" disks;3,5" disks;n\n1;2;3\n') == ['5" disks: 1\n3,5" disks: 2\nn: 3']


def test_a_row_that_holds_a_carriage_return(tmp_path: Path) -> None:
    """A lone carriage return in a file with line feeds costs its row, with a clear reason."""
    assert rows(tmp_path / "a.csv", "a,b\n1,2\rx,y\n3,4\n") == [
        "new-line character seen in unquoted field", "a: 3\nb: 4",
    ]  # fmt: skip


def test_carriage_returns_in_large_files(tmp_path: Path) -> None:
    """A file with carriage returns as line ends is read whole, unless it is too large for that."""
    assert rows(tmp_path / "a.csv", "a\r1\r", max_bytes=3) == [
        "its lines end in carriage returns alone and too large to convert"
    ]
