"""Changes documents that are in the index without reading them again: their metadata, and names of moved folders."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from sleuth.arguments import check_kind
from sleuth.errors import ArgumentError
from sleuth.ingest.diff import rows_below
from sleuth.ingest.documents import COMMIT_BYTES
from sleuth.ingest.reports import GoneRoot, MoveReport, skips_of, to_json
from sleuth.ingest.roots import is_below
from sleuth.ingest.run import UNREAD, file_of, is_file
from sleuth.store import DocumentBatch, FileFacts
from sleuth.store.record.metadata import as_json, check_metadata
from sleuth.types import RESERVED

if TYPE_CHECKING:
    from sleuth.store import IndexSnapshot, KnownFile, Writer
    from sleuth.store.store import Store
    from sleuth.types import StoredDocument

_SAMPLE: Final = 100
"""Files that are compared by content to recognise a folder."""


def gone_roots(snapshot: IndexSnapshot, away: Sequence[str], read: Iterable[str]) -> list[GoneRoot]:
    """Return the roots that are gone, with the folder that each has become.

    Args:
        away: names of roots that are gone.
        read: names of files and folders that were just indexed, where the folders are searched.
    """
    lost = {
        name: rows for name in away if (rows := [row for row in rows_below(snapshot, name) if row.documents])
    }
    if not lost:
        return []
    by_name: dict[str, list[KnownFile]] = defaultdict(list)
    for row in (row for name in read for row in rows_below(snapshot, name)):
        if not any(is_below(row.name, name) for name in away):
            by_name[PurePath(row.name).name].append(row)
    roots = []
    for name, rows in lost.items():
        # Files are looked for by name, size and text.
        compared = list(islice((row for row in rows if row.name.startswith(f"{name}/")), _SAMPLE))
        folders: Counter[str] = Counter()
        for row in compared:
            inside = row.name[len(name) :]
            folders.update(
                candidate.name.removesuffix(inside)
                for candidate in by_name.get(PurePath(row.name).name, ())
                if candidate.name.endswith(inside)
                and candidate.size == row.size
                and _texts(snapshot, candidate.name) == _texts(snapshot, row.name)
            )
        root = GoneRoot(name, sum(row.documents for row in rows))
        for folder, equal in folders.most_common(1):
            if 2 * equal >= len(compared):
                root = replace(root, moved_to=folder, equal=equal / len(compared))
        roots.append(root)
    return roots


def _texts(snapshot: IndexSnapshot, id: str) -> list[str]:
    return [chunk.text for chunk in snapshot.chunk_values(id)]


def move_documents(store: Store, old: str, new: str, *, timeout: float = 10.0) -> MoveReport:
    """Give the documents below one name another; nothing is read or embedded again.

    A document whose new name the index holds already is deleted: the file of that name was read later. If both have the
    same text, the one that stays gets the metadata of the other.
    """
    count = replaced = 0
    with store.writer(timeout=timeout) as writer, store.reader() as snapshot:
        for document in snapshot.documents(under=old or None):
            if not (is_file(document) and is_below(file_of(document), old)):
                continue
            source = _renamed(document.source, old, new)
            id = source if document.id == document.source else document.id
            heir = snapshot.document(id) if id != document.id else None
            if heir is not None:
                replaced += 1
                if _texts(snapshot, heir.id) == _texts(snapshot, document.id):
                    kept_metadata = {
                        key: value for key, value in document.metadata.items() if key not in RESERVED
                    }
                    metadata = {**heir.metadata, **kept_metadata}
                    if metadata != heir.metadata:
                        rewrite(snapshot, writer, heir, metadata)
            else:
                count += 1
                path = _renamed(file_of(document), old, new)
                rewrite(
                    snapshot, writer, document, {**document.metadata, "source": source, "path": path}, id=id
                )
            if id != document.id:
                writer.delete([document.id])
            if writer.pending_bytes >= COMMIT_BYTES:
                writer.commit()
        rows = list(rows_below(snapshot, old))
        for row in rows:
            writer.note_file(row.name, **(UNREAD | FileFacts(options=None)))
        for row in rows:
            name = _renamed(row.name, old, new)
            heir_row = snapshot.files([name]).get(name, row)
            skips = [replace(skip, path=name + skip.path.removeprefix(row.name)) for skip in skips_of(row)]
            moved = heir_row._replace(reading=row.reading, options=row.options, skips=to_json(skips))
            writer.note_file(name, **moved.facts)
    return MoveReport(count, replaced)


def _renamed(name: str, old: str, new: str) -> str:
    renamed = f"{new}{name[len(old) :]}" if old else f"{new}/{name}"
    return renamed if new.startswith("/") else renamed.strip("/")


def check_changes(changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return changes with values as the index keeps them; refuse those that cannot be made.

    Raises:
        ArgumentError: names the key, and why.
    """
    check_kind(changes, Mapping, "changes", "a mapping of metadata keys to values")
    changes = check_metadata(changes)
    if reserved := RESERVED.intersection(changes):
        raise ArgumentError(
            f"changes must be none of the keys that the engine writes itself ({', '.join(sorted(RESERVED))}), "
            f"got {', '.join(sorted(reserved))}"
        )
    check_kind(changes.get("title"), str | None, "changes['title']", "a string or None")
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
    json = as_json(metadata, "changes")
    content = f"{document.content_hash} {json and json.text}"
    plain_metadata = {name: value for name, value in metadata.items() if name not in ("source", "title")}
    source, title = metadata["source"], metadata.get("title", "")
    batch = DocumentBatch()
    batch.add(
        id,
        blake2b(content.encode(), digest_size=16).hexdigest(),
        snapshot.chunk_values(document.id),
        metadata=plain_metadata,
        source=None if source == id else source,
        title=title,
    )
    writer.put_batch(batch)
