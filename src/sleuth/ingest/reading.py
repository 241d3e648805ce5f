"""Reads the documents of files and folders, in order, while threads read ahead what processes extract."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from sleuth import platform
from sleuth.errors import LoadError, MissingPackageError
from sleuth.files.formats import BUILT_IN
from sleuth.ingest.loaders.apart import SMALL_PAGE, FileProcesses
from sleuth.ingest.loaders.file import is_built_in, kind_of, load
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reports import FileEntry, FileRead, Skipped, Unchanged
from sleuth.ingest.source import Source
from sleuth.ingest.validate import PreparedDocument
from sleuth.ingest.walking import DiskFolders, Found, failure
from sleuth.types import Document

Record: TypeAlias = PreparedDocument | Skipped | Unchanged | FileRead
_MOST_SUFFIX: Final = 20


def read(
    paths: Sequence[str | os.PathLike[str]], *, options: ReadOptions | None = None
) -> Iterator[Document | Skipped | Unchanged | FileRead]:
    """Yield the documents of all files under `paths`, one at a time, in order of the paths and then of names.

    Each file yields its documents and then a `FileRead`, or one `Skipped`; an unreadable row yields a `Skipped` among
    the documents of its file. No file stops the run.
    """
    options = options or DEFAULT
    folders = DiskFolders(paths, options)
    for record in read_listed(folders, folders.list(), options):
        yield record.document if isinstance(record, PreparedDocument) else record


def read_listed(
    source: Source,
    listing: Iterator[Found | Unchanged],
    options: ReadOptions,
    progress: Callable[[int, int, int | None], None] | None = None,
) -> Iterator[Record]:
    """Yield the records of what a source has listed, as `read` does, and `Unchanged` as it is.

    Args:
        progress: called after every file with how many and how many bytes were read, unchanged or skipped, and how many
            the source says there are. To say so, all folders are walked before the first file is read.
    """
    files = size = 0
    total_files = None if progress is None else source.count()
    for entry, records in _in_order(source, listing, options):
        yield from records
        if progress is not None:
            files += 1
            size += 0 if isinstance(entry, Skipped) else entry.size
            progress(files, size, total_files)


def _in_order(
    source: Source, listing: Iterator[Found | Unchanged], options: ReadOptions
) -> Iterator[tuple[Found | Unchanged, Iterable[Record]]]:
    """Yield each walked entry with its records, in order; their number of threads does not change them."""
    count = options.workers or min(platform.cores(), 8)
    processes = FileProcesses(options.max_seconds, options.max_memory_bytes)
    threads: ThreadPoolExecutor | None = None
    begun: deque[tuple[Found | Unchanged, Callable[[], Iterable[Record]]]] = deque()
    try:
        for entry in listing:
            if not isinstance(entry, FileEntry):
                begun.append((entry, partial(iter, (entry,))))
            elif not entry.file:
                begun.append((entry, partial(read_fetched, source, entry, options, processes)))
            elif (
                count > 1
                and is_built_in(kind := kind_of(entry.source, loaders=options.loaders), options.loaders)
                and BUILT_IN[kind].extract
                and (kind != "html" or entry.size > SMALL_PAGE)
            ):
                threads = threads or ThreadPoolExecutor(count, thread_name_prefix="sleuth-reader")
                reading = threads.submit(lambda entry: list(read_file(entry, options, processes)), entry)
                begun.append((entry, reading.result))
            else:
                begun.append((entry, partial(read_file, entry, options, processes)))
            while len(begun) > (4 * count if threads else 0):
                first, records = begun.popleft()
                yield first, records()
        while begun:
            first, records = begun.popleft()
            yield first, records()
    finally:
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)
        processes.close()  # makes the threads that wait for its processes return
        if threads is not None:
            threads.shutdown(wait=True)


def read_fetched(
    source: Source, entry: FileEntry, options: ReadOptions, processes: FileProcesses | None = None
) -> Iterator[Record]:
    """Yield what `read_file` does of a file that its source is asked for."""
    with TemporaryDirectory(prefix="sleuth-source-") as folder:
        # Loaders of other packages may look at the end of the name.
        path = Path(folder, f"file{PurePosixPath(entry.source).suffix[:_MOST_SUFFIX]}")
        try:
            source.read(entry, path)
        except FileNotFoundError:
            yield Skipped(entry.source, "it has changed or gone since it was listed", "vanished")
        except LoadError as error:
            yield Skipped(entry.source, error.reason, error.kind)
        else:
            yield from read_file(replace(entry, file=str(path), content=None), options, processes)


def read_file(
    entry: FileEntry, options: ReadOptions = DEFAULT, processes: FileProcesses | None = None
) -> Iterator[Record]:
    """Yield the documents of one file, then a `FileRead`, or a `Skipped` if reading fails."""
    count = parts = 0
    try:
        for item in load(entry, options, processes):
            count += isinstance(item, PreparedDocument)
            parts += 1
            yield item
    except LoadError as error:
        yield Skipped(entry.source, error.reason, error.kind, entry.size, entry.etag)
    except MissingPackageError as error:
        yield Skipped(entry.source, str(error), "missing package")
    except OSError as error:
        yield failure(entry.source, error)
    except RecursionError:
        yield Skipped(entry.source, "nested too deeply", "invalid")
    except MemoryError:
        yield Skipped(entry.source, "too large for the memory there is", "limits")
    except Exception as error:  # noqa: BLE001  # of a plugin's loader, or an unforeseen error of Sleuth
        yield Skipped(entry.source, f"{type(error).__name__}: {error}")
    else:
        if not parts:
            yield Skipped(entry.source, "empty", "empty")
            return
        yield FileRead(entry.source, entry.size, entry.etag, count)
