"""Adds documents, and brings the index up to date with files and folders."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sleuth.errors import ArgumentError
from sleuth.files.ignore import IGNORE_FILES
from sleuth.ingest.diff import Diff
from sleuth.ingest.documents import Adder
from sleuth.ingest.names import FileNames, is_below, outermost, printable
from sleuth.ingest.options import AUTO
from sleuth.ingest.reading import read
from sleuth.ingest.reports import (
    AddReport,
    IndexInterrupted,
    IndexProgress,
    IndexReport,
    LeftOut,
    Record,
)
from sleuth.ingest.roots import Options, RootReading, plan, remember, roots_in
from sleuth.ingest.run import Run, ids_in
from sleuth.ingest.updates import gone_roots
from sleuth.ingest.walking import WalkScope
from sleuth.logs import logger_of
from sleuth.types import Document

if TYPE_CHECKING:
    from sleuth.ingest.chunkers import CheckedChunker
    from sleuth.store.store import Store
    from sleuth.text.chunkers import Chunker

logger = logger_of("ingest")

_MANY_CHANGES = 100


def add_documents(
    store: Store,
    chunker: Chunker | CheckedChunker,
    documents: Iterable[Document],
    *,
    language: str = AUTO,
    progress: Callable[[AddReport], None] | None = None,
    timeout: float = 10.0,  # for another writer: a commit takes less, a stuck writer is reported soon
) -> AddReport:
    """Add documents in batches, each committed whole; see `Engine.add`.

    Args:
        language: of documents that name none, as of `Adder`.
    """
    started = time.monotonic()
    report = AddReport(version=store.version)
    with store.writer(timeout=timeout) as writer:
        adder = Adder(writer, chunker, report, language)
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
    chunker: Chunker | CheckedChunker,
    paths: Sequence[str | Path],
    *,
    names: FileNames,
    index: Path,
    options: Options = None,
    prune: bool = False,
    changed: Collection[str | Path] | None = None,
    progress: Callable[[IndexProgress], None] | None = None,
    timeout: float = 10.0,  # as of `add_documents`
) -> IndexReport:
    """Bring the index up to date with files and folders; see `Engine.index`.

    Args:
        names: those of files in this index.
        index: its folder, which is not read.
    """
    started = time.monotonic()
    roots = roots_of(paths, names)
    only = _resolved(changed)
    with store.reader() as snapshot:
        report = IndexReport(version=snapshot.version)
        remembered = roots_in(snapshot.noted_files(), names)
        names_read = list(map(names.name_of, roots if only is None else _below(roots, only)))
        roots = present(roots, lambda root: any(snapshot.file_names(names.name_of(root))), prune=prune)
    readings = plan(roots, remembered, options, names)
    diff = Diff(store.reader, names_read, names)
    adder: Adder[IndexReport] | None = None
    left_out = LeftOut()
    try:
        with store.writer(timeout=timeout) as writer:
            adder = Adder(writer, chunker, report)
            run = Run(adder, diff, ids_in(store))
            remember(writer, roots, remembered, options, names)
            entries = _read(readings, run, progress, started, index=index, left_out=left_out, only=only)
            for entry in _until_interrupted(entries, report):
                run.take(entry)
            if not report.interrupted:
                run.finish(prune=prune)
            run.commit()
    except KeyboardInterrupt:  # during a document or a commit, which is rolled back
        report = replace(adder.kept if adder else report, skipped=report.skipped, interrupted=True)
    with store.reader() as snapshot:
        counts = snapshot.counts()
        if not report.interrupted:
            report.gone_roots = gone_roots(snapshot, remembered, list(map(names.name_of, roots)))
    report.documents, report.passages = counts.documents, counts.chunks
    report.hidden, report.ignored = left_out.hidden, left_out.ignored
    report.seconds = time.monotonic() - started
    logger.info(
        "indexed %d roots in %.1f s: %d documents added, %d updated, %d unchanged, %d deleted, %d pruned; %d skipped",
        *(len(readings), report.seconds, report.added, report.updated, report.unchanged),
        *(report.deleted, report.pruned, len(report.skipped)),
    )
    if report.interrupted:
        raise IndexInterrupted(report)
    return report


def _until_interrupted(entries: Iterator[Record], report: IndexReport) -> Iterator[Record]:
    """Yield entries until Ctrl-C interrupts reading; entries before it are complete and stay in the index."""
    try:
        yield from entries
    except KeyboardInterrupt:
        report.interrupted = True


def roots_of(paths: Sequence[str | Path], names: FileNames) -> list[str]:
    """Return the absolute paths of files and folders.

    Raises:
        ArgumentError: something else than a list of paths, or an address of object storage or of the web.
    """
    if isinstance(paths, str | Path):
        raise ArgumentError(
            f"paths must be a list of files and folders, got {paths!r}; write [{str(paths)!r}]"
        )
    if not isinstance(paths, Iterable):
        raise ArgumentError(f"paths must be a list of files and folders, got {paths!r}")
    return [_absolute(path, names) for path in paths]


def _absolute(path: str | Path, names: FileNames) -> str:
    try:
        absolute = names.locate(path)
        os.fsencode(absolute)
    except (TypeError, UnicodeEncodeError):
        raise ArgumentError(f"paths must be of text or Paths, got {path!r}") from None
    except ValueError:  # a NUL; the walk names it
        return os.path.abspath(path)  # noqa: PTH100
    # An address is refused with the command that reads it; a `Path` of one has lost a slash.
    scheme, separator, address_path = str(path).partition(":/")
    if separator and scheme.isalnum() and len(scheme) > 1 and not os.path.lexists(absolute):
        address = f"{scheme}://{address_path.lstrip('/')}"
        mend = f"`sleuth cluster index file:///FOLDER {address}` reads it into the index at file:///FOLDER"
        if scheme.startswith("http"):
            mend = f"`sleuth web crawl {address}` reads a site"
        raise ArgumentError(f"paths must be files and folders of this machine, got {address!r}: {mend}")
    return absolute


def _resolved(paths_changed: Collection[str | Path] | None) -> list[str] | None:
    """Return the paths that may have changed, links resolved.

    None stands for all: also where rules of ignoring changed, or so much that looking at everything costs less.
    """
    if paths_changed is None or len(paths_changed) > _MANY_CHANGES:
        return None
    paths = {os.path.realpath(path) for path in paths_changed}
    if any(os.path.basename(path) in IGNORE_FILES for path in paths):  # noqa: PTH119
        return None
    return outermost(paths)


def _below(roots: Sequence[str], only: Sequence[str]) -> list[str]:
    """Return the paths by the roots that they are below, and the roots that are below them."""
    real = {root: os.path.realpath(root) for root in roots}
    below = [root + path[len(real[root]) :] for root in roots for path in only if is_below(path, real[root])]
    return below + [root for root in roots if any(is_below(real[root], path) for path in only)]


def present(roots: Sequence[str], is_indexed: Callable[[str], bool], *, prune: bool) -> list[str]:
    """Return the roots that exist. Missing roots are dropped when pruning, if the index knows files below them.

    Args:
        roots: absolute paths.
        is_indexed: returns whether the index knows files at a root or below it.
    """
    absent_roots = [root for root in roots if not os.path.exists(root)]  # noqa: PTH110 - False without permission
    if wrong := [root for root in absent_roots if not (prune and is_indexed(root))]:
        mend = "; prune=True (--prune) deletes their documents" if all(map(is_indexed, wrong)) else ""
        paths = ", ".join(map(printable, wrong))
        raise ArgumentError(f"paths must name files or folders that exist, got {paths}{mend}")
    return [root for root in roots if root not in absent_roots]


def _read(
    readings: Sequence[RootReading],
    run: Run,
    progress: Callable[[IndexProgress], None] | None,
    started: float,
    *,
    index: Path,
    left_out: LeftOut,
    only: Collection[str] | None,
) -> Iterator[Record]:
    """Yield the records of all readings, those with the same options together."""
    diff = run.diff
    names = [diff.names.name_of(reading.root) for reading in readings]
    names_so_far: set[str] | None = None if len(outermost(names)) == len(names) else set()
    done = IndexProgress(0, 0, None, 0.0)

    def show(before: IndexProgress, files: int, size: int, total: int) -> None:
        nonlocal done
        counts = before.files + files, before.bytes + size, before.files + total
        done = IndexProgress(*counts, time.monotonic() - started)
        if progress is not None:
            progress(done)

    while readings:
        options = readings[0].options
        alike = [reading for reading in readings if reading.options == options]
        readings = [reading for reading in readings if reading.options != options]
        diff.read_with(options)
        run.adder.language, run.adder.loaders = options.language, options.loaders
        scope = WalkScope(
            diff.names.name_of,
            {reading.root: reading.anchor for reading in alike},
            index,
            [path for reading in alike for path in reading.apart],
            names_so_far,
            only,
            left_out,
        )
        yield from read(
            [reading.root for reading in alike],
            options=options,
            compare=diff.compare,
            progress=partial(show, done) if progress else None,
            scope=scope,
        )
