"""Indexing folders again: which documents are kept, replaced and deleted."""

import math
import os
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Document, Engine
from sleuth.files import FileFormat
from sleuth.ingest import ReadOptions, documents
from sleuth.ingest.reports import IndexInterrupted
from sleuth.store import Writer
from tests.code.conftest import write


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


def texts(engine: Engine) -> list[str]:
    return sorted(item.text for document in engine.documents() for item in engine.get(document.id))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.csv", "t\nocelot\nmargay\n", "t\nocelot\n"),
        ("a.tsv", "t\tu\nocelot\t\nmargay\t\n", "t\tu\nocelot\t\n"),
        ("a.json", '[{"t": "ocelot"}, {"t": "margay"}]', '[{"t": "ocelot"}]'),
        ("a.jsonl", '{"t": "ocelot"}\n{"t": "margay"}\n', '{"t": "ocelot"}\n'),
    ],
)
def test_rows_of_a_named_file(engine: Engine, docs: Path, name: str, before: str, after: str) -> None:
    """Rows that were removed from a named file are deleted, and an unchanged file is not read."""
    path = docs / name
    beside = docs / f"{name}#1.txt"
    path.write_text(before)
    beside.write_text("not a row")
    engine.index([docs])
    assert engine.index([path]).read == 0
    path.write_text(after)
    report = engine.index([path], prune=True)
    assert (report.read, report.deleted, report.pruned) == (1, 1, 0)
    assert texts(engine) == ["not a row", "t: ocelot"]
    assert engine.index([path]).read == 0


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.md", "---\nscale: 1.0e999\n---\nodd\n", {}),
        ("a.md", "+++\nx = nan\ny = [inf, 1.5]\n+++\nodd\n", {}),
        (
            "a.jsonl",
            '{"t": "odd", "v": 1e999, "w": [1e999, 2]}\n',
            {"text_fields": ["t"], "metadata_fields": ["v", "w"]},
        ),
    ],
)  # fmt: skip
def test_numbers_that_are_none(
    engine: Engine, docs: Path, name: str, content: str, options: dict[str, Any]
) -> None:
    """A number that is not finite is dropped from the metadata, and the document is kept."""
    (docs / name).write_text(content)
    (docs / "z.txt").write_text("plain")
    report = engine.index([docs], options=ReadOptions(**options))
    assert (report.added, report.skipped) == (2, [])
    odd = next(item for item in engine.retrieve("odd"))
    assert not {"scale", "x", "v"} & odd.metadata.keys()
    assert all(math.isfinite(value) for value in odd.metadata.get("y", []))


def test_a_document_that_cannot_be_kept(engine: Engine, docs: Path) -> None:
    """A document that the index refuses is reported with the reason, and the run continues."""
    odd: dict[Any, Any] = {"source": "x#1", "row": 1, 5: 5}
    rows = [Document("a", odd), Document("b", {"source": "x#2", "row": 2})]
    loaders = [
        FileFormat("odd", lambda file, options: [Document("text", {"set": {1}})], [".odd"]),
        FileFormat("rows", lambda file, options: rows, [".rows"]),
    ]
    write(docs, {"a.odd": "x", "b.rows": "x", "c.txt": "plain"})
    report = engine.index([docs], options=ReadOptions(loaders=loaders))
    assert [skip.source for skip in report.skipped] == ["docs/a.odd", "docs/b.rows#1"]
    assert "must be a JSON value" in report.skipped[0].reason
    assert "metadata must have names that are strings, got 5" in report.skipped[1].reason
    assert texts(engine) == ["b", "plain"]
    with pytest.raises(ArgumentError, match="source must be text without lone surrogates"):
        engine.add([Document("x", {"source": "\ud800"}, id="a")])


