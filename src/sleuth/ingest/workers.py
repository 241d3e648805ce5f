"""Reads files in order, while threads read ahead PDF, HTML, office and book files through processes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias

from sleuth import platform
from sleuth.errors import LoadError, MissingPackageError
from sleuth.files.formats import BUILT_IN
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.ingest.loaders.registry import is_built_in, kind_of, load
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reports import FileEntry, FileRead, Skipped
from sleuth.ingest.walking import failure
from sleuth.types import Document

FileRecord: TypeAlias = Document | Skipped | FileRead


def read_file(
    entry: FileEntry, options: ReadOptions = DEFAULT, processes: FileProcesses | None = None
) -> Iterator[FileRecord]:
    """Yield the documents of one file, then a `FileRead`, or a `Skipped` if reading fails."""
    count = parts = 0
    try:
        for item in load(entry, options, processes):
            count += isinstance(item, Document)
            parts += 1
            yield item
    except LoadError as error:
        yield Skipped(entry.source, error.reason, error.kind, entry.size, entry.version)
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
        yield FileRead(entry.source, entry.size, entry.version, count)


class Readers:
    """Reads files in order; several PDF, HTML, office and book files in parallel.

    The number of threads does not change the records.
    """

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.count = options.workers or min(platform.cores(), 8)
        self.processes = FileProcesses(options.max_seconds, options.max_memory_bytes)
        self.threads: ThreadPoolExecutor | None = None

    @property
    def ahead(self) -> int:
        """How many files may be started before the first of them is finished."""
        return 0 if self.threads is None else 4 * self.count

    def begin(self, entry: FileEntry) -> Future[list[FileRecord]] | None:
        """Start to read a file; None if it is read when its turn comes."""
        kind = kind_of(entry.source, loaders=self.options.loaders)
        if self.count < 2 or not is_built_in(kind, self.options.loaders) or not BUILT_IN[kind].extract:
            return None
        if self.threads is None:
            self.threads = ThreadPoolExecutor(self.count, thread_name_prefix="sleuth-reader")
        return self.threads.submit(lambda: list(read_file(entry, self.options, self.processes)))

    def finish(self, entry: FileEntry, begun: Future[list[FileRecord]] | None) -> Iterator[FileRecord]:
        """Return the records of a file."""
        if begun is None:
            return read_file(entry, self.options, self.processes)
        return iter(begun.result())

    def close(self) -> None:
        """Drop the files that are not begun, end the processes of those that are, and wait for the threads."""
        if self.threads is not None:
            self.threads.shutdown(wait=False, cancel_futures=True)
        self.processes.close()  # makes the threads that wait for its processes return
        if self.threads is not None:
            self.threads.shutdown(wait=True)
