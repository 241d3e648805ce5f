"""Small files that would exhaust a process cost only themselves, within limits of time and memory."""

from dataclasses import replace
from pathlib import Path

import pytest

from sleuth.engine import Engine
from sleuth.errors import LoadError
from sleuth.files.processes import ProcessStartError
from sleuth.ingest import DiskFolders, FileEntry, ReadOptions, Skipped, read
from sleuth.ingest.loaders import apart
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.ingest.loaders.file import MOST_DOCUMENTS, TEXT_PER_BYTE, kind_of, load, load_here
from sleuth.ingest.validate import PreparedDocument
from sleuth.types import Document
from tests.commands import python
from tests.ingest.extraction.reading import load as load_file
from tests.ingest.extraction.reading import reason, skips_beside
from tests.ingest.files import pdf_of

SECONDS, MEGABYTES = 2, 400
LIMITS = ReadOptions(max_seconds=SECONDS, max_memory_bytes=MEGABYTES << 20, workers=1)


def nested_forms(depth: int, times: int) -> bytes:
    """Return a PDF whose page draws a form, which draws another, and so on, each ten times."""
    content = "/X Do " * times
    forms = [(content, f"/XObject << /X {6 + level} 0 R >>") for level in range(1, depth)]
    forms.append(("BT /F1 12 Tf (x) Tj ET", "/Font << /F1 3 0 R >>"))
    objects = [
        f"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << {resources} >> /Length {len(content)} >>\n"
        f"stream\n{content}\nendstream"
        for content, resources in forms
    ]
    return pdf_of(content, "/XObject << /X 6 0 R >>", objects)


def recursive_forms() -> bytes:
    """Return a PDF of two forms that draw each other."""
    bodies = [
        f"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X {other} 0 R >> >>"
        f" /Length 60 >>\nstream\n{'/X Do ' * 10}\nendstream"
        for other in (7, 6)
    ]
    return pdf_of("/X Do " * 10, "/XObject << /X 6 0 R >>", bodies)


BOMBS = {
    "attributes.html": lambda: b"<p " + b" ".join(b"a%d=1" % i for i in range(80_000)) + b">x",
    "again.html": lambda: b"".join(b"<b a%d>" % i for i in range(5_000)) + b"<p>x</p></b><p>" * 50_000,
    "elements.html": lambda: b"<div>" * 200_000,
    "forms.pdf": lambda: nested_forms(9, 10),
    "recursive.pdf": recursive_forms,
}

_SLOW = f"took more than {SECONDS} s to read"
REASONS = {
    "attributes.html": (_SLOW,),
    "forms.pdf": (_SLOW, "needed more than 400 MB"),
}
"""Of bombs that exceed a limit on every machine: what is said of it."""


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_itself(tmp_path: Path, name: str) -> None:
    """A file that exceeds a limit is skipped with its reason, and the file after it is read."""
    sound = pdf_of("BT /F1 12 Tf (word) Tj ET", "/Font << /F1 3 0 R >>", [])
    if name.endswith(".html"):
        sound = b"<p>word " * 2_000
    skips = skips_beside(tmp_path, name, BOMBS[name](), sound, LIMITS)
    if name in REASONS:
        assert skips[0].kind == "limits"
        assert any(part in skips[0].reason for part in REASONS[name]), skips[0].reason


def test_a_row_of_too_many_fields(tmp_path: Path) -> None:
    """A row of a million cells, and a JSON object of as many values, are skipped with the reason."""
    first, second = load_file(tmp_path / "a.csv", b"a,b\n" + b"x," * 1_000_000 + b"\n1,2\n")
    assert isinstance(second, Document)
    for record in (first, *load_file(tmp_path / "a.json", b'{"a": [[],' + b"1," * 1_000_000 + b"1]}")):
        assert isinstance(record, Skipped)
        assert record.reason == "more than 100,000 fields"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b"n" * 1_001 + b"\n" + b"x\n" * 3),
        ("a.json", b'{"' + b"n" * 600 + b'": {"' + b"m" * 600 + b'": 1}}'),
    ],
)
def test_a_long_name_of_a_field(tmp_path: Path, name: str, data: bytes) -> None:
    """A field with a very long name is refused, since each value repeats the name."""
    assert reason(tmp_path / name, data).endswith("a field's name of more than 1,000 characters")


def test_processes_that_read_start_quickly() -> None:
    """The process that reads imports neither pydantic nor numpy, which take most of the start time."""
    code = "import sleuth.ingest.worker, sys; print(*{'numpy', 'pydantic'}.intersection(sys.modules))"
    result = python(code)
    assert (result.returncode, result.stdout.strip()) == (0, "")


def test_a_process_has_limits(tmp_path: Path) -> None:
    """The kernel limits time, memory and core dumps of a reading process, which leaves nothing open."""
    if not Path("/proc/self/limits").exists():
        pytest.skip("no /proc")
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_of("BT /F1 12 Tf (word) Tj ET", "/Font << /F1 3 0 R >>", []))
    (entry,) = (entry for entry in DiskFolders([path], LIMITS).list() if isinstance(entry, FileEntry))
    processes = FileProcesses(SECONDS, MEGABYTES << 20)
    try:
        (document,) = load(entry, LIMITS, processes)
        assert isinstance(document, PreparedDocument)
        assert "word" in document.document.page_content
        (process,) = processes.running
        limits = Path(f"/proc/{process}/limits").read_text()
        words = {line[:25].strip(): line[25:].split() for line in limits.splitlines()}
        assert MEGABYTES << 20 <= int(words["Max address space"][0]) < (MEGABYTES + 100) << 20
        assert words["Max core file size"][0] == "0"
        with pytest.raises(LoadError, match="holds more than 3 characters"):
            list(load(entry, replace(LIMITS, max_unpacked_bytes=3), processes))
    finally:
        processes.close()
    assert not Path(f"/proc/{process}").exists()
    with pytest.raises(ProcessStartError, match="reading was ended"):
        list(load(entry, LIMITS, processes))


