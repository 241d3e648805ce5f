"""Adds documents, and brings the index up to date with files and folders."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sleuth.errors import ArgumentError
from sleuth.files.ignore import IGNORE_FILES
from sleuth.ingest.diff import Diff
from sleuth.ingest.documents import Adder
from sleuth.ingest.options import AUTO, DEFAULT, ReadOptions
from sleuth.ingest.reading import Record, read_listed
from sleuth.ingest.reports import (
    AddReport,
    FileEntry,
    IndexInterrupted,
    IndexProgress,
    IndexReport,
    LeftOut,
    Skipped,
)
from sleuth.ingest.roots import (
    FileNames,
    Options,
    RootReading,
    covering,
    is_address,
    is_below,
    outermost,
    plan,
    printable,
    remember,
    roots_in,
)
from sleuth.ingest.roots import changed as changed_options
from sleuth.ingest.run import Run, ids_in
from sleuth.ingest.source import Source, chosen, open_source
from sleuth.ingest.updates import gone_roots
from sleuth.ingest.walking import DiskFolders, WalkScope
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
    paths: Sequence[str | Path | Source],
    *,
    names: FileNames,
    index: Path,
    options: Options = None,
    prune: bool = False,
    changed: Collection[str | Path] | None = None,
    progress: Callable[[IndexProgress], None] | None = None,
    timeout: float = 10.0,  # as of `add_documents`
) -> IndexReport:
    """Bring the index up to date with files, folders and other sources; see `Engine.index`.

    Args:
        names: those of files in this index.
        index: its folder, which is not read.
    """
    started = time.monotonic()
    roots, sources, opened = places_of(paths, names)
    only = _resolved(changed)
    with store.reader() as snapshot:
        report = IndexReport(version=snapshot.version)
        remembered = roots_in(snapshot.noted_files(), names)
        looked_at = roots.values() if only is None else map(names.name_of, _below(list(roots), only))
        diff = Diff(store.reader, looked_at, names)
        present_roots = present(list(roots), lambda root: any(snapshot.file_names(roots[root])), prune=prune)
    roots = {root: roots[root] for root in present_roots}
    readings = plan(roots, remembered, options, names)
    left_out = LeftOut()
    parts = _folders(readings, names, index=index, left_out=left_out, only=only)
    for source in sources:
        root = covering(source.name, remembered)
        parts.append((changed_options(root.options if root else DEFAULT, options), source))
    adder: Adder[IndexReport] | None = None
    try:
        with ExitStack() as stack:
            for source in opened:
                stack.callback(source.close)
            writer = stack.enter_context(store.writer(timeout=timeout))
            adder = Adder(writer, chunker, report)
            run = Run(adder, diff, ids_in(store))
            remember(writer, {**roots, **{one.name: one.name for one in opened}}, remembered, options)
            failure = run.take_all(_read(parts, run, progress, started))
            if not (report.interrupted or failure):
                run.finish(prune=prune)
                if not report.gone:  # else the next run must meet them again
                    for used, source in parts:
                        if source.cursor:
                            writer.note_file(source.name, version=source.cursor, reading=used.spelling)
            run.commit()
            if failure:
                raise failure
    except KeyboardInterrupt:  # during a document or a commit, which is rolled back
        report = replace(adder.kept if adder else report, skipped=report.skipped, interrupted=True)
    counts = adder.writer.counts if adder and not report.interrupted else None
    away = [] if report.interrupted else [root.name for root in remembered if root.is_gone]
    if away or counts is None:
        with store.reader() as snapshot:
            counts = snapshot.counts()
            report.gone_roots = gone_roots(snapshot, away, roots.values())
    report.documents, report.passages = counts.documents, counts.chunks
    report.hidden, report.ignored = left_out.hidden, left_out.ignored
    report.seconds = time.monotonic() - started
    logger.info(
        "indexed %d roots in %.1f s: %d documents added, %d updated, %d unchanged, %d deleted, %d pruned; %d skipped",
        *(len(parts), report.seconds, report.added, report.updated, report.unchanged),
        *(report.deleted, report.pruned, len(report.skipped)),
    )
    if report.interrupted:
        raise IndexInterrupted(report)
    return report


class NamedPaths(NamedTuple):
    """What paths name.

    Attributes:
        roots: names in the index of files and folders, by absolute path.
        sources: by name each once, the last of them.
        opened: those of the sources whose addresses were given, for the caller to close.
    """

    roots: dict[str, str]
    sources: list[Source]
    opened: list[Source]


def places_of(paths: Sequence[str | Path | Source], names: FileNames) -> NamedPaths:
    """Return what paths name; a folder that is named like an address is none.

    Raises:
        ArgumentError: something else than a list of paths, or an address that nothing opens.
    """
    if isinstance(paths, str | Path) or not isinstance(paths, Iterable):
        mend = f"; write [{str(paths)!r}]" if isinstance(paths, str | Path) else ""
        raise ArgumentError(f"paths must be a list of files and folders, got {paths!r}{mend}")
    roots: dict[str, str] = {}
    sources: dict[str, Source] = {}
    opened: dict[str, Source] = {}
    for path in paths:
        if isinstance(path, str) and is_address(path) and not os.path.lexists(names.locate(path)):
            source = opened[path] = opened.get(path) or open_source(path)
            sources[source.name] = source
        elif isinstance(path, str | Path):
            try:
                absolute = names.locate(path)
                os.fsencode(absolute)
                roots[absolute] = names.name_of(absolute)
            except UnicodeEncodeError:
                raise ArgumentError(f"paths must be of text or Paths, got {path!r}") from None
            except ValueError:  # a NUL; the walk names it
                absolute = os.path.abspath(path)  # noqa: PTH100
                roots[absolute] = printable(absolute)
        elif isinstance(path, Source):
            sources[path.name] = path
        else:
            raise ArgumentError(f"paths must be of text or Paths, got {path!r}")
    return NamedPaths(roots, list(sources.values()), list(opened.values()))


def _resolved(paths_changed: Collection[str | Path] | None) -> list[str] | None:
    """Return the paths that may have changed, links resolved.

    None stands for all: also where rules of ignoring changed, or so much that looking at everything costs less.
    """
    if isinstance(paths_changed, str | Path):
        raise ArgumentError(f"changed must be a list of files and folders, got {paths_changed!r}")
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


def _folders(
    readings: Sequence[RootReading],
    names: FileNames,
    *,
    index: Path,
    left_out: LeftOut,
    only: Collection[str] | None,
) -> list[tuple[ReadOptions, Source]]:
    """Return the folders of a run as sources, those that are read with the same options together."""
    are_apart = len(readings) < 2 or len(outermost([one.name for one in readings])) == len(readings)
    seen: set[str] | None = None if are_apart else set()  # else a file would be met twice
    parts: list[tuple[ReadOptions, Source]] = []
    while readings:
        options = readings[0].options
        alike = [reading for reading in readings if reading.options == options]
        readings = [reading for reading in readings if reading.options != options]
        anchors = {reading.root: reading.anchor for reading in alike}
        exclusions = [path for reading in alike for path in reading.apart]
        scope = WalkScope(names.name_of, anchors, index, exclusions, seen, only, left_out)
        parts.append((options, DiskFolders([reading.root for reading in alike], options, scope)))
    return parts


def _read(
    parts: Sequence[tuple[ReadOptions, Source]],
    run: Run,
    progress: Callable[[IndexProgress], None] | None,
    started: float,
) -> Iterator[Record]:
    """Yield the records of all sources: each is listed, compared with the table, and read."""
    done = IndexProgress(0, 0, None, 0.0)

    def show(before: IndexProgress, files: int, size: int, total: int | None) -> None:
        nonlocal done
        total_files = None if total is None else before.files + total
        counts = before.files + files, before.bytes + size, total_files
        done = IndexProgress(*counts, time.monotonic() - started)
        if progress is not None:
            progress(done)

    for options, source in parts:
        run.diff.read_with(options)
        run.adder.loaders = options.loaders
        # A walk heeds the options itself, and `Diff` has its roots.
        is_walk = isinstance(source, DiskFolders)
        listed = source.list(run.diff.known) if is_walk else _listed(source, run.diff, options)
        listing = run.diff.compare(listed, source.batch)
        yield from read_listed(source, listing, options, partial(show, done) if progress else None)


def _listed(source: Source, diff: Diff, options: ReadOptions) -> Iterator[FileEntry | Skipped]:
    """Yield what a source lists: what has changed since its cursor if it can tell, else everything."""
    entries = source.since(cursor) if (cursor := diff.cursor_of(source.name)) else None
    lists_all = entries is None and source.lists_all
    yield from chosen(source.list(diff.known) if entries is None else entries, source, options)
    if lists_all:  # as a listing that fails has not got here
        diff.roots.append(source.name)
