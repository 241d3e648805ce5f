"""Puts many documents of one chunk each, as adding documents to an engine does."""

from collections.abc import Sequence
from typing import Any

from sleuth.store import DocumentBatch, Writer


def put_passages(
    writer: Writer, ids: Sequence[str], texts: Sequence[str], hashes: Sequence[str], **columns: Sequence[Any]
) -> int:
    """Add or replace documents whose one chunk is a text, and return how many changed; of equal ids the last stands."""
    rows = list(dict(zip(ids, range(len(ids)), strict=True)).values())
    distinct = {name: [column[row] for row in rows] for name, column in columns.items()}
    batch = DocumentBatch()
    batch.add_passages(
        [ids[row] for row in rows], [hashes[row] for row in rows], [texts[row] for row in rows], **distinct
    )
    return writer.put_batch(batch)
