"""Changes the metadata of documents that are in the index, without reading their text again."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sleuth.errors import ArgumentError
from sleuth.ingest.validate import check_metadata
from sleuth.store.record.layout import to_json
from sleuth.types import RESERVED

if TYPE_CHECKING:
    from sleuth.store import IndexSnapshot, Writer
    from sleuth.types import StoredDocument


def check_changes(changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return changes with values as the index keeps them; refuse those that cannot be made.

    Raises:
        ArgumentError: names the key, and why.
    """
    if not isinstance(changes, Mapping):
        raise ArgumentError(f"changes must be a mapping of metadata keys to values, got {changes!r}")
    changes = check_metadata(changes)
    if reserved := RESERVED.intersection(changes):
        raise ArgumentError(
            f"changes must be none of the keys that the engine writes itself ({', '.join(sorted(RESERVED))}), "
            f"got {', '.join(sorted(reserved))}"
        )
    if not isinstance(changes.get("title"), str | None):
        raise ArgumentError(f"changes['title'] must be a string or None, got {changes['title']!r}")
    return changes


def updated(snapshot: IndexSnapshot, writer: Writer, id: str, changes: Mapping[str, Any]) -> bool:
    """Write a document with changed metadata; whether it was there and something changed."""
    document = snapshot.document(id)
    if document is None:
        return False
    metadata = {**document.metadata, **changes}
    metadata = {key: value for key, value in metadata.items() if value is not None or key not in changes}
    if metadata == document.metadata:
        return False
    rewrite(snapshot, writer, document, metadata)
    return True


def rewrite(
    snapshot: IndexSnapshot,
    writer: Writer,
    document: StoredDocument,
    metadata: Mapping[str, Any],
    *,
    id: str | None = None,
) -> None:
    """Write a document with other metadata, its text unchanged.

    The document counts as changed when it is added again: its new content hash is made of the old one and of the
    new metadata.

    Args:
        metadata: all of it.
        id: the new one; None to keep it.
    """
    id = document.id if id is None else id
    content = f"{document.content_hash} {to_json(metadata, 'changes')}"
    plain_metadata = {name: value for name, value in metadata.items() if name not in ("source", "title")}
    source, title = metadata["source"], metadata.get("title", "")
    writer.put(
        id,
        blake2b(content.encode(), digest_size=16).hexdigest(),
        snapshot.chunk_values(document.id),
        metadata=plain_metadata,
        source=None if source == id else source,
        title=title,
    )
