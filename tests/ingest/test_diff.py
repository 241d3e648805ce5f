"""The files of a run take few bytes while it compares them."""

import tracemalloc
from pathlib import Path

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
        for entry in diff.compare(FileEntry("", name, 0, 7, "7") for name in names):
            diff.mark(entry.source)
        assert (diff.rows, list(diff.missing())) == ({}, [])
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return size


def test_a_file_takes_few_bytes(tmp_path: Path) -> None:
    """4,000 more files take at most 20 bytes each."""
    held(tmp_path / "first", 1)  # imports
    assert held(tmp_path / "large", 6_000) - held(tmp_path / "small", 2_000) < 20 * 4_000
