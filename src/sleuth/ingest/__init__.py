"""Files into documents, documents and folders into the index."""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
    from sleuth.ingest.hashing import content_hash as content_hash
    from sleuth.ingest.loaders import register_loader as register_loader
    from sleuth.ingest.options import ReadOptions as ReadOptions
    from sleuth.ingest.reading import read as read
    from sleuth.ingest.reports import FileEntry as FileEntry
    from sleuth.ingest.reports import FileRead as FileRead
    from sleuth.ingest.reports import Progress as Progress
    from sleuth.ingest.reports import Skipped as Skipped
    from sleuth.ingest.reports import Unchanged as Unchanged
    from sleuth.ingest.walking import walk as walk

_HOMES = {
    "FileEntry": "sleuth.ingest.reports",
    "FileRead": "sleuth.ingest.reports",
    "Progress": "sleuth.ingest.reports",
    "ReadOptions": "sleuth.ingest.options",
    "Skipped": "sleuth.ingest.reports",
    "Unchanged": "sleuth.ingest.reports",
    "content_hash": "sleuth.ingest.hashing",
    "read": "sleuth.ingest.reading",
    "register_loader": "sleuth.ingest.loaders",
    "walk": "sleuth.ingest.walking",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
