"""Which files are there, and which documents are in them?"""

from sleuth.ingest.hashing import content_hash
from sleuth.ingest.loaders import register_loader
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.pipeline import read
from sleuth.ingest.records import FileEntry, FileRead, Progress, Skipped, Unchanged
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
