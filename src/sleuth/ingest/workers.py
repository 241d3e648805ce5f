"""How are files read that take long to take apart: in this process, or in several?

A worker is a process that runs this module and reads one file at a time. It talks over its own pipes, imports nothing
of the program that started it, and may crash: that costs the file it was reading.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeAlias

from sleuth.errors import LoadError, MissingPackageError
from sleuth.ingest.loaders.registry import is_built_in, kind_of, load
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reports import FileEntry, FileRead, SkipKind, Skipped
from sleuth.ingest.walk import failure
from sleuth.types import Document

FileRecord: TypeAlias = Document | Skipped | FileRead

HEAVY: Final = frozenset({"pdf", "html", "docx"})
"""Kinds whose taking apart costs more than sending their text from process to process."""

PATIENCE: Final = 1.0
"""Seconds spent here on heavy files before workers are started: what it takes to start them, several times over."""


def read_file(entry: FileEntry, options: ReadOptions = DEFAULT) -> Iterator[FileRecord]:
    """The documents of one file and then a `FileRead`; a `Skipped` at the end where it cannot be read (any further)."""
    count = 0
    try:
        for item in load(entry, options):
            count += isinstance(item, Document)
            yield item
    except LoadError as error:
        yield Skipped(entry.source, error.reason, _load_kind(error.reason))
    except MissingPackageError as error:
        yield Skipped(entry.source, str(error), "missing package")
    except OSError as error:
        yield failure(entry.file, error)
    except RecursionError:
        yield Skipped(entry.source, "nested too deeply", "invalid")
    except MemoryError:
        yield Skipped(entry.source, "too large for the memory there is")
    except Exception as error:  # noqa: BLE001  # a loader of a plugin, or one that met a file nobody thought of
        yield Skipped(entry.source, f"{type(error).__name__}: {error}")
    else:
        yield FileRead(entry.source, entry.size, entry.modified_ns, count)


def _load_kind(reason: str) -> SkipKind:
    return "binary" if reason == "binary" else "empty" if reason == "empty" else "invalid"


class Readers:
    """Reads files in the order they are asked for; heavy ones by workers, once it is clear that there are many.

    Which process reads a file changes nothing in what is read.
    """

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.count = options.workers or min(os.cpu_count() or 1, 8)
        self.spent = 0.0 if options.workers == 0 else PATIENCE
        self.pool: _Pool | None = None

    @property
    def ahead(self) -> int:
        """How many files may be begun before the first of them is finished."""
        return 0 if self.pool is None else 4 * self.count

    def begin(self, entry: FileEntry) -> Future[list[FileRecord]] | None:
        """Hand a file to the workers; None where it is to be read here, when its turn comes."""
        kind = kind_of(entry.path)
        if self.count < 2 or kind not in HEAVY or not is_built_in(kind):
            return None
        if self.pool is None and self.spent >= PATIENCE:
            self.pool = _Pool(self.count, self.options)
        return self.pool.submit(entry) if self.pool else None

    def finish(self, entry: FileEntry, begun: Future[list[FileRecord]] | None) -> Iterator[FileRecord]:
        """The records of a file."""
        if begun is not None:
            yield from begun.result()
        elif self.count < 2 or kind_of(entry.path) not in HEAVY:
            yield from read_file(entry, self.options)
        else:
            started = time.monotonic()
            records = list(read_file(entry, self.options))
            self.spent += time.monotonic() - started
            yield from records

    def close(self) -> None:
        """End the workers, whatever they are doing."""
        if self.pool is not None:
            self.pool.close()


class _Pool:
    """Threads, each with a process of its own."""

    def __init__(self, count: int, options: ReadOptions) -> None:
        self.options = options
        self.processes: list[subprocess.Popen[bytes]] = []
        self.closed = False
        self.own = threading.local()
        self.threads = ThreadPoolExecutor(count, thread_name_prefix="sleuth-reader")

    def submit(self, entry: FileEntry) -> Future[list[FileRecord]]:
        return self.threads.submit(self._read, entry)

    def _read(self, entry: FileEntry) -> list[FileRecord]:
        process: subprocess.Popen[bytes] | None = getattr(self.own, "process", None)
        if process is None or process.poll() is not None:
            process = self.own.process = self._start()
        assert process.stdin is not None and process.stdout is not None  # noqa: S101  # both are pipes
        try:
            pickle.dump(entry, process.stdin)
            process.stdin.flush()
            records: list[FileRecord] = pickle.load(process.stdout)  # noqa: S301  # our own process, over our own pipe
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            process.kill()
            process.wait()
            return [Skipped(entry.source, f"the process that read it ended with status {process.returncode}")]
        return records

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: a module in the current folder must not take the place of one of ours.
        process = subprocess.Popen(  # our own interpreter and module
            [sys.executable, "-P", "-m", "sleuth.ingest.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C is for the program, which then ends its workers
        )
        self.processes.append(process)
        assert process.stdin is not None  # noqa: S101  # a pipe
        pickle.dump(self.options, process.stdin)
        return process

    def close(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)
        for process in self.processes:
            process.kill()
        self.threads.shutdown(wait=True)
        for process in self.processes:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):  # what was not flushed has nobody to read it
                        pipe.close()


def serve() -> None:
    """Read the files that come in at standard input until it ends, and write their records to standard output."""
    source = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not land among the records
    options: ReadOptions = pickle.load(source)  # noqa: S301  # written by `_Pool`
    while True:
        try:
            entry: FileEntry = pickle.load(source)  # noqa: S301  # likewise
        except EOFError:
            return
        pickle.dump(list(read_file(entry, options)), answers, protocol=5)
        answers.flush()


if __name__ == "__main__":
    serve()
