"""Objects in cloud storage, as below `s3://BUCKET/FOLDER`: listed like a folder, fetched one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from sleuth.cluster.storage import ObjectFacts, ObjectFolder, ObjectMissingError
from sleuth.errors import ArgumentError
from sleuth.ingest import FileEntry, Source, bounded_time


class ObjectSource(Source):
    """The objects below an address, or the one object there, each with the version that the storage calls ETag."""

    def __init__(self, address: str) -> None:
        """Take an address; the storage is not asked.

        Raises:
            ArgumentError: it names no bucket.
        """
        scheme, _, path = address.partition("://")
        self.name = address.rstrip("/")
        if not path.strip("/"):
            raise ArgumentError(f"paths must be as {scheme}://BUCKET/FOLDER, got {address!r}")

    def list(self, known: Callable[[str], FileEntry | None]) -> Iterator[FileEntry]:
        """Yield the objects in the order of the storage."""
        is_empty = True
        for name, facts in ObjectFolder(self.name).list(""):
            is_empty = False
            if not name.endswith("/"):
                yield self._entry(f"{self.name}/{name}", facts)
        parent, _, leaf = self.name.rpartition("/")
        if is_empty and "://" in parent and not parent.endswith("/"):
            with suppress(ObjectMissingError):
                yield self._entry(self.name, ObjectFolder(parent).head(leaf))

    def read(self, entry: FileEntry, path: Path) -> None:
        """Fetch an object piece by piece, unless it has changed since it was listed."""
        folder, _, name = entry.source.rpartition("/")
        try:
            ObjectFolder(folder).download(name, path, entry.etag)
        except ObjectMissingError:
            raise FileNotFoundError(entry.source) from None

    def _entry(self, name: str, facts: ObjectFacts) -> FileEntry:
        modified_ns = bounded_time(int(facts.modified.timestamp()) * 1_000_000_000)
        return FileEntry("", name, facts.size, modified_ns, facts.etag)
