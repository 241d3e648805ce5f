"""What does one version of the index hold?"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue.manifest import Loaded, occupied
from sleuth.store.legs import Rows, SegmentView
from sleuth.store.record.batch import merge_metadata
from sleuth.store.record.layout import Connection, check_text, from_json, select_in
from sleuth.store.record.scan import rows_between
from sleuth.store.record.values import Counts, Row, StoredDocument
from sleuth.types import RetrievedItem

T = TypeVar("T")

_DOCUMENT = "SELECT key, id, source, title, content_hash, size, modified_ns, chunks, metadata FROM documents"
_JOINED = "chunks c JOIN documents d ON d.key = c.key - c.n"

# Rows are gathered into one: each one that is stepped to gives the interpreter's lock away, for which threads of
# queries wait, and its metadata would be a JSON text of its own. SQLite escapes what JSON does not allow.
_SCALARS = (
    "json_array(c.key, n, page, start, line, lines, d.id, d.source, d.title, "
    "length(CAST(text AS BLOB)), typeof(text) = 'blob')"
)
_MAPPINGS = "ifnull(fields, 'null') || ',' || ifnull(c.metadata, 'null') || ',' || ifnull(d.metadata, 'null')"
_ROWS = (
    f"group_concat({_SCALARS} || ',' || {_MAPPINGS}, ','), CAST(group_concat(CAST(text AS TEXT), '') AS BLOB)"
)
_NAMES = "group_concat(json_array(c.key, id, n), ','), NULL"


class _Stored(NamedTuple):
    """A chunk and its document as the record holds them; `scalars` are those of `_SCALARS`."""

    scalars: list[Any]
    fields: dict[str, str] | None
    metadata: dict[str, Any] | None
    document: dict[str, Any] | None
    text: str


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
        return list(map(_row, self._stored(keys)))

    def items(self, keys: Iterable[int], scores: Iterable[float]) -> list[RetrievedItem]:
        """The same as hits with these scores."""
        return [
            RetrievedItem(
                id=f"{found[0][6]}#{found[0][1]}", text=found[4], metadata=_metadata(found), score=score
            )
            for found, score in zip(self._stored(keys), scores, strict=True)
        ]

    def _stored(self, keys: Iterable[int]) -> list[_Stored]:
        wanted, found = list(map(int, keys)), {}
        for values, texts in self._gather(_ROWS, wanted):
            scalars = values[::4]
            sizes, coded = [row[9] for row in scalars], [row[10] for row in scalars]
            read = self._connection.books.decode_all(self._connection, texts, sizes, coded)
            for row in map(_Stored, scalars, values[1::4], values[2::4], values[3::4], read):
                found[row[0][0]] = row
        return _in_order(wanted, found)

    def _gather(self, columns: str, keys: list[int]) -> Iterator[tuple[list[Any], bytes]]:
        """What the columns say of the rows with these keys: the values of the first, and the second as it is."""
        try:
            gathered = list(select_in(self._connection, columns, _JOINED, "c.key", keys))
        except sqlite3.DataError:  # more than SQLite holds in one value
            if len(keys) == 1:
                raise
            yield from self._gather(columns, keys[::2])
            yield from self._gather(columns, keys[1::2])
            return
        for told, texts in gathered:
            try:
                yield json.loads(f"[{told or ''}]"), texts
            except ValueError as error:
                raise IndexDamagedError(f"the record holds metadata that is none ({error})") from error

    def ids(self, keys: Iterable[int]) -> list[str]:
        """The chunk ids of these keys, in this order."""
        return [f"{document_id}#{n}" for document_id, n in self.order(keys)]

    def order(self, keys: Iterable[int]) -> list[tuple[str, int]]:
        """For each key (document id, n): the order by which ties break."""
        wanted = list(map(int, keys))
        found = {
            key: (document_id, n)
            for values, _ in self._gather(_NAMES, wanted)
            for key, document_id, n in values
        }
        return _in_order(wanted, found)

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


def _in_order(keys: list[int], found: Mapping[int, T]) -> list[T]:
    try:
        return [found[key] for key in keys]
    except KeyError as error:
        raise IndexDamagedError(
            f"the record has lost the row {error.args[0]}, which a segment holds: `sleuth doctor --full` says more"
        ) from None


def _row(found: _Stored) -> Row:
    key, n, page, start, line, lines, document_id, _, _, _, _ = found.scalars
    return Row(
        key,
        f"{document_id}#{n}",
        document_id,
        n,
        found.text,
        _metadata(found),
        found.fields or {},
        start,
        start + len(found.text),
        line,
        line + lines,
        page,
    )


def _metadata(found: _Stored) -> dict[str, Any]:
    """What a hit shows of its chunk and its document."""
    (_, _, page, _, line, lines, document_id, source, title, _, _), fields, metadata, document, _ = found
    return merge_metadata(
        source or document_id,
        title,
        document,
        page=page,
        line=line,
        lines=lines,
        fields=fields,
        chunk=metadata,
    )


def _document(found: tuple[Any, ...]) -> StoredDocument:
    _, document_id, source, title, content_hash, size, modified_ns, chunks, metadata = found
    merged = {"source": source or document_id, **({"title": title} if title else {}), **from_json(metadata)}
    return StoredDocument(
        document_id, source or document_id, title or "", content_hash.hex(), size, modified_ns, chunks, merged
    )
