"""Files into documents, documents and folders into the index."""

from sleuth.ingest.hashing import content_hash
from sleuth.ingest.loaders import register_loader
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reading import read
from sleuth.ingest.reports import FileEntry, FileRead, Progress, Skipped, Unchanged
from sleuth.ingest.walk import walk

__all__ = [
    "FileEntry",
    "FileRead",
    "Progress",
    "ReadOptions",
    "Skipped",
    "Unchanged",
    "content_hash",
    "read",
    "register_loader",
    "walk",
]
