"""The files of a run take few bytes while it compares them, and their documents go with them."""

import tracemalloc
from pathlib import Path

from sleuth import Document, Engine
from sleuth.ingest import Diff, FileEntry, FileNames
from sleuth.store.store import Store


def held(folder: Path, count: int) -> int:
    """Return the bytes that a run holds of so many unchanged files."""
    names = [f"a/folder/with/a/long/name/to/be/held/{n}/{n * 7919}.md" for n in range(count)]
    with Store.open(folder, create=True) as store:
        with store.writer() as writer:
            for name in names:
                writer.note_file(name, documents=1, version="7")
        tracemalloc.start()
        diff = Diff(store.reader, [""], FileNames("/"))
        for entry in diff.compare(FileEntry("", name, 0, 7) for name in names):
            diff.mark(entry.source)
        assert (diff.rows, list(diff.missing())) == ({}, [])
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return size


def test_a_file_takes_few_bytes(tmp_path: Path) -> None:
    """4,000 more files take at most 20 bytes each."""
    held(tmp_path / "first", 1)  # imports
    assert held(tmp_path / "large", 6_000) - held(tmp_path / "small", 2_000) < 20 * 4_000


def test_ids_of_a_field_go_with_their_file(tmp_path: Path) -> None:
    """Documents whose ids are those of a field are deleted when their rows are gone, and when their file is."""
    folder = tmp_path / "docs"
    folder.mkdir()
    rows = folder / "rows.csv"
    rows.write_text("id,text\na,first row\nb,second row\ndocs/rows.csv#,third row\n")
    with Engine.open(tmp_path / ".sleuth", create=True, embedder="") as engine:
        engine.index([folder], options={"id_field": "id"})
        rows.write_text("id,text\nb,second row\n")
        assert engine.index([folder]).deleted == 2
        rows.unlink()
        assert engine.index([folder], prune=True).pruned == 1
        assert not list(engine.documents())


def test_what_a_program_added_beside_rows_stays(tmp_path: Path) -> None:
    """A document of a program stays, though its id looks like that of a row of a file that is read again or pruned."""
    folder = tmp_path / "docs"
    folder.mkdir()
    rows = folder / "rows.csv"
    rows.write_text("text\nfirst row\n")
    with Engine.open(tmp_path / ".sleuth", create=True, embedder="") as engine:
        engine.index([folder])
        engine.add([Document("A program's own.", id="docs/rows.csv#9")])
        rows.write_text("text\nanother row\n")
        assert engine.index([folder]).deleted == 0
        rows.unlink()
        assert engine.index([folder], prune=True).pruned == 1
        assert [document.id for document in engine.documents()] == ["docs/rows.csv#9"]
