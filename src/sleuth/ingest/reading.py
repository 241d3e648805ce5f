"""Reads the documents of files and folders, in order, while workers read ahead."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reports import FileEntry, LeftOut, Progress, Record, Skipped, Unchanged
from sleuth.ingest.walking import WalkScope, walk
from sleuth.ingest.workers import Readers

Listed: TypeAlias = FileEntry | Skipped


def read(
    paths: Sequence[str | os.PathLike[str]],
    *,
    options: ReadOptions | None = None,
    compare: Callable[[Iterable[Listed]], Iterator[Listed | Unchanged]] = iter,
    progress: Callable[[Progress], None] | None = None,
    scope: WalkScope | None = None,
    left_out: LeftOut | None = None,
) -> Iterator[Record]:
    """Yield the documents of all files under `paths`, one at a time, in order of the paths and then of names.

    Each file yields its documents and then a `FileRead`, or one `Skipped`, or one `Unchanged`; an unreadable row
    yields a `Skipped` among the documents of its file. No file stops the run.

    Args:
        compare: yields what is walked, with `Unchanged` for files that need not be read.
        progress: called after every file. With it, all folders are walked before the first file is read, and then
            once more, so that totals are known.
        scope: what is not walked, and how files are named; by absolute paths where None.
        left_out: counts hidden and ignored names while folders are walked.
    """
    options = options or DEFAULT
    scope = scope or WalkScope()
    total_files = total_bytes = None
    if progress is not None:
        total_files = total_bytes = 0
        for item in walk(
            paths, options, scope=replace(scope, seen=None if scope.seen is None else set(scope.seen))
        ):
            total_files += 1
            total_bytes += 0 if isinstance(item, Skipped) else item.size
    files = size = 0
    listing = walk(paths, options, scope=scope, left_out=left_out)
    for entry, records in _in_order(compare(listing), options):
        yield from records
        if progress is not None:
            files += 1
            size += 0 if isinstance(entry, Skipped) else entry.size
            progress(Progress(files, size, total_files, total_bytes))


def _in_order(
    listing: Iterator[Listed | Unchanged], options: ReadOptions
) -> Iterator[tuple[Listed | Unchanged, Iterable[Record]]]:
    """Yield each walked entry with its records, in order, while workers read ahead."""
    readers = Readers(options)
    begun: deque[tuple[Listed | Unchanged, Callable[[], Iterable[Record]]]] = deque()
    try:
        for entry in listing:
            if not isinstance(entry, FileEntry):
                if not begun:
                    yield entry, (entry,)
                    continue
                begun.append((entry, partial(_only, entry)))
            else:
                begun.append((entry, partial(readers.finish, entry, readers.begin(entry))))
            while len(begun) > readers.ahead:
                first, records = begun.popleft()
                yield first, records()
        while begun:
            first, records = begun.popleft()
            yield first, records()
    finally:
        readers.close()


def _only(record: Record) -> tuple[Record]:
    return (record,)
