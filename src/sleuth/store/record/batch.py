"""Which documents were put and not yet written, and what do legs see of rows?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sleuth.store.legs import Rows
from sleuth.store.record import layout as record
from sleuth.store.record.layout import ChunkValues, DocumentValues, Sums, Values

if TYPE_CHECKING:
    from sleuth.store.record.rows import Passages

T = TypeVar("T")
NOTHING: Mapping[int, Any] = MappingProxyType({})


class Lazy(Sequence[T]):
    """A sequence whose items are made when asked for: most legs want few of the columns."""

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length = length
        self._make = make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self._make(i) for i in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._make(index % self._length)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._length))


class Table(Lazy[dict[str, Any]]):
    """Mappings that have the same keys, but for null, column by column: what would be made of them is not made."""

    def __init__(self, length: int, columns: Mapping[str, Sequence[Any]]) -> None:
        super().__init__(length, self._at)
        self.columns = columns

    def _at(self, i: int) -> dict[str, Any]:
        return {key: value for key, column in self.columns.items() if (value := column[i]) is not None}


class Batch:
    """Documents with their chunks, in order of key: column by column while they are passages, else row by row."""

    def __init__(self) -> None:
        self._documents: dict[str, DocumentValues] = {}
        self._chunks: list[ChunkValues] = []
        self._metadata: dict[int, Mapping[str, Any]] = {}  # by document key
        self._fields: dict[int, Mapping[str, str]] = {}  # by chunk key
        self._chunk_metadata: dict[int, Mapping[str, Any]] = {}
        self._passages: Passages | None = None
        self._first = 0  # the key of the first passage
        self._places: dict[str, int] = {}  # of passages

    @property
    def documents(self) -> int:
        """How many."""
        return len(self._places) or len(self._documents)

    @property
    def chunks(self) -> int:
        """How many."""
        return len(self._places) or len(self._chunks)

    def names(self) -> KeysView[str]:
        """Ids of the documents."""
        return self._places.keys() if self._passages else self._documents.keys()

    def first(self) -> int:
        """The key of the first document, of which there is one at least."""
        return self._first if self._passages else next(iter(self._documents.values()))[0]

    def find(self, ids: Iterable[str]) -> dict[str, DocumentValues]:
        """Those of the documents that have these ids."""
        found = self.names() & ids
        if self._passages is None:
            return {name: self._documents[name] for name in found}
        return {name: self._passages.document(self._places[name], self._first) for name in found}

    def add(
        self,
        document: DocumentValues,
        metadata: Mapping[str, Any],
        rows: Iterable[ChunkValues],
        fields: Mapping[int, Mapping[str, str]] = NOTHING,
        chunk_metadata: Mapping[int, Mapping[str, Any]] = NOTHING,
    ) -> None:
        """Add a document; the mappings are what its JSON columns were made of, of chunks by key."""
        self._by_row()
        self._documents[document[6]] = document
        self._chunks.extend(rows)
        if metadata:
            self._metadata[document[0]] = metadata
        self._fields.update(fields)
        self._chunk_metadata.update(chunk_metadata)

    def extend(self, first: int, passages: Passages) -> None:
        """Add passages whose keys are `first` and those after it."""
        if self._documents or not len(passages):
            self._add_rows(first, passages)
            return
        if self._passages is None:
            self._passages, self._first = passages, first
        else:
            self._passages.extend(passages)
        at = first - self._first
        self._places.update(zip(passages.ids, range(at, at + len(passages)), strict=False))

    def replace(self, document: DocumentValues) -> None:
        """Note other values of a document that is in the batch."""
        self._by_row()
        self._documents[document[6]] = document

    def drop(self, name: str) -> None:
        """Take a document out again. Linear, for the rare document put twice in a batch."""
        self._by_row()
        key = self._documents.pop(name)[0]
        self._chunks = [row for row in self._chunks if row[0] - row[1] != key]

    def _by_row(self) -> None:
        """Passages that are no longer alone become rows."""
        passages, self._passages, self._places = self._passages, None, {}
        if passages is not None:
            self._add_rows(self._first, passages)

    def _add_rows(self, first: int, passages: Passages) -> None:
        for place, name in enumerate(passages.ids):
            self._documents[name] = passages.document(place, first)
            self._chunks.append(passages.chunk(place, first))
            if passages.own and passages.own[place][0]:
                self._metadata[first + place] = passages.own[place][0]

    def texts(self) -> list[str]:
        """Of the chunks."""
        return self._passages.texts if self._passages else [row[9] for row in self._chunks]

    def tables(self, texts: Sequence[str | bytes], sums: Sums | None) -> tuple[Values, Values]:
        """What is inserted as documents and as chunks.

        Args:
            texts: of the chunks, as the record keeps them.
            sums: of passages, as `rows` gave them.
        """
        if self._passages is None or sums is None:
            return record.tables(list(self._documents.values()), self._chunks, texts)
        return record.passage_tables(self._passages, self._first, sums, texts)

    def rows(self) -> tuple[Rows, Sums | None]:
        """The chunks as legs are given them, and the checksums that were made on the way, of passages."""
        if self._passages:
            sums = self._passages.sums(self._first)
            return passage_rows(self._passages, self._first, sums[1]), sums
        rows = make_rows(
            list(self._documents.values()),
            self._chunks,
            self._metadata.get,
            self._fields.get,
            self._chunk_metadata.get,
        )
        return rows, None


def passage_rows(passages: Passages, first: int, lines: list[int]) -> Rows:
    """As `make_rows`, of passages with keys from `first` on and so many line breaks in their texts."""
    n = len(passages)
    texts: dict[str, Sequence[str]] = {"text": passages.texts}
    if passages.titles and any(passages.titles):
        texts["title"] = [title or "" for title in passages.titles]
    shown: dict[str, Sequence[Any]] = {
        "source": [own or name for own, name in zip(passages.sources, passages.ids, strict=True)]
        if passages.sources
        else passages.ids,
        "start_line": [1] * n,
        "end_line": [1 + count for count in lines],
    }
    if "title" in texts:
        shown["title"] = [title or None for title in texts["title"]]
    table = Table(n, shown)
    metadata: Sequence[Mapping[str, Any]] = table
    if passages.own and any(text for _, text in passages.own):
        own = passages.own
        metadata = Lazy(n, lambda i: {**table[i], **own[i][0]})
    columns = list(texts.values())
    return Rows(
        np.arange(first, first + n),
        tie_ranks(passages.ids, np.ones(n, np.int64)),
        texts,
        metadata,
        Lazy(n, lambda i: content_hash("\x1e".join([column[i] for column in columns]))),
    )


def make_rows(
    documents: Sequence[DocumentValues],
    chunks: Sequence[ChunkValues],
    metadata: Callable[[int], Mapping[str, Any] | None],
    fields: Callable[[int], Mapping[str, str] | None],
    chunk_metadata: Callable[[int], Mapping[str, Any] | None],
) -> Rows:
    """Rows of whole documents, in order of key.

    Args:
        metadata: by document key, as it was before it became JSON.
        fields, chunk_metadata: by chunk key, likewise.
    """
    n = len(chunks)
    counts = np.fromiter((row[1] for row in documents), np.int64, len(documents))
    owner = np.repeat(np.arange(len(documents)), counts)
    keys = np.fromiter((row[0] for row in chunks), np.int64, n)
    texts: dict[str, Sequence[str]] = {"text": [row[9] for row in chunks]}
    if any(row[8] for row in documents):
        texts["title"] = [documents[i][8] or "" for i in owner.tolist()]
    by_chunk = {key: found for key in keys.tolist() if (found := fields(key))} if n else {}
    for name in sorted({name for found in by_chunk.values() for name in found}):
        texts[name] = [by_chunk.get(key, {}).get(name, "") for key in keys.tolist()]

    owners = owner.tolist()

    def merged(i: int) -> dict[str, Any]:
        document, row = documents[owners[i]], chunks[i]
        own = metadata(document[0])
        return merge_metadata(
            document[7] or document[6],
            document[8],
            own,
            page=row[2],
            line=row[4],
            lines=row[5],
            fields=by_chunk.get(row[0]),
            chunk=chunk_metadata(row[0]),
        )

    columns = list(texts.values())
    hashes = Lazy(n, lambda i: content_hash("\x1e".join([column[i] for column in columns])))
    return Rows(keys, tie_ranks([row[6] for row in documents], counts), texts, Lazy(n, merged), hashes)


def merge_metadata(
    source: str,
    title: str | None,
    document: Mapping[str, Any] | None,
    *,
    page: int | None,
    line: int,
    lines: int,
    fields: Mapping[str, str] | None,
    chunk: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """What a hit shows and filters see: what the store knows, under the document's metadata, under the chunk's."""
    merged: dict[str, Any] = {"source": source, "start_line": line, "end_line": line + lines}
    if title:
        merged["title"] = title
    if page is not None:
        merged["page"] = page
    if fields and "heading" in fields:
        merged["heading"] = fields["heading"]
    if document:
        merged.update(document)
    if chunk:
        merged.update(chunk)
    return merged


def tie_ranks(ids: Sequence[str], counts: NDArray[np.int64]) -> NDArray[np.uint32] | None:
    """The rank of each chunk by (document id, n).

    Args:
        ids: of the documents, in order of key; distinct.
        counts: chunks of each, shape (len(ids),).

    Returns:
        Shape (sum of counts,); None where the documents are in order of id already.
    """
    if all(map(str.__lt__, ids, ids[1:])):
        return None
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
    return spread_ranks(order, counts)


def spread_ranks(order: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Ranks of chunks, given the order of their documents.

    Args:
        order: shape (documents,): documents by id.
        counts: shape (documents,): chunks of each document.
    """
    starts = np.empty(len(counts), np.int64)  # the rank of each document's first chunk
    starts[order] = np.cumsum(counts[order]) - counts[order]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return (np.repeat(starts, counts) + within).astype(np.uint32)


def content_hash(text: str) -> str:
    """A hash of a text, 32 hex digits (BLAKE2b of its UTF-8)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
