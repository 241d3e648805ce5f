"""How do documents and folders get into the index, so that doing it again costs nothing?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sleuth.errors import ArgumentError
from sleuth.ingest.adding import Adder
from sleuth.ingest.known import Run, known_files
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.records import FileRead, Progress, Skipped, Unchanged
from sleuth.ingest.walk import is_below, printable
from sleuth.settings import IndexSettings
from sleuth.text.chunkers import Chunker
from sleuth.types import Document

if TYPE_CHECKING:
    from sleuth.store.store import Store

_Record: TypeAlias = Document | Skipped | Unchanged | FileRead


@dataclass(slots=True)
class AddReport:
    """What an add did.

    Attributes:
        added, updated, unchanged: documents.
        seconds: wall time.
        version: the version of the index after the last commit.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    seconds: float = 0.0
    version: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return asdict(self)


@dataclass(slots=True)
class IndexReport(AddReport):
    """What reading files and folders did.

    Attributes:
        read: files that were read.
        bytes: of those files.
        deleted: documents deleted because their file no longer gives them.
        pruned: documents deleted because their file is gone.
        skipped: what could not be read, with the reason.
        documents, passages: what the index holds now.
        interrupted: whether Ctrl-C ended it; what was read is committed.
    """

    read: int = 0
    bytes: int = 0
    deleted: int = 0
    pruned: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    documents: int = 0
    passages: int = 0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far `index` has come.

    Attributes:
        files, bytes: dealt with so far.
        total_files: None until all folders have been walked.
        seconds: since the start.
    """

    files: int
    bytes: int
    total_files: int | None
    seconds: float


class IndexInterrupted(KeyboardInterrupt):
    """Ctrl-C during `Engine.index`. What was read is committed.

    Attributes:
        report: what was done so far.
    """

    def __init__(self, report: IndexReport) -> None:
        super().__init__()
        self.report = report


def add_documents(
    store: Store,
    settings: IndexSettings,
    documents: Iterable[Document],
    *,
    progress: Callable[[AddReport], None] | None = None,
    timeout: float = 10.0,
) -> AddReport:
    """Add documents in batches, each committed whole; see `Engine.add`."""
    started = time.monotonic()
    report = AddReport(version=store.version)
    chunker = Chunker(settings.chunk_size, settings.chunk_overlap)
    with store.writer(timeout=timeout) as writer:
        adder = Adder(writer, chunker, report)
        for document in documents:
            adder.add(document)
            if adder.commit_is_due():
                adder.commit()
                report.seconds = time.monotonic() - started
                if progress:
                    progress(report)
        adder.commit()
    report.seconds = time.monotonic() - started
    if progress:
        progress(report)
    return report


def index_paths(
    store: Store,
    settings: IndexSettings,
    paths: Sequence[str | Path],
    *,
    options: ReadOptions | None = None,
    prune: bool = False,
    progress: Callable[[IndexProgress], None] | None = None,
    timeout: float = 10.0,
) -> IndexReport:
    """Bring the index up to date with files and folders; see `Engine.index`."""
    started = time.monotonic()
    if not isinstance(options, ReadOptions | None):
        raise ArgumentError(f"options must be ReadOptions or None, got {options!r}")
    roots = roots_of(paths)
    report = IndexReport(version=store.version)
    files = known_files(store, roots)
    roots = present(roots, files, prune=prune)
    adder: Adder[IndexReport] | None = None
    try:
        with store.writer(timeout=timeout) as writer:
            adder = Adder(writer, Chunker(settings.chunk_size, settings.chunk_overlap), report)
            run = Run(adder, files, report, options)
            entries = _read(roots, options, run, progress, started, leave_out=store.path)
            for entry in _until_interrupted(entries, report):
                run.take(entry)
            if not report.interrupted:
                run.finish(prune=prune)
            adder.commit()
    except KeyboardInterrupt:  # in the midst of a document or of a commit, of which nothing is kept then
        report = replace(adder.kept if adder else report, skipped=report.skipped, interrupted=True)
    with store.reader() as snapshot:
        counts = snapshot.counts()
    report.documents, report.passages = counts.documents, counts.chunks
    report.seconds = time.monotonic() - started
    if report.interrupted:
        raise IndexInterrupted(report)
    return report


def _until_interrupted(entries: Iterator[_Record], report: IndexReport) -> Iterator[_Record]:
    """The entries up to Ctrl-C while one is read: all that was taken before is whole, and is kept."""
    try:
        yield from entries
    except KeyboardInterrupt:
        report.interrupted = True


def roots_of(paths: Sequence[str | Path]) -> list[Path]:
    if isinstance(paths, str | Path):
        raise ArgumentError(
            f"paths must be a list of files and folders, got {paths!r}; write [{str(paths)!r}]"
        )
    if not isinstance(paths, Iterable):
        raise ArgumentError(f"paths must be a list of files and folders, got {paths!r}")
    return list(map(_absolute, paths))


def _absolute(path: str | Path) -> Path:
    try:
        os.fsencode(absolute := Path(os.path.abspath(path)))  # noqa: PTH100 - resolve() would follow links
    except (TypeError, UnicodeEncodeError):
        raise ArgumentError(f"paths must be of text or Paths, got {path!r}") from None
    return absolute


def present(roots: Sequence[Path], files: Collection[str], *, prune: bool) -> list[Path]:
    """The roots that exist. One that is gone is none where its documents are to be deleted, if there are any."""
    absent = [root for root in roots if not os.path.exists(root)]  # noqa: PTH110 - no error where it may not be asked
    names = [printable(str(root)) for root in absent]
    held = {name for name in names if any(is_below(source, name) for source in files)}
    if wrong := [name for name in names if not prune or name not in held]:
        mend = "" if prune or not held.issuperset(wrong) else "; prune=True (--prune) deletes what they gave"
        raise ArgumentError(f"paths must name files or folders that exist, got {', '.join(wrong)}{mend}")
    return [root for root in roots if root not in absent]


def _read(
    roots: Sequence[Path],
    options: ReadOptions | None,
    run: Run,
    progress: Callable[[IndexProgress], None] | None,
    started: float,
    *,
    leave_out: Path,
) -> Iterator[_Record]:
    from sleuth.ingest.pipeline import read

    def show(now: Progress) -> None:
        if progress:
            progress(IndexProgress(now.files, now.bytes, now.total_files, time.monotonic() - started))

    return read(roots, options=options, unchanged=run.unchanged, progress=show, leave_out=leave_out)
