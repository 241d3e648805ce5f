"""Reading folders: records, their order, and files that fail."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator, Sequence
from itertools import chain
from pathlib import Path

import pytest

from sleuth.ingest import DiskFolders, FileEntry, ReadOptions, Skipped, Unchanged, read, read_file
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.ingest.reading import Record, read_listed
from sleuth.ingest.reports import FileRead
from sleuth.store import KnownFile
from sleuth.types import Document
from tests.code.conftest import write
from tests.ingest.files import pdf


def names(records: Sequence[Record | Document]) -> list[str]:
    sources = (
        record.metadata["source"] if isinstance(record, Document) else str(record.source)
        for record in records
    )
    return [
        f"{type(record).__name__} {Path(source).name}"
        for record, source in zip(records, sources, strict=True)
    ]


def test_records(tmp_path: Path) -> None:
    """A file gives its documents and a record that it was read, or a record with the reason why not."""
    records = list(read([write(tmp_path, {"a.md": "text", "b.csv": "x\n1\n2\n", "c.md": ""})]))
    assert names(records) == [
        "Document a.md", "FileRead a.md", "Document b.csv#1", "Document b.csv#2", "FileRead b.csv", "Skipped c.md",
    ]  # fmt: skip
    status = (tmp_path / "b.csv").stat()
    assert records[4] == FileRead(str(tmp_path / "b.csv"), 6, str(status.st_mtime_ns), 2)


def test_unchanged_files_are_not_opened(tmp_path: Path) -> None:
    """A file that the comparison knows is reported as unchanged without opening it."""
    (tmp_path / "b.md").write_text("text")

    folders = DiskFolders([tmp_path])
    listing = chain([Unchanged(KnownFile("a.md"))], folders.list())
    records = list(read_listed(folders, listing, ReadOptions()))
    assert names(records) == ["Unchanged a.md", "PreparedDocument b.md", "FileRead b.md"]


def test_progress(tmp_path: Path) -> None:
    """Progress counts every file once and knows the totals from the start."""
    write(tmp_path, {f"{number}.md": "x" * number for number in range(5)})
    events: list[tuple[int, int, int | None]] = []
    folders = DiskFolders([tmp_path])
    list(read_listed(folders, folders.list(), ReadOptions(), lambda *counts: events.append(counts)))
    assert events == [(1, 0, 5), (2, 1, 5), (3, 3, 5), (4, 6, 5), (5, 10, 5)]


def test_reading_streams(tmp_path: Path) -> None:
    """The first document is yielded before the second file is opened."""
    records = read([write(tmp_path, {"a.md": "first", "b.md": "second"})])
    assert isinstance(next(records), Document)
    (tmp_path / "b.md").write_text("changed")
    assert [record.page_content for record in records if isinstance(record, Document)] == ["changed"]


def test_a_file_that_vanishes(tmp_path: Path) -> None:
    """A file that was removed or replaced before it is opened costs only itself."""
    records = read([write(tmp_path, dict.fromkeys(("a.md", "b.md", "c.md"), "text"))])
    next(records)
    (tmp_path / "b.md").unlink()
    os.mkfifo(tmp_path / "b.md")
    (tmp_path / "c.md").unlink()
    rest = [record for record in records if isinstance(record, Skipped)]
    assert [(record.reason, record.kind) for record in rest] == [
        ("not a file: a pipe", "special"),
        ("no such file or folder", "vanished"),
    ]


def heavy_folder(root: Path) -> None:
    for number in range(40):
        (root / f"{number:02}.html").write_text(f"<title>{number}</title><p>{'word ' * number}")
        (root / f"{number:02}.md").write_text(f"# {number}")
        (root / f"{number:02}.pdf").write_bytes(pdf([[f"page of {number}"]])[: 900 if number % 7 else 90])


def test_workers_change_nothing(tmp_path: Path) -> None:
    """Several processes and one give the same records in the same order."""
    heavy_folder(tmp_path)
    alone = list(read([tmp_path], options=ReadOptions(workers=1)))
    assert [type(record) for record in alone].count(Skipped) == 7
    assert [type(record) for record in alone].count(FileRead) == 113
    assert list(read([tmp_path], options=ReadOptions(workers=2))) == alone
    assert list(read([tmp_path])) == alone


def test_workers_end_with_their_reader(tmp_path: Path) -> None:
    """Closing the reader early leaves no process and no thread."""
    heavy_folder(tmp_path)
    threads, children = threading.active_count(), _children()
    records = read([tmp_path], options=ReadOptions(workers=2))
    next(records)
    assert isinstance(records, Generator)
    records.close()
    assert threading.active_count() <= threads
    assert _children() <= children


def _children() -> set[str]:
    """Return the processes that this one started, where Linux lists them."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {child for task in tasks for child in task.read_text().split()}


@pytest.mark.parametrize("ends", [signal.SIGKILL, signal.SIGABRT])
def test_a_worker_that_dies_costs_no_file(tmp_path: Path, ends: signal.Signals) -> None:
    """A process that was killed, or had used up its memory on other files, is replaced, and the file read."""
    heavy_folder(tmp_path)
    entries = [
        entry
        for entry in DiskFolders([tmp_path], ReadOptions(include=["*.pdf"])).list()
        if isinstance(entry, FileEntry)
    ]
    with FileProcesses(20, 256 << 20) as readers:
        list(read_file(entries[1], processes=readers))
        (process,) = readers.running
        os.kill(process, ends)
        for entry in entries[2:4]:
            assert isinstance(list(read_file(entry, processes=readers))[-1], FileRead)
        assert process not in readers.running
    assert not readers.running
