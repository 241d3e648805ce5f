"""What does one version of the index hold?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sleuth.errors import IndexDamagedError
from sleuth.store.batch import merge_metadata
from sleuth.store.legs import Rows, SegmentView
from sleuth.store.manifest import Loaded, occupied
from sleuth.store.record import Connection, check_text, from_json, select_in
from sleuth.store.scan import rows_between
from sleuth.store.values import Counts, Row, StoredDocument
from sleuth.types import RetrievedItem

_DOCUMENT = "SELECT key, id, source, title, content_hash, size, modified_ns, chunks, metadata FROM documents"
_ROW = "c.key, n, page, start, line, lines, fields, c.metadata, text, d.id, d.source, d.title, d.metadata"
_JOINED = "chunks c JOIN documents d ON d.key = c.key - c.n"


class Snapshot:
    """One committed version, from start to end; made by `Store.reader()`, of use only inside that block.

    Attributes:
        version: the commit that it shows; equal versions of one index hold equal rows.
        generation: equal ones are of equal versions and have equal segments too.
    """

    __slots__ = ("_connection", "_loaded", "generation", "version")

    def __init__(self, connection: Connection, version: int, loaded: Loaded) -> None:
        self.version = version
        self.generation = loaded.generation
        self._connection = connection
        self._loaded = loaded

    def segments(self, leg: str) -> tuple[SegmentView, ...]:
        """The leg's segments in order of key. Cached: a lookup while nothing changes.

        Together they hold every chunk of this version exactly once among their live rows, except for a deferred
        leg, which may lack the newest (see `uncovered`).

        Raises:
            KeyError: no such leg is attached.
        """
        return self._loaded.views[leg]

    def uncovered(self, leg: str) -> int:
        """How many chunks no segment of this leg holds: 0 save for deferred legs."""
        return sum(occupied(self._connection, *gap) for gap in self._loaded.gaps.get(leg, ()))

    def rows(self, keys: Iterable[int]) -> list[Row]:
        """The chunks with these keys, in this order. Every key must exist in this version."""
        return [_row(stored, text) for stored, text in self._stored(keys)]

    def items(self, keys: Iterable[int], scores: Iterable[float]) -> list[RetrievedItem]:
        """The same as hits with these scores."""
        return [
            RetrievedItem.trusted(f"{stored[9]}#{stored[1]}", text, _metadata(stored), score)
            for (stored, text), score in zip(self._stored(keys), scores, strict=True)
        ]

    def _stored(self, keys: Iterable[int]) -> Iterator[tuple[tuple[Any, ...], str]]:
        """The columns of chunks, and their texts."""
        wanted = list(map(int, keys))
        found = {row[0]: row for row in select_in(self._connection, _ROW, _JOINED, "c.key", wanted)}
        decode, connection = self._connection.books.decode, self._connection
        return ((row, decode(connection, row[8])) for row in self._in_order(wanted, found))

    def ids(self, keys: Iterable[int]) -> list[str]:
        """The chunk ids of these keys, in this order."""
        return [f"{document_id}#{n}" for document_id, n in self.order(keys)]

    def order(self, keys: Iterable[int]) -> list[tuple[str, int]]:
        """For each key (document id, n): the order by which ties break."""
        wanted = list(map(int, keys))
        found = {row[0]: row for row in select_in(self._connection, "c.key, id, n", _JOINED, "c.key", wanted)}
        return [(name, n) for _, name, n in self._in_order(wanted, found)]

    def key_of(self, chunk_id: str) -> int | None:
        """The key of the chunk `document_id#n`; None where there is none."""
        document_id, mark, n = check_text(chunk_id, "chunk_id").rpartition("#")
        if not mark or not n.isascii() or not n.isdigit() or (n[0] == "0" and n != "0"):
            return None
        found = self._connection.execute(
            "SELECT key, chunks FROM documents WHERE id = ?", (document_id,)
        ).fetchone()
        return found[0] + int(n) if found and len(n) < 19 and int(n) < found[1] else None

    def document(self, document_id: str) -> StoredDocument | None:
        """A document without its text; None where there is none."""
        found = self._connection.execute(
            f"{_DOCUMENT} WHERE id = ?", (check_text(document_id, "document_id"),)
        ).fetchone()
        return _document(found) if found else None

    def documents(self, under: str | None = None) -> Iterator[StoredDocument]:
        """Documents by key; with `under`, those whose source is this path, a row of it (`path#1`) or lies below it."""
        root = None if under is None else check_text(under, "under").rstrip("/")
        found = self._connection.execute(
            f"{_DOCUMENT} WHERE ?1 IS NULL OR coalesce(source, id) = ?1 "
            "OR substr(coalesce(source, id), 1, length(?1) + 1) IN (?1 || '/', ?1 || '#') ORDER BY key",
            (root,),
        )
        return map(_document, found)

    def notes(self) -> dict[str, str]:
        """What `Writer.note` was told, by name."""
        found = self._connection.execute("SELECT substr(name, 6), value FROM meta WHERE name GLOB 'note *'")
        return dict(found.fetchall())

    def chunks_of(self, document_id: str) -> list[Row]:
        """All chunks of a document, in order; empty where there is no such document."""
        found = self._connection.execute(
            "SELECT key, chunks FROM documents WHERE id = ?", (check_text(document_id, "document_id"),)
        ).fetchone()
        return self.rows(range(found[0], found[0] + found[1])) if found else []

    def neighbours(self, key: int, before: int = 1, after: int = 1) -> list[Row]:
        """The chunk and up to `before` and `after` chunks around it, of the same document, in order."""
        first, count = self._connection.execute(
            "SELECT d.key, d.chunks FROM chunks c JOIN documents d ON d.key = c.key - c.n WHERE c.key = ?",
            (key,),
        ).fetchone()
        return self.rows(range(max(first, key - before), min(first + count, key + after + 1)))

    def counts(self) -> Counts:
        """How many documents and chunks; costs microseconds."""
        return Counts(*self._connection.execute("SELECT documents, chunks FROM state").fetchone())

    def stream(self, first: int = 1, last: int | None = None) -> Iterator[Rows]:
        """The rows with keys `first` to `last`, inclusive, as legs are given them, in batches of bounded size.

        A document belongs to the range that holds its first chunk.
        """
        return rows_between(self._connection, first, (1 << 62) if last is None else last)

    def embeddings(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Cached vectors by content hash; absent where never put."""
        model = self._connection.execute(
            "SELECT model FROM models WHERE fingerprint = ?", (fingerprint,)
        ).fetchone()
        if model is None:
            return {}
        wanted = [bytes.fromhex(name) for name in hashes]
        found = select_in(
            self._connection, "model, hash, vector", "embeddings", "hash", wanted, also=("model", model[0])
        )
        return {name.hex(): vector for _, name, vector in found}

    @staticmethod
    def _in_order(keys: list[int], found: Mapping[int, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        try:
            return [found[key] for key in keys]
        except KeyError as error:
            raise IndexDamagedError(
                f"the record has lost the row {error.args[0]}, which a segment holds: `sleuth doctor --full` says more"
            ) from None


def _row(stored: tuple[Any, ...], text: str) -> Row:
    key, n, page, start, line, lines, fields, _, _, document_id, _, _, _ = stored
    return Row(
        key,
        f"{document_id}#{n}",
        document_id,
        n,
        text,
        _metadata(stored),
        from_json(fields),
        start,
        start + len(text),
        line,
        line + lines,
        page,
    )


def _metadata(stored: tuple[Any, ...]) -> dict[str, Any]:
    """What a hit shows of its chunk and its document."""
    _, _, page, _, line, lines, fields, own, _, document_id, source, title, metadata = stored
    return merge_metadata(
        source or document_id,
        title,
        metadata and from_json(metadata),
        page=page,
        line=line,
        lines=lines,
        fields=fields and from_json(fields),
        chunk=own and from_json(own),
    )


def _document(found: tuple[Any, ...]) -> StoredDocument:
    _, document_id, source, title, content_hash, size, modified_ns, chunks, metadata = found
    merged = {"source": source or document_id, **({"title": title} if title else {}), **from_json(metadata)}
    return StoredDocument(
        document_id, source or document_id, title or "", content_hash.hex(), size, modified_ns, chunks, merged
    )
