"""Adds documents, and brings the index up to date with files and folders."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sleuth.errors import ArgumentError
from sleuth.ingest.documents import Adder
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reading import read
from sleuth.ingest.reports import (
    AddReport,
    FileRead,
    IndexInterrupted,
    IndexProgress,
    IndexReport,
    LeftOut,
    Progress,
    Skipped,
    Unchanged,
)
from sleuth.ingest.sync import Run, known_files
from sleuth.ingest.walking import is_below, printable
from sleuth.settings import IndexSettings
from sleuth.text import Chunker
from sleuth.types import Document

if TYPE_CHECKING:
    from sleuth.store import Store

_Record: TypeAlias = Document | Skipped | Unchanged | FileRead


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
    left_out = LeftOut()
    try:
        with store.writer(timeout=timeout) as writer:
            chunker = Chunker(settings.chunk_size, settings.chunk_overlap)
            adder = Adder(writer, chunker, report, (options or DEFAULT).language)
            run = Run(adder, files, report, options)
            entries = _read(roots, options, run, progress, started, leave_out=store.path, left_out=left_out)
            for entry in _until_interrupted(entries, report):
                run.take(entry)
            if not report.interrupted:
                run.finish(prune=prune)
            adder.commit()
    except KeyboardInterrupt:  # during a document or a commit, which is rolled back
        report = replace(adder.kept if adder else report, skipped=report.skipped, interrupted=True)
    with store.reader() as snapshot:
        counts = snapshot.counts()
    report.documents, report.passages = counts.documents, counts.chunks
    report.hidden, report.ignored = left_out.hidden, left_out.ignored
    report.seconds = time.monotonic() - started
    if report.interrupted:
        raise IndexInterrupted(report)
    return report


def _until_interrupted(entries: Iterator[_Record], report: IndexReport) -> Iterator[_Record]:
    """Yield entries until Ctrl-C interrupts reading; entries before it are complete and stay in the index."""
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
    """Return the roots that exist. Missing roots are dropped when pruning, if the index holds documents below them."""
    absent = [root for root in roots if not os.path.exists(root)]  # noqa: PTH110 - False without permission
    names = [printable(str(root)) for root in absent]
    indexed = {name for name in names if any(is_below(source, name) for source in files)}
    if wrong := [name for name in names if not prune or name not in indexed]:
        mend = (
            "" if prune or not indexed.issuperset(wrong) else "; prune=True (--prune) deletes their documents"
        )
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
    left_out: LeftOut,
) -> Iterator[_Record]:
    def show(now: Progress) -> None:
        if progress:
            progress(IndexProgress(now.files, now.bytes, now.total_files, time.monotonic() - started))

    return read(
        roots, options=options, unchanged=run.unchanged, progress=show, leave_out=leave_out, left_out=left_out
    )
