"""Reads single files as an index run does."""

from pathlib import Path
from typing import Any

from sleuth.ingest import ReadOptions, Skipped, read
from sleuth.ingest.reports import FileRead
from sleuth.types import Document


def load(path: Path, content: bytes | str | None = None, **options: Any) -> list[Document | Skipped]:
    """Return what reading a file yields; with content, it is written first."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    records = read([path], options=ReadOptions(**options))
    return [record for record in records if isinstance(record, Document | Skipped)]


def documents(path: Path, content: bytes | str | None = None, **options: Any) -> list[Document]:
    """Return the documents of a file of which nothing is skipped."""
    records = load(path, content, **options)
    documents = [record for record in records if isinstance(record, Document)]
    assert len(documents) == len(records), records
    return documents


def only(path: Path, content: bytes | str | None = None, **options: Any) -> Document:
    """Return the only document of a file."""
    (document,) = documents(path, content, **options)
    return document


def reason(path: Path, content: bytes | str | None = None, **options: Any) -> str:
    """Return why a file has no document."""
    (record,) = load(path, content, **options)
    assert isinstance(record, Skipped), record
    assert record.path == str(path)
    return record.reason


def texts(records: list[Document | Skipped]) -> dict[str, str]:
    """Return texts, or reasons, by the part of the source after its first #."""
    return {
        (one.metadata["source"] if isinstance(one, Document) else one.path).partition("#")[2]: (
            one.page_content if isinstance(one, Document) else f"! {one.reason}"
        )
        for one in records
    }


def skips_beside(folder: Path, name: str, bomb: bytes, sound: bytes, options: ReadOptions) -> list[Skipped]:
    """Return what is said of a costly file; the sound one after it, which holds "word", is read in any case."""
    (folder / name).write_bytes(bomb)
    (folder / f"z.{name.rpartition('.')[2]}").write_bytes(sound)
    records = list(read([folder], options=options))
    skips = [record for record in records if isinstance(record, Skipped)]
    if skips:
        assert [Path(record.path).name for record in skips] == [name]
        assert skips[0].kind in ("limits", "invalid")
        assert skips[0].reason
    assert "word" in next(r for r in reversed(records) if isinstance(r, Document)).page_content
    assert isinstance(records[-1], FileRead)
    return skips
