"""Reads single files as an index run does."""

from pathlib import Path
from typing import Any

from sleuth.ingest import ReadOptions, Skipped, read
from sleuth.types import Document


def load(path: Path, content: bytes | str | None = None, **options: Any) -> list[Document | Skipped]:
    """Return what reading a file yields; with content, it is written first."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    records = read([path], options=ReadOptions(**options))
    return [record for record in records if isinstance(record, Document | Skipped)]


def only(path: Path, content: bytes | str | None = None, **options: Any) -> Document:
    """Return the only document of a file."""
    (document,) = load(path, content, **options)
    assert isinstance(document, Document), document
    return document


def reason(path: Path, content: bytes | str | None = None, **options: Any) -> str:
    """Return why a file has no document."""
    (record,) = load(path, content, **options)
    assert isinstance(record, Skipped), record
    assert record.path == str(path)
    return record.reason
