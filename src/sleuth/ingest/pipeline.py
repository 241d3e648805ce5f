"""Which documents are in these files and folders, and what could not be read?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from sleuth.errors import LoadError, MissingPackageError
from sleuth.ingest.loaders.registry import load
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.records import FileEntry, FileRead, Progress, SkipKind, Skipped, Unchanged
from sleuth.ingest.walk import failure, walk
from sleuth.types import Document

Record: TypeAlias = Document | Skipped | Unchanged | FileRead


def read(
    paths: Sequence[str | os.PathLike[str]],
    *,
    options: ReadOptions | None = None,
    unchanged: Callable[[str, int, int], bool] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Record]:
    """The documents of all files under `paths`, one at a time, in order of the paths and then of names.

    Each file gives its documents and then a `FileRead`, or one `Skipped`, or one `Unchanged`; a row that cannot be
    read gives a `Skipped` among the documents of its file. No file stops the run.

    Args:
        unchanged: is asked with source, size in bytes and time of change in ns; a file for which it is true is not
            read.
        progress: called after every file. Totals are known once all folders have been walked, which is before the
            first file where `progress` is given.
    """
    options = options or DEFAULT
    found: Iterator[FileEntry | Skipped] = walk(paths, options)
    total_files = total_bytes = None
    if progress is not None:
        entries = list(found)
        total_files = len(entries)
        total_bytes = sum(entry.size for entry in entries if isinstance(entry, FileEntry))
        found = iter(entries)
    size = 0
    for files, entry in enumerate(found, 1):
        if isinstance(entry, Skipped):
            yield entry
        else:
            size += entry.size
            if unchanged is not None and unchanged(entry.source, entry.size, entry.modified_ns):
                yield Unchanged(entry.source)
            else:
                yield from read_file(entry, options)
        if progress is not None:
            progress(Progress(files, size, total_files, total_bytes))


def read_file(entry: FileEntry, options: ReadOptions = DEFAULT) -> Iterator[Document | Skipped | FileRead]:
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
        yield Skipped(entry.source, "nested too deeply")
    except MemoryError:
        yield Skipped(entry.source, "too large for the memory there is")
    except Exception as error:  # noqa: BLE001  # a loader of a plugin, or one that met a file nobody thought of
        yield Skipped(entry.source, f"{type(error).__name__}: {error}")
    else:
        yield FileRead(entry.source, entry.size, entry.modified_ns, count)


def _load_kind(reason: str) -> SkipKind:
    return "binary" if reason == "binary" else "empty" if reason == "empty" else "unreadable"
