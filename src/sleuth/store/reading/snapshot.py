"""Reads one version of the index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue.manifest import occupied
from sleuth.store.catalogue.views import Loaded
from sleuth.store.legs.leg import Rows, SegmentView
from sleuth.store.passages.blocks import items_of
from sleuth.store.record.layout import (
    DOCUMENT_COLUMNS,
    EMBEDDING_COLUMNS,
    FILE_COLUMNS,
    Connection,
    DocumentRow,
    EmbeddingRow,
    check_text,
    damaged_row,
    document_checksum,
    embedding_checksum,
    from_json,
    has_checksum,
    select_in,
    sound_files,
)
from sleuth.store.record.scan import batches_between, rows_between
from sleuth.store.record.values import Counts, KnownFile, Row
from sleuth.types import Chunk, StoredDocument

if TYPE_CHECKING:
    from sleuth.filters import Filter
    from sleuth.store.record.batch import DocumentBatch
    from sleuth.types import RetrievedItem

_BATCH = 1 << 23
"""Characters of text in a batch of documents, about."""

T = TypeVar("T")

_DOCUMENT = f"SELECT {DOCUMENT_COLUMNS} FROM documents"


class IndexSnapshot:
    """One committed version, from start to end; made by `Store.reader()`, of use only inside that block.

    Attributes:
        version: the commit that it shows; equal versions of one index hold equal rows.
        generation: equal ones are of equal versions and have equal segments too.
        check_time: raises TimeoutError where the query that reads it may take no more time; None without a limit.
    """

    __slots__ = ("_connection", "_loaded", "check_time", "generation", "version")
    scope: Filter | None = None
    """What it is limited to; None for all of the index."""

    def __init__(self, connection: Connection, version: int, views: Loaded) -> None:
        self.version = version
        self.generation = views.generation, views.losses
        self.check_time: Callable[[], None] | None = None
        self._connection = connection
        self._loaded = views

    def segments(self, leg: str) -> tuple[SegmentView, ...]:
        """Return the leg's segments in order of key. Cached: a lookup while nothing changes.

        Together they hold every chunk of this version exactly once among their live rows, except for a deferred
        leg, which may lack the newest (see `uncovered`).

        Raises:
            KeyError: no such leg is attached.
        """
        return self._loaded.views[leg]

    def uncovered(self, leg: str) -> int:
        """Return how many chunks no segment of this leg holds: 0 save for deferred legs."""
        return sum(occupied(self._connection, *gap) for gap in self._loaded.gaps.get(leg, ()))

    def rows(self, keys: Iterable[int]) -> list[Row]:
        """Return the chunks with these keys, in this order. Every key must exist in this version."""
        return self._read(self._loaded.passages.rows, keys)

    def items(self, keys: list[int], scores: list[float]) -> list[RetrievedItem]:
        """Return the same as hits with these scores."""
        return items_of(self._read(self._loaded.passages.hits, keys), scores)

    def passages(self, keys: Iterable[int]) -> list[dict[str, Any]]:
        """Return the id, the text and the metadata of these chunks, by name."""
        return self._read(self._loaded.passages.hits, keys)

    def _read(self, read: Callable[[list[int]], list[T]], keys: Iterable[int]) -> list[T]:
        """Return passages, each compared with its checksum.

        Raises:
            IndexDamagedError: one is not as it was written, or is gone; names its document.
        """
        try:
            return read(list(keys))
        except LookupError as error:
            (key,) = error.args
            row = self._connection.execute(
                "SELECT id FROM documents WHERE key <= ? ORDER BY key DESC LIMIT 1", (key,)
            ).fetchone()
            raise damaged_row(f"a passage of {row[0]!r}" if row else f"passage {key}") from None

    def order(self, keys: Iterable[int]) -> list[tuple[str, int]]:
        """Return the tie-break rank of each key (document id, n)."""
        return self._read(self._loaded.passages.order, keys)

    def key_of(self, chunk_id: str) -> int | None:
        """Return the key of the chunk `document_id#n`, or None."""
        document_id, mark, n = check_text(chunk_id, "chunk_id").rpartition("#")
        if not mark or not n.isascii() or not n.isdigit() or (n[0] == "0" and n != "0"):
            return None
        keys = self._extent(document_id)
        return keys[int(n)] if len(n) < 19 and int(n) < len(keys) else None

    def _extent(self, document_id: str) -> range:
        """Return the keys of the chunks that the table of documents names; none where there is no such document."""
        row = self._connection.execute(
            "SELECT key, chunks FROM documents WHERE id = ?", (check_text(document_id, "document_id"),)
        ).fetchone()
        first, chunks = row or (0, 0)
        return range(first, first + chunks)

    def document(self, document_id: str) -> StoredDocument | None:
        """Return a document without its text, or None."""
        row = self._connection.execute(
            f"{_DOCUMENT} WHERE id = ?", (check_text(document_id, "document_id"),)
        ).fetchone()
        return _document(DocumentRow._make(row), self._connection.salt) if row else None

    def documents(self, under: str | None = None) -> Iterator[StoredDocument]:
        """Documents by key; with `under`, those whose source is this path, a row of it (`path#1`) or lies below it."""
        root = None if under is None else check_text(under, "under").rstrip("/")
        rows = self._connection.execute(
            f"{_DOCUMENT} WHERE :root IS NULL OR coalesce(source, id) = :root "
            "OR substr(coalesce(source, id), 1, length(:root) + 1) IN (:root || '/', :root || '#') ORDER BY key",
            {"root": root},
        )
        salt = self._connection.salt
        return (_document(DocumentRow._make(row), salt) for row in rows)

    def document_keys(self) -> NDArray[np.int64]:
        """Keys of all documents, ascending, shape (documents,).

        A chunk belongs to the last document whose key is not above its own.
        """
        keys = np.fromiter(
            (key for (key,) in self._connection.execute("SELECT key FROM documents")), np.int64
        )
        keys.sort()
        return keys

    def by_id(self, after: str = "", limit: int = -1) -> Iterator[tuple[int, str]]:
        """Keys and ids of documents whose id comes after this one, in order of id; all of them with a limit of -1."""
        yield from self._connection.execute(
            "SELECT key, id FROM documents WHERE id > ? ORDER BY id LIMIT ?",
            (check_text(after, "after"), limit),
        )

    def documents_at(self, keys: Iterable[int]) -> list[StoredDocument]:
        """Return the documents with these keys, in this order. Every key must exist in this version."""
        numbers = list(map(int, keys))
        entries = select_in(self._connection, DOCUMENT_COLUMNS, "documents", "key", numbers)
        rows = {row.key: _document(row, self._connection.salt) for row in map(DocumentRow._make, entries)}
        try:
            return list(map(rows.__getitem__, numbers))
        except KeyError as error:
            raise IndexDamagedError(
                f"the record has lost the row {error.args[0]}, which a segment holds: `sleuth doctor --full` says more"
            ) from None

    def chunk_values(self, document_id: str) -> list[Chunk]:
        """Return the chunks of a document as `DocumentBatch.add` takes them, in order."""
        chunks = []
        for row in self._read(self._loaded.passages.stored, self._keys_of(document_id)):
            end, last_line = row.start + len(row.text), row.line + row.lines
            fields, metadata = from_json(row.fields), from_json(row.metadata)
            chunks.append(Chunk(row.text, row.start, end, row.line, last_line, row.page, fields, metadata))
        return chunks

    def files(self, names: Sequence[str]) -> dict[str, KnownFile]:
        """Return what `Writer.note_file` noted of these files, by name; absent where nothing is."""
        rows = select_in(self._connection, FILE_COLUMNS, "files", "name", names)
        return {row.name: row for row in sound_files(rows, self._connection.salt)}

    def noted_files(self) -> list[KnownFile]:
        """Return the files and folders with options or skips, by name."""
        rows = self._connection.execute(
            f"SELECT {FILE_COLUMNS} FROM files WHERE options IS NOT NULL OR skips IS NOT NULL ORDER BY name"
        )
        return list(sound_files(rows, self._connection.salt))

    def file_names(self, root: str | None) -> Iterator[str]:
        """Names of the files at this name or below it; with "", all relative paths, and with None all there are."""
        folder = (root or "").rstrip("/")
        spans = [(f"{folder}/", f"{folder}0")]
        if not root:
            spans = [("", "/"), ("0", "\U0010ffff")] if root == "" else [("", "\U0010ffff")]
        elif folder:
            spans.append((root, f"{root}\0"))
        for span in spans:
            rows = self._connection.execute("SELECT name FROM files WHERE name >= ? AND name < ?", span)
            yield from (name for (name,) in rows if root != "" or "://" not in name)

    def chunks_of(self, document_id: str) -> list[Row]:
        """Return all chunks of a document, in order; empty where there is no such document."""
        return self.rows(self._keys_of(document_id))

    def _keys_of(self, document_id: str) -> range:
        """Return the keys of the chunks of a document; none where there is no such document."""
        keys = self._extent(document_id)
        if keys and self.order([keys[0]]) != [(document_id, 0)]:  # the index of ids is damaged
            raise damaged_row(document_id)
        return keys

    def neighbours(self, key: int, before: int, after: int) -> list[Row]:
        """Return the chunk and up to `before` and `after` chunks around it, of the same document, in order."""
        ((document_id, _),) = self.order([key])
        keys = self._keys_of(document_id)
        return self.rows(range(max(keys.start, key - before), min(keys.stop, key + after + 1)))

    def counts(self) -> Counts:
        """Return how many documents and chunks; costs microseconds."""
        return Counts(*self._connection.execute("SELECT documents, chunks FROM state").fetchone())

    def stream(self, first: int = 1, last: int | None = None) -> Iterator[Rows]:
        """Return the rows with keys `first` to `last`, inclusive, as legs are given them, in batches of bounded size.

        A document belongs to the range that holds its first chunk.
        """
        return rows_between(
            self._connection, self._loaded.passages, first, (1 << 62) if last is None else last
        )

    def batches(self) -> Iterator[DocumentBatch]:
        """Return all documents with their chunks, by key, in batches of bounded size, as `Writer.put_batch` takes them.

        Raises:
            IndexDamagedError: a document is not as it was written; names it.
        """
        batches = batches_between(self._connection, self._loaded.passages, 1, 1 << 62, _BATCH)
        return (batch for batch, _ in batches)

    def embedding_keys(self, fingerprint: str) -> dict[str, int]:
        """Return the keys of an embedder's cached vectors, by content hash."""
        return {
            name.hex(): key
            for key, name in self._connection.execute(
                "SELECT key, hash FROM embeddings JOIN models USING (model) WHERE fingerprint = ?",
                (fingerprint,),
            )
        }

    def count_embeddings(self, fingerprint: str) -> int:
        """Return how many vectors of an embedder are cached."""
        count: int = self._connection.execute(
            "SELECT count(*) FROM embeddings JOIN models USING (model) WHERE fingerprint = ?", (fingerprint,)
        ).fetchone()[0]
        return count

    def embeddings(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return cached vectors by content hash; absent where never put, or not as they were written."""
        model = self._connection.execute(
            "SELECT model FROM models WHERE fingerprint = ?", (fingerprint,)
        ).fetchone()
        if model is None:
            return {}
        (number,) = model
        digests = [bytes.fromhex(name) for name in hashes]
        entries = select_in(
            self._connection, EMBEDDING_COLUMNS, "embeddings", "hash", digests, also=("model", number)
        )
        rows = map(EmbeddingRow._make, entries)
        return {
            row.hash.hex(): row.vector
            for row in rows
            if has_checksum(embedding_checksum, row, self._connection.salt)
        }


def _document(row: DocumentRow, salt: int) -> StoredDocument:
    if not has_checksum(document_checksum, row, salt):
        raise damaged_row(str(row.id))
    source, title = row.source or row.id, row.title or ""
    metadata = {"source": source, **({"title": title} if title else {}), **from_json(row.metadata)}
    return StoredDocument(row.id, source, title, row.content_hash.hex(), row.chunks, metadata)