def test_pruning_spares_what_exists(engine: Engine, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only files that are gone are pruned, not those that were unlisted, filtered or unreadable."""
    write(docs, {name: name for name in ("a.md", "b.txt", "gone.txt", "shut/c.txt", "was.txt")})
    (docs / os.fsdecode(b"\xff.txt")).write_text("not UTF-8")
    engine.index([docs])
    (docs / "gone.txt").unlink()
    (docs / "was.txt").unlink()
    (docs / "was.txt").mkdir()
    scan, ask = os.scandir, os.lstat

    def no_listing(path: str) -> object:
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    def no_asking(path: str | bytes) -> os.stat_result:
        if b"/shut/" in os.fsencode(path):
            raise PermissionError(13, "Permission denied")
        return ask(path)

    monkeypatch.setattr(os, "scandir", no_listing)
    monkeypatch.setattr(os, "lstat", no_asking)
    report = engine.index([docs], prune=True, options=ReadOptions(include=["*.md"]))
    assert report.pruned == 2
    assert [skip.kind for skip in report.skipped] == ["permission"]
    assert texts(engine) == ["a.md", "b.txt", "not UTF-8", "shut/c.txt"]
    (docs / os.fsdecode(b"\xff.txt")).unlink()
    assert engine.index([docs], prune=True).pruned == 1


NO_TEXT = {
    "a.txt": b"", "b.txt": b"\0\1\2", "c.json": b"{", "d.html": b"<script>x</script>", "e.csv": b"",
    "f.jsonl": b"",
}  # fmt: skip


def test_files_that_hold_no_text_any_more(engine: Engine, docs: Path) -> None:
    """A file that becomes empty or binary loses its old documents."""
    for name in (*NO_TEXT, "g.txt", "h.txt", "kept.txt"):
        (docs / name).write_text('[{"t": "old text"}]' if name != "e.csv" else "t\nold text\n")
    engine.index([docs])
    for name, content in NO_TEXT.items():
        (docs / name).write_bytes(content)
    (docs / "g.txt").unlink()
    (docs / "g.txt").symlink_to(docs / "kept.txt")
    (docs / "h.txt").unlink()
    os.mkfifo(docs / "h.txt")
    report = engine.index([docs])
    assert (report.deleted, report.pruned, report.documents) == (8, 0, 1)
    assert engine.documents()[0].source == "docs/kept.txt"


def test_files_that_cannot_be_read_keep_their_text(
    engine: Engine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documents of an unreadable file stay."""
    engine.index([write(docs, {name: name for name in ("a.txt", "b.txt", "c.txt")})])
    errors = {
        "a.txt": PermissionError(13, "no"),
        "b.txt": OSError(5, "Input/output error"),
        "c.txt": MemoryError(),
    }
    for name in errors:
        os.utime(docs / name, (1, 1))

    def broken(entry: object, options: object) -> object:
        raise errors[Path(entry.file).name]  # type: ignore[attr-defined]

    monkeypatch.setattr("sleuth.ingest.reading.load", broken)
    report = engine.index([docs], prune=True)
    assert len(report.skipped) == 3
    assert texts(engine) == ["a.txt", "b.txt", "c.txt"]


def test_a_link_that_is_named_itself(engine: Engine, docs: Path) -> None:
    """A link that is named as a path is read, though links in folders are not followed."""
    (docs.parent / "far.txt").write_text("far")
    (docs / "link.txt").symlink_to(docs.parent / "far.txt")
    for _ in range(2):
        for paths in ([docs, docs / "link.txt"], [docs / "link.txt", docs]):
            engine.index(paths)
            assert texts(engine) == ["far"]


def interrupt(patch: pytest.MonkeyPatch, method: str, after: int) -> None:
    """Commit each document, and interrupt a run in the call of a writer's method that follows so many."""
    really, calls = getattr(Writer, method), count()

    def interrupted(writer: Writer, *args: Any, **kwargs: Any) -> Any:
        if next(calls) == after:
            raise KeyboardInterrupt
        return really(writer, *args, **kwargs)

    patch.setattr(Writer, method, interrupted)
    patch.setattr(documents, "BATCH", 1)
    patch.setattr(documents, "COMMIT_BYTES", 1)


@pytest.mark.parametrize(("method", "added"), [("put_batch", 2), ("commit", 0)])
def test_interruptions_in_the_midst(
    engine: Engine, docs: Path, monkeypatch: pytest.MonkeyPatch, method: str, added: int
) -> None:
    """Ctrl-C within a document or a commit keeps earlier commits, and the report counts only those."""
    write(docs, {f"{name}.txt": f"text {name}" for name in "abcd"})
    interrupt(monkeypatch, method, added)
    with pytest.raises(IndexInterrupted) as raised:
        engine.index([docs])
    report = raised.value.report
    assert (report.added, report.documents, report.interrupted) == (added, added, True)
    assert {finding.level for finding in engine.check(full=True)} == {"ok"}
    assert engine.index([docs]).added == 4 - added


def test_a_file_whose_reading_was_interrupted(
    engine: Engine, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that were committed before an interruption are those of their file: they are deleted with it."""
    (docs / "a.csv").write_text("t\none\ntwo\nthree\n")
    interrupt(monkeypatch, "put_batch", 2)
    with pytest.raises(IndexInterrupted):
        engine.index([docs])
    assert len(engine.documents()) == 2
    (docs / "a.csv").unlink()
    assert engine.index([docs], prune=True).pruned == 2


def test_what_was_deleted_is_read_again(engine: Engine, docs: Path) -> None:
    """A document that was deleted by its id comes back with its file, which has not changed."""
    engine.index([write(docs, {"a.md": "text", "b.csv": "t\none\ntwo\n"})])
    engine.delete(["docs/a.md", "docs/b.csv#1"])
    report = engine.index([docs])
    assert (report.read, report.added, report.documents) == (2, 2, 3)


def test_the_index_leaves_itself_out(tmp_path: Path) -> None:
    """An index inside the folder that it indexes does not contain its own files."""
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path)
    with Engine.open(tmp_path / "link" / "idx", create=True, embedder="") as engine:
        report = engine.index([tmp_path])
        assert [skip.kind for skip in report.skipped] == ["link"]
        assert engine.index([tmp_path / "idx"]).skipped == []
        assert texts(engine) == ["text"]


def test_paths_that_are_not_utf8(tmp_path: Path) -> None:
    """A folder whose name is not UTF-8 is read, and can contain an index."""
    folder = tmp_path / os.fsdecode(b"r\xff")
    write(folder, {"a.txt": "text"})
    with Engine.open(folder / "index", create=True, embedder="") as engine:
        assert engine.index([folder]).added == 1
        assert engine.index([folder]).unchanged == 1
        (folder / "a.txt").unlink()
        assert engine.index([folder], prune=True).pruned == 1


def test_other_options_read_again(engine: Engine, docs: Path) -> None:
    """A file whose options change is read again once; files that the options do not affect are not."""
    write(docs, {"a.csv": "name,year\nann,2020\n", "b.csv": "name,year\nbob,2021\n", "c.txt": "text"})
    engine.index([docs])
    year = ReadOptions(metadata_fields=["year"], workers=1)
    assert engine.index([docs], options=year).read == 2
    assert [len(engine.retrieve(name, filter="year>=2020")) for name in ("ann", "bob")] == [1, 1]
    assert engine.index([docs], options=ReadOptions(metadata_fields=("year",), text_fields=[])).read == 0
    assert engine.index([docs / "a.csv"], options=ReadOptions()).read == 1
    assert engine.index([docs / "b.csv"], options=year).read == 0
    assert engine.index([docs], options=ReadOptions(metadata={"team": "a"})).read == 3
    assert engine.index([docs], options=ReadOptions(metadata={"team": "a"})).read == 0
    assert engine.index([docs]).read == 0
    assert engine.index([docs], options=ReadOptions()).read == 3
    assert engine.index([docs], options=ReadOptions(include=["*.csv", "*.txt"], hidden=True)).read == 0


def test_ids_that_are_taken(engine: Engine, docs: Path) -> None:
    """A row whose id another row of the run has is reported, and the first one stays."""
    options = ReadOptions(id_field="id")
    write(docs, {"a.csv": "id,t\n1,one\n1,two\n2,three\n", "b.csv": "id,t\n2,four\n3,five\n"})
    report = engine.index([docs], options=options)
    assert list(map(str, report.skipped)) == [
        "docs/a.csv#2: its id '1' is that of docs/a.csv#1: ids must be distinct",
        "docs/b.csv#1: its id '2' is that of docs/a.csv#3: ids must be distinct",
    ]
    assert texts(engine) == ["t: five", "t: one", "t: three"]
    os.utime(docs / "b.csv", (1, 1))
    again = engine.index([docs], options=options)
    assert [skip.reason for skip in again.skipped] == [
        "its id '2' is that of docs/a.csv: ids must be distinct"
    ]
    assert texts(engine) == ["t: five", "t: one", "t: three"]


def test_ids_that_move(engine: Engine, docs: Path) -> None:
    """A row that moves to another file is not deleted with the documents of its old file."""
    options = ReadOptions(id_field="id")
    (docs / "b.csv").write_text("id,t\n1,one\n2,two\n")
    engine.index([docs], options=options)
    write(docs, {"a.csv": "id,t\n1,one\n", "b.csv": "id,t\n2,two\n"})
    assert engine.index([docs], options=options).deleted == 0
    (docs / "b.csv").rename(docs / "c.csv")
    assert engine.index([docs], options=options, prune=True).pruned == 0
    assert texts(engine) == ["t: one", "t: two"]


def test_folders_that_are_gone(engine: Engine, docs: Path) -> None:
    """Pruning a folder that was removed deletes its documents; a folder that was never indexed raises an error."""
    engine.index([write(docs, {"a/x.txt": "a", "b/x.txt": "b"})])
    (docs / "a").rename(docs / "c")
    with pytest.raises(
        ArgumentError, match=r"exist, got .*/docs/a; prune=True \(--prune\) deletes their documents"
    ):
        engine.index([docs / "a"])
    with pytest.raises(ArgumentError, match=r"exist, got .*/never$"):
        engine.index([docs / "a", docs / "never"], prune=True)
    report = engine.index([docs / "a"], prune=True)
    assert (report.pruned, report.skipped) == (1, [])
    assert texts(engine) == ["b"]


def test_a_file_that_is_touched(engine: Engine, docs: Path) -> None:
    """A new modification time of an unchanged file is visible to filters; nothing counts as updated."""
    write(docs, {"a.txt": "text", "b.csv": "t\nrow\n"})
    for name in ("a.txt", "b.csv"):
        os.utime(docs / name, (1_000_000_000, 1_000_000_000))
    engine.index([docs])
    os.utime(docs / "a.txt", (1_600_000_000, 1_600_000_000))
    os.utime(docs / "b.csv", (1_600_000_000, 1_600_000_000))
    report = engine.index([docs])
    assert (report.read, report.added, report.updated, report.unchanged) == (2, 0, 0, 2)
    assert [item.text for item in engine.retrieve("text", filter='modified>="2020"')] == ["text"]
    assert report.documents == 2
    assert engine.index([docs]).read == 0


def test_an_address_that_nothing_opens_is_refused(engine: Engine) -> None:
    """The error names the command that reads a site, or the addresses that there are."""
    with pytest.raises(ArgumentError, match=r"`sleuth web crawl 'https://example\.org/\?a&b'` reads a site"):
        engine.index(["https://example.org/?a&b"])
    with pytest.raises(ArgumentError, match=r"begin with .*imaps, sql"):
        engine.index(["gopher://example.org"])


def test_a_folder_may_be_named_like_an_address(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is read."""
    write(tmp_path / "s3:" / "bucket", {"a.md": "The tide."})
    monkeypatch.chdir(tmp_path)
    assert engine.index(["s3://bucket"]).added == 1


def test_ids_of_a_field_go_with_their_file(engine: Engine, docs: Path) -> None:
    """Documents whose ids are those of a field are deleted when their rows are gone, and when their file is."""
    rows = docs / "rows.csv"
    rows.write_text("id,text\na,first row\nb,second row\ndocs/rows.csv#,third row\n")
    engine.index([docs], options={"id_field": "id"})
    rows.write_text("id,text\nb,second row\n")
    assert engine.index([docs]).deleted == 2
    rows.unlink()
    assert engine.index([docs], prune=True).pruned == 1
    assert not list(engine.documents())


def test_what_a_program_added_beside_rows_stays(engine: Engine, docs: Path) -> None:
    """A document of a program stays, though its id looks like that of a row of a file that is read again or pruned."""
    rows = docs / "rows.csv"
    rows.write_text("text\nfirst row\n")
    engine.index([docs])
    engine.add([Document("A program's own.", id="docs/rows.csv#9")])
    rows.write_text("text\nanother row\n")
    assert engine.index([docs]).deleted == 0
    rows.unlink()
    assert engine.index([docs], prune=True).pruned == 1
    assert [document.id for document in engine.documents()] == ["docs/rows.csv#9"]
