"""Compares what a source lists with the table of files: what is new, changed, unchanged or gone."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from itertools import islice
from typing import Final, NamedTuple, Protocol

import numpy as np

from sleuth.files.formats import ROWS
from sleuth.ingest.loaders.file import is_built_in, kind_of
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reports import LIMITS, REFUSED, FileEntry, Skipped, Unchanged, has_exceeded, skips_of
from sleuth.ingest.roots import FileNames, is_address, is_below, is_gone, outermost
from sleuth.ingest.walking import bounded_time
from sleuth.store import KnownFile

WITH_OCR: Final = " ocr"
"""Ends the reading of files whose pages without text a program has read."""
_OF_ROWS: Final = ("text_fields", "metadata_fields", "id_field", "title_field", "max_row_bytes")
_TOGETHER: Final = 256
"""Files that are looked up together."""


class FileTable(Protocol):
    """The table of files: that of a snapshot, or of a version that is published."""

    def files(self, names: Sequence[str]) -> Mapping[str, KnownFile]:
        """Return what is known of these files, by name; absent where nothing is."""

    def file_names(self, root: str | None) -> Iterable[str]:
        """Return the names of the files at this name or below it; with "", all relative names; with None, all."""


def rows_below(table: FileTable, root: str | None) -> Iterator[KnownFile]:
    """Yield what is known of the files at a name or below it; of all with None."""
    names = iter(table.file_names(root))
    while page := list(islice(names, _TOGETHER)):
        yield from table.files(page).values()


class Diff:
    """The files of a run beside those of the table.

    A file that was read or is unchanged is remembered by the hash of its name, in 8 bytes. The hash is that of Python,
    which has another key in each process, so nobody can choose names with equal hashes.

    Attributes:
        rows: of files in the table that are to be read or skipped, until they are.
        roots: names below which what the run has not met is missing.
        skipped: names of what could not be read.
        vanished: names that a source says are gone.
    """

    def __init__(
        self, table: Callable[[], AbstractContextManager[FileTable]], roots: Iterable[str], names: FileNames
    ) -> None:
        """Compare with a table.

        Args:
            table: provides its newest version.
            roots: names of the files and folders that the run looks at.
        """
        self.table, self.names, self.roots = table, names, outermost(roots)
        self.rows: dict[str, KnownFile] = {}
        self.skipped: set[str] = set()
        self.vanished: list[str] = []
        self._read = array("Q")
        self._options, self._readings = DEFAULT, dict[str, str]()

    def read_with(self, options: ReadOptions) -> None:
        """Set the options of the files that follow."""
        self._options, self._readings = options, {}

    @property
    def limits(self) -> str:
        """The reading of a file that exceeded the limits of the options."""
        options = self._options
        limits = options.max_seconds, options.max_memory_bytes, options.max_unpacked_bytes, options.max_bytes
        return LIMITS + " ".join(map(str, limits))

    def reading_of(self, source: str) -> str:
        """Return the digest of the options that change the documents of a file."""
        options = self._options
        kind = kind_of(source, loaders=options.loaders)
        if kind not in self._readings:
            is_own = not is_built_in(kind, options.loaders)
            names = ("metadata", "language", "all", *(_OF_ROWS if is_own or kind in ROWS else ()))
            values = {
                name: value
                for name in names
                if (value := getattr(options, name)) and value != getattr(DEFAULT, name)
            }
            text = json.dumps(values, sort_keys=True, default=str)
            reading = blake2b(text.encode(), digest_size=8).hexdigest() if values else ""
            if is_own:  # a file is read again when its format gets a loader
                reading = f"{reading} {kind}".strip()
            elif kind == "pdf" and options.ocr:
                reading += WITH_OCR
            self._readings[kind] = reading
        return self._readings[kind]

    def compare(
        self, entries: Iterable[FileEntry | Skipped], together: int = _TOGETHER
    ) -> Iterator[FileEntry | Skipped | Unchanged]:
        """Yield what a source lists, in order; a file that is as the table knows it as `Unchanged`.

        Args:
            together: how many files are looked up together.
        """
        iterator = iter(entries)
        while page := list(islice(iterator, together)):
            with self.table() as table:
                rows = table.files([entry.source for entry in page])
            for entry in page:
                row = rows.get(entry.source)
                if (
                    row is not None
                    and isinstance(entry, FileEntry)
                    and ((row.size, row.version) == (entry.size, entry.etag) and self._is_settled(row))
                ):
                    yield Unchanged(row)
                    continue
                if row is not None:
                    self.rows[entry.source] = row
                yield entry

    def _is_settled(self, row: KnownFile) -> bool:
        """Return whether a file need not be read with the present options while it is the same."""
        if row.version is None:
            kinds = {one.kind for one in skips_of(row)}
            return not row.documents and bool(kinds) and kinds <= REFUSED
        if has_exceeded(row):
            return row.reading == self.limits
        reading = self.reading_of(row.name)
        return reading in (row.reading, row.reading.removesuffix(WITH_OCR))  # what a program recognised stays

    def known(self, name: str) -> FileEntry | None:
        """Return a file as the index has it; None of one that is to be read."""
        with self.table() as table:
            row = table.files([name]).get(name)
        is_same = row is not None and row.version is not None and self._is_settled(row)
        return FileEntry("", name, row.size, None, row.version or "") if row and is_same else None

    def cursor_of(self, root: str) -> str:
        """Return where the last listing of a source ended, if that was with these options and all of it was read."""
        with self.table() as table:
            cursor = table.files([root]).get(root)
            rows = rows_below(table, root)
            if cursor is None or cursor.reading != self._options.spelling:
                return ""
            is_settled = all(row.name == root or self._is_settled(row) for row in rows)
        return cursor.version or "" if is_settled else ""

    def mark(self, source: str) -> None:
        """Note that a file was read, or need not be."""
        self._read.append(_hash(source))

    def unread(self, names: Iterable[str]) -> Iterator[str]:
        """Yield those of these names that were not marked."""
        hashes = np.append(np.sort(np.asarray(self._read)), np.uint64(0))
        iterator = iter(names)
        while page := list(islice(iterator, _TOGETHER)):
            values = np.fromiter(map(_hash, page), np.uint64, len(page))
            is_read = hashes[np.searchsorted(hashes[:-1], values)] == values
            yield from (name for name, known in zip(page, is_read.tolist(), strict=True) if not known)

    def missing(self) -> Iterator[tuple[KnownFile, bool]]:
        """Yield what the run has not met of the table, and whether nothing has its name any more."""
        vanished = {name for name in self.vanished if not any(is_below(name, root) for root in self.roots)}
        with self.table() as table:
            for listed in (*map(table.file_names, self.roots), sorted(vanished)):
                names = (name for name in self.unread(listed) if name not in self.skipped)
                while page := list(islice(names, _TOGETHER)):
                    for row in table.files(page).values():
                        yield row, is_address(row.name) or is_gone(self.names.path_of(row.name))


class ChangedFiles(NamedTuple):
    """Files that are not as they were read: absolute paths, in order.

    Attributes:
        modified: another size or time than when they were read.
        missing: no longer there.
    """

    modified: list[str]
    missing: list[str]


def changed_files(table: FileTable, names: FileNames) -> ChangedFiles:
    """Compare the size and time of the files that documents came from with those of when they were read."""
    modified, missing = [], []
    for root in ("", "/"):
        for row in rows_below(table, root):
            if not row.documents or row.version is None:
                continue
            path = names.path_of(row.name)
            try:
                if not is_as_read(row, path):
                    modified.append(path)
            except FileNotFoundError:
                if is_gone(path):
                    missing.append(path)
            except OSError:
                continue  # cannot be seen now, as on a drive that is away
    return ChangedFiles(sorted(modified), sorted(missing))


def is_as_read(row: KnownFile, path: str | os.PathLike[str]) -> bool:
    """Return whether a file has the size and time with which it was read.

    Raises:
        OSError: it cannot be looked at.
    """
    status = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, over every file of an index
    return (status.st_size, str(bounded_time(status.st_mtime_ns))) == (row.size, row.version)


def _hash(source: str) -> int:
    return hash(source) & 0xFFFF_FFFF_FFFF_FFFF
