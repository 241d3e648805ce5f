"""The store of a view: the documents of its scope alone, by the ids of its own space, and changes that stay in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from heapq import merge
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any, Final, Unpack, cast
from urllib.parse import quote

from sleuth.errors import ArgumentError
from sleuth.filters import And, Filter, Not, Or, all_of, any_of, to_text
from sleuth.filters.match import lies_within
from sleuth.store import rows_of

if TYPE_CHECKING:
    from sleuth.engine.narrowing import Scope
    from sleuth.store import DocumentBatch, FileFacts, IndexSnapshot, Known, Writer
    from sleuth.store.record.values import Row
    from sleuth.store.store import Store
    from sleuth.types import Chunk, RetrievedItem, StoredDocument


_LONGEST: Final = 100
"""Characters of a filter that prefixes hold as it is."""


def prefix_of(scope: Filter) -> str:
    """Return what begins the ids of documents that views of a scope add: equal for filters that say the same.

    It ends with the first slash and holds the filter, or its hash where that is long, so that no two scopes share one.
    """
    text = quote(to_text(_ordered(scope)), safe=':=<>!*,[]()"- ')
    return f"@{text if len(text) <= _LONGEST else blake2b(text.encode(), digest_size=20).hexdigest()}/"


def _ordered(filter: Filter) -> Filter:
    """Return an equal filter whose parts are in order, each once."""
    if isinstance(filter, Not):
        return Not(_ordered(filter.part))
    if not isinstance(filter, And | Or):
        return filter
    kind, parts = type(filter), dict[str, Filter]()
    for part in map(_ordered, filter.parts):
        parts |= {to_text(one): one for one in (part.parts if isinstance(part, kind) else (part,))}
    ordered = [parts[text] for text in sorted(parts)]
    return any_of(*ordered) if kind is Or else cast("Filter", all_of(*ordered))


class ScopedStore:
    """A store of which only the documents in a scope are there.

    A document that is added through it is named in the space of the scope: its id begins with a prefix that views of
    this scope do not show. So two scopes can have a document of the same id, and neither tells whether the other has.
    Documents that were added without the scope keep their ids; where there are two of one id, it names the own one.

    Attributes:
        whole: the store of all.
    """

    def __init__(
        self, whole: Store, scope: Scope, narrow: Callable[[IndexSnapshot, Filter], IndexSnapshot]
    ) -> None:
        """Scope the store of an index.

        Args:
            narrow: returns a snapshot as a filter narrows it.
        """
        self.whole = whole
        self._scope, self._narrow, self._prefix = scope, narrow, prefix_of(scope.filter)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    @contextmanager
    def reader(self) -> Iterator[IndexSnapshot]:
        """Yield the newest committed version of the scope."""
        with self.whole.reader() as snapshot:
            narrow = self._narrow(snapshot, self._scope.filter)
            yield cast("IndexSnapshot", NamedSnapshot(narrow, self._prefix))

    @contextmanager
    def writer(self, *, timeout: float = 10.0) -> Iterator[Writer]:
        """Become the one writer of the index, whose changes lie in the scope."""
        with self.whole.writer(timeout=timeout) as writer:
            yield cast("Writer", ScopedWriter(writer, self.whole.reader, self._scope, self._prefix))


class NamedSnapshot:
    """A snapshot whose documents of one space are named without the prefix of their ids."""

    def __init__(self, snapshot: IndexSnapshot, prefix: str) -> None:
        self._snapshot, self._prefix = snapshot, prefix

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)

    def _record_id(self, id: str) -> str:
        """Return the id under which the record has a document: that of the own one, if there is one."""
        own_id = f"{self._prefix}{id}"
        return id if self._snapshot.document(own_id) is None else own_id

    def _shown(self, document: StoredDocument) -> StoredDocument:
        return document._replace(id=document.id.removeprefix(self._prefix))

    def document(self, document_id: str) -> StoredDocument | None:
        """Return a document without its text; None for an unknown id."""
        document = self._snapshot.document(self._record_id(document_id))
        return document and self._shown(document)

    def documents(self, under: str | None = None) -> Iterator[StoredDocument]:
        """Documents by key; see `IndexSnapshot.documents`."""
        return map(self._shown, self._snapshot.documents(under))

    def documents_at(self, keys: Iterable[int]) -> list[StoredDocument]:
        """Return the documents with these keys, in this order."""
        return list(map(self._shown, self._snapshot.documents_at(keys)))

    def by_id(self, after: str = "") -> Iterator[tuple[int, str]]:
        """Keys and ids of documents whose id comes after this one, in order of id."""
        prefix, by_id = self._prefix, self._snapshot.by_id
        own_entries = takewhile(lambda entry: _id_of(entry).startswith(prefix), by_id(f"{prefix}{after}"))
        head = takewhile(lambda entry: _id_of(entry) < prefix, by_id(after))
        tail = by_id(max(after, f"{prefix}\U0010ffff"))
        other_entries = (entry for entry in chain(head, tail) if not _id_of(entry).startswith(prefix))
        return merge(((key, id.removeprefix(prefix)) for key, id in own_entries), other_entries, key=_id_of)

    def key_of(self, chunk_id: str) -> int | None:
        """Return the key of the chunk `document_id#n`; None for an unknown id."""
        document_id, mark, n = chunk_id.rpartition("#")
        return self._snapshot.key_of(f"{self._record_id(document_id)}{mark}{n}")

    def chunks_of(self, document_id: str) -> list[Row]:
        """Return all chunks of a document, in order; empty where there is no such document."""
        return self._rows(self._snapshot.chunks_of(self._record_id(document_id)))

    def chunk_values(self, document_id: str) -> list[Chunk]:
        """Return the chunks of a document as they were put."""
        return self._snapshot.chunk_values(self._record_id(document_id))

    def rows(self, keys: Iterable[int]) -> list[Row]:
        """Return the chunks with these keys, in this order."""
        return self._rows(self._snapshot.rows(keys))

    def neighbours(self, key: int, before: int, after: int) -> list[Row]:
        """Return the chunk and those around it."""
        return self._rows(self._snapshot.neighbours(key, before, after))

    def _rows(self, rows: Iterable[Row]) -> list[Row]:
        """Return rows with the ids that are shown; that of the document stays, which other calls take as well."""
        return [row._replace(id=row.id.removeprefix(self._prefix)) for row in rows]

    def items(self, keys: list[int], scores: list[float]) -> list[RetrievedItem]:
        """Return the chunks as hits with these scores."""
        items = self._snapshot.items(keys, scores)
        for item in items:
            item.id = item.id.removeprefix(self._prefix)
        return items


def _id_of(entry: tuple[int, str]) -> str:
    _, document_id = entry
    return document_id


@dataclass(frozen=True)
class ScopedWriter:
    """A writer whose documents lie in a scope, before and after each change, and are named in its space."""

    _writer: Writer
    _reader: Callable[[], AbstractContextManager[IndexSnapshot]]  # of the whole index
    _scope: Scope
    _prefix: str

    def _record_ids(self, ids: Sequence[str]) -> dict[str, str]:
        """Return ids in the record, by the id that a view gives: its own ones, unless it sees others of these ids."""
        names = {id: f"{self._prefix}{id}" for id in ids}
        facts, own_facts = self._writer.known(ids), self._writer.known(list(names.values()))
        # An id with the prefix would be a second name of an own document.
        open_ids = [id for id in facts if names[id] not in own_facts and not id.startswith(self._prefix)]
        with self._reader() as snapshot:
            for id in open_ids:
                document = snapshot.document(id)
                if document is not None and self._scope.sees(snapshot, document):
                    names[id] = id
        return names

    def _check_held(self, ids: Mapping[str, str]) -> None:
        """Refuse to change documents that do not lie in the scope as a whole.

        Args:
            ids: in the record, by the id that is shown.

        Raises:
            ArgumentError: names the first one.
        """
        with self._reader() as snapshot:
            for id, name in ids.items():
                document = snapshot.document(name)
                if document is not None and not self._scope.holds(snapshot, document):
                    raise _outside(id)

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Return what is stored of these documents, by id; absent where unknown."""
        names = self._record_ids(list(ids))
        facts = self._writer.known(list(names.values()))
        return {id: facts[name] for id, name in names.items() if name in facts}

    def put_batch(self, batch: DocumentBatch) -> int:
        """Add or replace the documents of a batch; how many changed.

        Raises:
            ArgumentError: one does not lie in the scope, or would replace one that does not; names it.
        """
        for row, id in enumerate(batch.ids):
            fields, title = batch.metadata.at(row), batch.titles.at(row)
            values = {"source": batch.sources.at(row) or id, **({"title": title} if title else {})}
            if not lies_within(self._scope.filter, {**values, **(fields.values if fields else {})}):
                raise _outside(id)
        if not self._scope.is_of_documents:
            rows = rows_of(batch, batch.keys(1)).metadata
            for metadata, row in zip(rows, batch.owners().tolist(), strict=True):
                if not lies_within(self._scope.filter, metadata):
                    raise _outside(batch.ids[row])
        names = self._record_ids(batch.ids)
        self._check_held(names)
        sources = zip(batch.ids, batch.sources.filled(len(batch)), strict=True)
        batch.sources[:] = [source or (None if names[id] == id else id) for id, source in sources]
        batch.ids = [names[id] for id in batch.ids]
        return self._writer.put_batch(batch)

    def delete(self, document_ids: Iterable[str]) -> list[str]:
        """Remove documents with their text; the ids that were there, in the order given.

        Raises:
            ArgumentError: one does not lie in the scope as a whole; names it.
        """
        names = self._record_ids(list(dict.fromkeys(document_ids)))
        with self._reader() as snapshot:
            for id, name in list(names.items()):
                document = snapshot.document(name)
                if document is not None and not self._scope.sees(snapshot, document):
                    del names[id]
        self._check_held(names)
        deleted_names = set(self._writer.delete(names.values()))
        return [id for id, name in names.items() if name in deleted_names]

    def note_file(self, name: str, **facts: Unpack[FileFacts]) -> None:
        """Note facts of a file; see `Writer.note_file`."""
        self._writer.note_file(name, **facts)

    @property
    def pending_bytes(self) -> int:
        """Characters of text put since the last commit."""
        return self._writer.pending_bytes

    def commit(self) -> int:
        """Make everything so far durable and visible; the new version."""
        return self._writer.commit()


def _outside(id: str) -> ArgumentError:
    return ArgumentError(
        "documents must match the scope of this engine with each passage and each value of a list, before and after "
        f"the change, got {id!r}"
    )
