"""Which documents were put and not yet written, and what do legs see of rows?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sleuth.store.legs import Rows
from sleuth.store.record import ChunkValues, DocumentValues

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


class Batch:
    """Documents with their chunks, column by column, in order of key.

    Attributes:
        documents: rows of the table `documents`.
        chunks: rows of the table `chunks`.
    """

    def __init__(self) -> None:
        self.documents: list[DocumentValues] = []
        self.chunks: list[ChunkValues] = []
        self._metadata: dict[int, Mapping[str, Any]] = {}  # by document key
        self._fields: dict[int, Mapping[str, str]] = {}  # by chunk key
        self._chunk_metadata: dict[int, Mapping[str, Any]] = {}

    def add(
        self,
        document: DocumentValues,
        metadata: Mapping[str, Any],
        rows: Iterable[ChunkValues],
        fields: Mapping[int, Mapping[str, str]] = NOTHING,
        chunk_metadata: Mapping[int, Mapping[str, Any]] = NOTHING,
    ) -> None:
        """Add a document; the mappings are what its JSON columns were made of, of chunks by key."""
        self.documents.append(document)
        self.chunks.extend(rows)
        if metadata:
            self._metadata[document[0]] = metadata
        self._fields.update(fields)
        self._chunk_metadata.update(chunk_metadata)

    def extend(
        self,
        documents: Iterable[DocumentValues],
        chunks: Iterable[ChunkValues],
        metadata: Mapping[int, Mapping[str, Any]],
    ) -> None:
        """Add documents of one chunk each; the mapping is by key."""
        self.documents.extend(documents)
        self.chunks.extend(chunks)
        self._metadata.update(metadata)

    def replace(self, document: DocumentValues) -> None:
        """Note other values of a document that is in the batch."""
        self.documents = [document if row[0] == document[0] else row for row in self.documents]

    def drop(self, key: int) -> int:
        """Take a document out again; how many chunks it had. Linear, for the rare document put twice in a batch."""
        self.documents = [row for row in self.documents if row[0] != key]
        before = len(self.chunks)
        self.chunks = [row for row in self.chunks if row[0] - row[1] != key]
        return before - len(self.chunks)

    def rows(self) -> Rows:
        """The chunks as legs are given them."""
        return make_rows(
            self.documents, self.chunks, self._metadata.get, self._fields.get, self._chunk_metadata.get
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
