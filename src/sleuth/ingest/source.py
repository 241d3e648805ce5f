"""Sources of files: what each lists and reads. Folders are one, plugins have others, and one loop serves all."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from sleuth.errors import ArgumentError
from sleuth.extensions import extension, extensions
from sleuth.files import Rules
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import FileEntry, Skipped


@runtime_checkable
class Source(Protocol):
    """Where files come from: folders, a mailbox, a bucket, the rows of a query, a site.

    A run compares the files that a source lists with the table of files, asks it for those that are new or changed, and
    deletes the documents of those that are gone. It uses a source from one thread. Subclasses write `name` and `list`,
    `read` where entries do not carry their content, and more where the source can do more.

    Attributes:
        name: its address without secrets, such as "imaps://anna@example.org/INBOX"; the names of its files are this and
            `/` and more.
        batch: of so many listed files, the first is read before further ones are listed.
        lists_all: whether what `list` leaves out is gone. Other sources list what is gone as `Skipped`, "vanished".
        cursor: after a listing, what `since` goes on from; "" where it cannot.
    """

    name: str
    batch: int = 256
    lists_all: bool = True
    cursor: str = ""

    def list(self, known: Callable[[str], FileEntry | None]) -> Iterator[FileEntry | Skipped]:
        """Yield all files, always in the same order, each with a version that changes when the file does.

        Args:
            known: returns a file as the index has it, by name; None for one to read. To say that it has not changed, a
                source may yield what it returns.

        Raises:
            SleuthError: the source cannot be listed; what the run has committed stays, and nothing counts as gone.
        """
        ...

    def read(self, entry: FileEntry, path: Path) -> None:
        """Write the content of a listed file to a path.

        Raises:
            FileNotFoundError: it is gone or another one since it was listed.
            LoadError: it alone cannot be read.
            SleuthError: the source does not answer; the next run goes on where this one ends.
        """
        if entry.content is None:
            raise FileNotFoundError(entry.source)
        path.write_bytes(entry.content)

    def since(self, cursor: str) -> Iterable[FileEntry | Skipped] | None:
        """Return the files that are new or changed since a listing, if nothing is gone; None where it cannot tell."""
        return None

    def count(self) -> int | None:
        """Return how many files it lists, for progress; None where that takes as long as to list them."""
        return None

    def close(self) -> None:
        """Close connections."""
        return


def open_source(address: str) -> Source:
    """Return the source at an address; it is asked for nothing yet.

    Raises:
        ArgumentError: nothing opens such an address, or it is wrong.
    """
    scheme, _, _ = address.partition(":")
    found = extension("sources", scheme)
    if found is None:
        mend = (
            f"`sleuth web crawl {shlex.quote(address)}` reads a site" if scheme in ("http", "https") else ""
        )
        mend = (
            mend or f"of files and folders, or addresses that begin with {', '.join(extensions('sources'))}"
        )
        raise ArgumentError(
            f"paths must be of this machine or of a source that is installed, got {address!r}: {mend}"
        )
    source: Source = found.load()(address)
    return source


def chosen(
    entries: Iterable[FileEntry | Skipped], source: Source, options: ReadOptions
) -> Iterator[FileEntry | Skipped]:
    """Yield the files of a source that the options let through, by their names below its own.

    `include`, `exclude`, `hidden` and `max_bytes` hold as for folders; there are no ignore files.
    """
    include = Rules.of(options.include) if options.include else None
    exclude = Rules.of(options.exclude) if options.exclude else None
    for entry in entries:
        name = entry.source.removeprefix(source.name).strip("/") or entry.source.rpartition("/")[2]
        if any(part.startswith(".") for part in name.split("/")) and not options.hidden:
            continue
        if (include and not include.chooses(name)) or (exclude and exclude.chooses(name)):
            continue
        if isinstance(entry, FileEntry) and entry.size > options.max_bytes:
            reason = f"{entry.size:,} bytes, over the limit of {options.max_bytes:,}"
            yield Skipped(entry.source, reason, "oversized")
        elif isinstance(entry, FileEntry) and not entry.etag:
            yield replace(entry, etag=str(entry.modified_ns))
        else:
            yield entry