def test_a_large_file_is_read_in_a_process(tmp_path: Path) -> None:
    """Text and row files above 256 KiB give the same documents from a process as smaller ones."""
    rows = "".join(f'{{"name": "n{i}", "about": "{"word " * 20}"}}\n' for i in range(4_000))
    (tmp_path / "a.jsonl").write_text(rows + "{broken\n")
    (tmp_path / "b.md").write_text("---\ntags: [x]\n---\n# Title\n\n" + "A line of words.\n" * 20_000)
    records = list(read([tmp_path]))
    documents = [record for record in records if isinstance(record, Document)]
    assert len(documents) == 4_001
    assert documents[7].metadata["row"] == 8
    assert documents[7].metadata["title"] == "n7"
    assert documents[-1].metadata["tags"] == ["x"]
    assert documents[-1].metadata["title"] == "Title"
    assert [str(record.path)[-12:] for record in records if isinstance(record, Skipped)] == ["a.jsonl#4001"]
    entries = [entry for entry in DiskFolders([tmp_path], LIMITS).list() if isinstance(entry, FileEntry)]
    for entry in entries:
        here = list(load_here(entry, kind_of(entry.source), LIMITS))
        assert [d.page_content for d in here if isinstance(d, Document)] == [
            d.page_content for d in documents if str(d.metadata["source"]).startswith(entry.source)
        ]


@pytest.mark.parametrize(
    ("name", "unit"), [("a.csv", "x\n"), ("a.json", "1,"), ("a.jsonl", "1\n"), ("a.txt", "x y\n")]
)
def test_files_of_many_values_are_read_in_a_process(tmp_path: Path, name: str, unit: str) -> None:
    """A small file of rows with more than 20,000 line breaks and commas is read as a large one is; text is not."""
    with FileProcesses(20, 1 << 30) as processes:
        for count in (19_000, 21_000):
            path = tmp_path / name
            path.write_text(
                ("[1," if name == "a.json" else "") + unit * count + ("1]" if name == "a.json" else "1")
            )
            (entry,) = (entry for entry in DiskFolders([path], LIMITS).list() if isinstance(entry, FileEntry))
            list(load(entry, replace(LIMITS, all=True), processes))
            is_process = count > 20_000 and name != "a.txt"
            assert bool(processes.running) == is_process


def test_a_reader_that_takes_too_long_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file whose reader exceeds time or memory costs only itself."""
    monkeypatch.setattr(apart, "_BYTES_PER_SECOND", 1e12)
    (tmp_path / "a.csv").write_text("name,about\n" + "x,y\n" * 1_000_000)
    (tmp_path / "b.json").write_text("[" + "[1]," * 1_600_000 + "1]")
    (tmp_path / "c.txt").write_text("word\n")
    small = ReadOptions(max_seconds=1, max_memory_bytes=200 << 20, all=True)
    reasons = {
        Path(record.path).name: record
        for record in read([tmp_path], options=small)
        if isinstance(record, Skipped)
    }
    assert reasons.keys() <= {"a.csv", "b.json"}
    assert "b.json" in reasons
    for record in reasons.values():
        assert record.kind == "limits"
        assert "took more than 1 s" in record.reason or "200 MB" in record.reason


def test_a_file_that_exceeded_a_limit_is_not_tried_again(engine: Engine, tmp_path: Path) -> None:
    """Such a file is reported by every run, and read again if it changes or under other limits."""
    page = tmp_path / "files" / "attributes.html"
    page.parent.mkdir()
    page.write_bytes(BOMBS["attributes.html"]())

    def run(options: ReadOptions = LIMITS) -> list[str]:
        report = engine.index([page.parent], options=options)
        return [skip.reason for skip in report.skipped]

    assert run() == [f"took more than {SECONDS} s to read"]
    assert run() == [f"took more than {SECONDS} s to read; not tried again until it changes"]
    more = SECONDS + 1
    assert run(replace(LIMITS, max_seconds=more)) == [f"took more than {more} s to read"]
    page.write_text("<p>word " * 10)
    assert run() == []
    assert [item.id for item in engine.retrieve("word")] != []


def test_documents_are_bounded_by_the_bytes_of_their_file(tmp_path: Path) -> None:
    """A file has documents and text in proportion to its bytes, whatever its format packs into them."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `cluster`")
    parquet = pytest.importorskip("pyarrow.parquet")
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 700_000, pyarrow.int32()), pyarrow.array(["words of a row"])
    )
    parquet.write_table(pyarrow.table({"a": column}), tmp_path / "a.parquet")
    size = (tmp_path / "a.parquet").stat().st_size
    assert size < 5_000
    (tmp_path / "b.csv").write_text("n" * 900 + "\n" + "x\n" * 400)
    records = list(read([tmp_path], options=ReadOptions(max_unpacked_bytes=100_000)))
    skips = {Path(skip.source).name: skip for skip in records if isinstance(skip, Skipped)}
    assert skips.keys() == {"a.parquet", "b.csv"}
    for name, skip in skips.items():
        assert skip.kind == "limits"
        documents = [d for d in records if isinstance(d, Document) and name in str(d.metadata["path"])]
        bytes_read = (tmp_path / name).stat().st_size
        assert len(documents) <= MOST_DOCUMENTS + bytes_read
        assert sum(len(d.page_content) for d in documents) <= max(100_000, TEXT_PER_BYTE * bytes_read)
