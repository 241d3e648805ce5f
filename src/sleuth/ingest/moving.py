"""Recognises folders that were renamed, and gives their documents the new names without reading them again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from sleuth.ingest.documents import COMMIT_BYTES
from sleuth.ingest.known import EXCESS_NOTE, READ_NOTE, file_of, is_file
from sleuth.ingest.names import is_below
from sleuth.ingest.reports import GoneRoot, MoveReport
from sleuth.ingest.roots import ROOT_NOTE, Root
from sleuth.ingest.skips import SKIPS_NOTE, note_of_skips, skips_in
from sleuth.ingest.updates import rewrite
from sleuth.types import RESERVED

if TYPE_CHECKING:
    from sleuth.store import IndexSnapshot, Writer
    from sleuth.store.store import Store
    from sleuth.types import StoredDocument

_SAMPLE: Final = 100
"""Documents that are compared by content to recognise a folder."""
_NOTES: Final = (READ_NOTE, EXCESS_NOTE, ROOT_NOTE)


def gone_roots(snapshot: IndexSnapshot, roots: Iterable[Root], read: Sequence[str]) -> list[GoneRoot]:
    """Return the roots that are gone, with the folder that each has become.

    Args:
        roots: those that the index remembers.
        read: names of documents that were just indexed, where the folders are searched.
    """
    missing = []
    roots = list(roots)
    away = [root.name for root in roots if root.is_gone]
    for root in roots:
        documents = _files_below(snapshot, root.name) if root.is_gone else []
        if documents:
            candidates = [_match(snapshot, root.name, documents, name, away) for name in read]
            best = max(candidates, key=lambda each: each.equal, default=GoneRoot(root.name, len(documents)))
            missing.append(best if best.equal >= 0.5 else GoneRoot(root.name, len(documents)))
    return missing


def _files_below(snapshot: IndexSnapshot, root: str) -> list[StoredDocument]:
    documents = snapshot.documents(under=root or None)
    return [document for document in documents if is_file(document) and is_below(file_of(document), root)]


def _match(
    snapshot: IndexSnapshot, old: str, documents: Sequence[StoredDocument], new: str, away: Sequence[str]
) -> GoneRoot:
    """Look for documents of a folder that is gone among those of a root, by name of the file and by text.

    Args:
        away: names of missing roots: the folder was not renamed to one of them.
    """
    by_name: dict[str, list[StoredDocument]] = defaultdict(list)
    for document in _files_below(snapshot, new):
        if any(is_below(document.source, name) for name in away):
            continue
        by_name[PurePath(document.source).name].append(document)
    compared = list(islice((one for one in documents if one.source.startswith(f"{old}/")), _SAMPLE))
    folders: Counter[str] = Counter()
    for document in compared:
        inside = document.source[len(old) :]
        texts = _texts(snapshot, document)
        for candidate in by_name.get(PurePath(document.source).name, ()):
            if candidate.source.endswith(inside) and _texts(snapshot, candidate) == texts:
                folders[candidate.source.removesuffix(inside)] += 1
    if not folders:
        return GoneRoot(old, len(documents))
    folder, equal = folders.most_common(1)[0]
    return GoneRoot(old, len(documents), folder, equal / len(compared))


def _texts(snapshot: IndexSnapshot, document: StoredDocument) -> list[str]:
    return [chunk.text for chunk in snapshot.chunk_values(document.id)]


def move_documents(store: Store, old: str, new: str, *, timeout: float = 10.0) -> MoveReport:
    """Give the documents below one name another; nothing is read or embedded again.

    A document whose new name the index holds already is deleted: the file of that name was read later. If both have the
    same text, the one that stays gets the metadata of the other.
    """
    count = replaced = 0
    with store.writer(timeout=timeout) as writer, store.reader() as snapshot:
        for document in _files_below(snapshot, old):
            source = _renamed(document.source, old, new)
            id = source if document.id == document.source else document.id
            heir = snapshot.document(id) if id != document.id else None
            if heir is not None:
                replaced += 1
                _inherit(snapshot, writer, heir, document)
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
        for note, value in snapshot.notes().items():
            for kind in _NOTES:
                name = note.removeprefix(kind)
                if name != note and is_below(name, old):
                    writer.note(note, "")
                    writer.note(f"{kind}{_renamed(name, old, new)}", value)
        skips = skips_in(snapshot.notes())
        moved = [
            replace(skip, path=_renamed(skip.path, old, new)) if is_below(skip.path, old) else skip
            for skip in skips
        ]
        if moved != skips:
            writer.note(SKIPS_NOTE, note_of_skips(moved))
    return MoveReport(count, replaced)


def _inherit(snapshot: IndexSnapshot, writer: Writer, heir: StoredDocument, old: StoredDocument) -> None:
    """Give a document the metadata of another one with the same text, except what its file determines."""
    if _texts(snapshot, heir) != _texts(snapshot, old):
        return
    kept_metadata = {key: value for key, value in old.metadata.items() if key not in RESERVED}
    metadata = {**heir.metadata, **kept_metadata}
    if metadata != heir.metadata:
        rewrite(snapshot, writer, heir, metadata)


def _renamed(name: str, old: str, new: str) -> str:
    inner_name = name[len(old) :].removeprefix("/") if old else name
    return f"{new}/{inner_name}".strip("/") if not new.startswith("/") else f"{new}/{inner_name}".rstrip("/")
