"""Reads the documents of files and folders, in order, while workers read ahead."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import IO, Final, TypeAlias

from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reports import FileEntry, LeftOut, Progress, Record, Skipped, Unchanged
from sleuth.ingest.walking import WalkScope, walk
from sleuth.ingest.workers import Readers

Listed: TypeAlias = FileEntry | Skipped

_ROOM: Final = 1 << 20
_TOGETHER: Final = 256
"""Entries that are written together."""


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
        progress: called after every file. With it, all folders are walked before the first file is read, so that
            totals are known.
        scope: what is not walked, and how files are named; by absolute paths where None.
        left_out: counts hidden and ignored names while folders are walked.
    """
    options = options or DEFAULT
    listing: Iterator[Listed] = walk(paths, options, scope=scope, left_out=left_out)
    total_files = total_bytes = None
    if progress is not None:
        total_files, total_bytes, listing = _counted(listing)
    files = size = 0
    for entry, records in _in_order(compare(listing), options):
        yield from records
        if progress is not None:
            files += 1
            size += 0 if isinstance(entry, Skipped) else entry.size
            progress(Progress(files, size, total_files, total_bytes))


def _counted(
    listing: Iterator[Listed],
) -> tuple[int, int, Iterator[Listed]]:
    """Walk to the end; return how many entries there are, their bytes, and the entries again.

    More than `_ROOM` bytes of entries wait in a temporary file.
    """
    from tempfile import SpooledTemporaryFile

    file = SpooledTemporaryFile(_ROOM)  # noqa: SIM115 - closed after its last entry
    skips: list[Skipped] = []
    count = size = 0
    while entries := list(islice(listing, _TOGETHER)):
        fields: list[str] = []
        for entry in entries:
            if isinstance(entry, FileEntry):
                size += entry.size
                fields += (entry.file, entry.source, str(entry.size), str(entry.modified_ns))
            else:
                skips.append(entry)
                fields += ("", "", "", "")
        count += len(entries)
        data = "\0".join(fields).encode(errors="surrogateescape")
        file.write(len(data).to_bytes(4))
        file.write(data)
    return count, size, _entries_in(file, iter(skips))


def _entries_in(file: IO[bytes], skips: Iterator[Skipped]) -> Iterator[Listed]:
    """Yield what `_counted` has written."""
    with file:
        file.seek(0)
        while head := file.read(4):
            data = file.read(int.from_bytes(head)).decode(errors="surrogateescape").split("\0")
            for path, source, size, modified_ns in zip(*[iter(data)] * 4, strict=True):
                yield FileEntry(path, source, int(size), int(modified_ns)) if path else next(skips)


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
