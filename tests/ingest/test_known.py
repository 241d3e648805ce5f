"""The files that an index holds take few bytes while a run compares them, whatever their names and documents."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from sleuth import Document, Engine
from sleuth.ingest.known import IndexedFiles
from sleuth.store.store import Store


def held(folder: Path, count: int) -> int:
    """Return the bytes that so many files take."""
    with Engine.open(folder, create=True, embedder="") as engine:
        engine.add(
            Document("Words.", {"source": name, "path": name, "modified": "2026-01-01"})
            for name in (f"a/folder/with/a/long/name/to/be/held/{n}/{n * 7919}.md" for n in range(count))
        )
    with Store.open(folder) as store:
        IndexedFiles(store, [""])  # the first call imports
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            files = IndexedFiles(store, [""])
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(files) == count
    return after - before


def test_a_file_takes_few_bytes(tmp_path: Path) -> None:
    """4,000 more files take at most 50 bytes each."""
    assert held(tmp_path / "large", 6_000) - held(tmp_path / "small", 2_000) < 50 * 4_000


def test_documents_of_a_file_that_lie_apart(tmp_path: Path) -> None:
    """Rows that came later than other files count as their file's, and go with it."""
    folder = tmp_path / "docs"
    folder.mkdir()
    rows, other = folder / "rows.csv", folder / "other.md"
    rows.write_text("text\nfirst row\nsecond row\n")
    other.write_text("Another file.")
    with Engine.open(tmp_path / ".sleuth", create=True, embedder="") as engine:
        assert engine.index([folder]).added == 3
        assert len(IndexedFiles(engine.store, [""]).ids_of("docs/rows.csv")) == 2  # each once
        rows.write_text("text\nfirst row\nanother second row\nthird row\n")
        assert engine.index([folder]).updated == 1
        assert engine.index([folder]).unchanged == 4
        rows.write_text("text\nfirst row\n")
        assert engine.index([folder]).deleted == 2
        rows.unlink()
        assert engine.index([folder]).gone == 1
        assert engine.index([folder], prune=True).pruned == 1
        assert [document.id for document in engine.documents()] == ["docs/other.md"]


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
