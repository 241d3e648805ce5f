"""Files in object storage as sources of a build: listed like a folder, and fetched one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sleuth.cluster.storage import SCHEMES, ObjectFacts, ObjectFolder, ObjectMissingError
from sleuth.errors import ArgumentError
from sleuth.files import Rules, bounded_time
from sleuth.ingest import FileEntry, Skipped

if TYPE_CHECKING:
    from sleuth.ingest import ReadOptions


def is_remote(path: str | Path) -> bool:
    """Return whether a path is an address in object storage, such as `s3://bucket/docs`.

    Raises:
        ArgumentError: an address of another kind.
    """
    scheme, separator, path_text = str(path).partition("://")
    if not separator:
        return False
    if scheme not in SCHEMES or scheme == "file" or not path_text.strip("/"):
        raise ArgumentError(
            "paths must be files and folders that all machines see, or s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or "
            f"az://CONTAINER/FOLDER, got {str(path)!r}"
        )
    return True


def walk_remote(root: str, options: ReadOptions) -> Iterator[FileEntry | Skipped]:
    """Yield the objects below an address, as the storage lists them; an address of one object yields it.

    `include`, `exclude`, `hidden` and `max_bytes` hold as for folders; there are no ignore files.

    Raises:
        StorageError: the storage cannot be reached, or has no such bucket.
    """
    include = Rules.of(options.include) if options.include else None
    exclude = Rules.of(options.exclude) if options.exclude else None
    for source, name, fact in _below(root):
        is_hidden = any(part.startswith(".") for part in PurePosixPath(name).parts)
        if name.endswith("/") or (is_hidden and not options.hidden):
            continue
        if (include and not include.chooses(name)) or (exclude and exclude.chooses(name)):
            continue
        if fact.size > options.max_bytes:
            reason = f"{fact.size:,} bytes, over the limit of {options.max_bytes:,}"
            yield Skipped(source, reason, "oversized")
            continue
        modified_ns = bounded_time(int(fact.modified.timestamp()) * 1_000_000_000)
        yield FileEntry(source, source, fact.size, modified_ns, fact.etag)


def _below(root: str) -> Iterator[tuple[str, str, ObjectFacts]]:
    """Yield the address, the name below the root, and what a listing says of each object."""
    is_empty = True
    for name, facts in ObjectFolder(root).list(""):
        is_empty = False
        yield f"{root}/{name}", name, facts
    parent, _, leaf = root.rpartition("/")
    if is_empty and "://" in parent and not parent.endswith("/"):
        with suppress(ObjectMissingError):
            yield root, leaf, ObjectFolder(parent).head(leaf)


@contextmanager
def fetched(entry: FileEntry) -> Iterator[FileEntry]:
    """Fetch an object into a temporary file for the length of a block, piece by piece, unless it has changed since.

    Raises:
        ObjectMissingError: it is gone, or has another ETag now.
        StorageError: the storage cannot be reached.
    """
    folder, _, name = entry.source.rpartition("/")
    with TemporaryDirectory(prefix="sleuth-object-") as scratch:
        path = Path(scratch) / f"object{PurePosixPath(name).suffix}"
        ObjectFolder(folder).download(name, path, entry.etag)
        yield replace(entry, file=str(path))
