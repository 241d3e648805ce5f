"""Documents with their chunks, column by column, on their way from ingest or from the record to the legs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError
from sleuth.store.record.layout import check_text, check_texts
from sleuth.store.record.metadata import Json, as_json, stored_json
from sleuth.store.record.values import Known

if TYPE_CHECKING:
    from sleuth.store.record.layout import DocumentRow
    from sleuth.store.record.values import RecordedPassage
    from sleuth.types import Chunk

T = TypeVar("T")


class BatchColumn(list[T]):
    """One value per row. Rows behind the end of the list have the default, so an unused column costs nothing.

    Attributes:
        default: the value of rows that were not set.
    """

    __slots__ = ("default",)

    def __init__(self, default: T, values: Iterable[T] = ()) -> None:
        super().__init__(values)
        self.default = default

    def at(self, row: int) -> T:
        """Return the value of a row."""
        return self[row] if row < len(self) else self.default

    def filled(self, rows: int) -> list[T]:
        """Return the values of the first `rows` rows."""
        return [*self, *repeat(self.default, rows - len(self))]

    def join(self, values: Sequence[T], row: int) -> None:
        """Add values behind the first `row` rows."""
        if values.count(self.default) < len(values):
            self.extend(repeat(self.default, row - len(self)))
            self.extend(values)


class DocumentBatch:
    """Documents with distinct ids and their chunks, in order of arrival.

    A document has one row in the columns of documents, and as many rows in the columns of chunks as `counts` says.
    Keys are no column: a batch gets them when it is written.

    Attributes:
        ids, digests: of documents; digests are content hashes as bytes.
        counts: chunks of each document.
        sources, titles: None where the source is the id, and where there is no title.
        metadata: of documents, without what other columns hold.
        texts: of chunks.
        pages, starts: page and offset of a chunk in its document.
        lines, breaks: first line of a chunk, and how many lines follow it.
        fields, own: other searchable texts of a chunk, and its own metadata.
        characters: of all texts.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.digests: list[bytes] = []
        self.counts: BatchColumn[int] = BatchColumn(1)
        self.sources: BatchColumn[str | None] = BatchColumn(None)
        self.titles: BatchColumn[str | None] = BatchColumn(None)
        self.metadata: BatchColumn[Json | None] = BatchColumn(None)
        self.texts: list[str] = []
        self.pages: BatchColumn[int | None] = BatchColumn(None)
        self.starts: BatchColumn[int] = BatchColumn(0)
        self.lines: BatchColumn[int] = BatchColumn(1)
        self.breaks: BatchColumn[int] = BatchColumn(0)
        self.fields: BatchColumn[Json | None] = BatchColumn(None)
        self.own: BatchColumn[Json | None] = BatchColumn(None)
        self.characters = 0

    def __len__(self) -> int:
        return len(self.ids)

    def add(
        self,
        id: str,
        content_hash: str,
        chunks: Sequence[Chunk],
        *,
        metadata: Mapping[str, Any] | Json | None = None,
        source: str | None = None,
        title: str = "",
        has_lines: bool = True,
    ) -> None:
        """Add a document.

        Args:
            id: any string without lone surrogates.
            content_hash: hex; covers all that is indexed of it (text, title, metadata, how it was cut).
            chunks: in order; may be empty.
            metadata: JSON values; `source` and `title` need not be repeated in it.
            source: where it came from; the id where None.
            has_lines: whether lines of its text are lines of its file; all are 0 else.

        Raises:
            ArgumentError: a lone surrogate, a hash that is not hex, metadata that JSON cannot hold. Nothing is added.
        """
        texts = [chunk.text for chunk in chunks]
        check_texts(texts, "chunk text")
        check_text(id, "id")
        digest, origin = digest_of(content_hash), _origin(id, source, "source")
        heading = check_text(title, "title") or None
        own_values = _own_metadata(metadata, source, title)
        columns = (
            [chunk.page for chunk in chunks],
            [chunk.start for chunk in chunks],
            [chunk.start_line if has_lines else 0 for chunk in chunks],
            [chunk.end_line - chunk.start_line if has_lines else 0 for chunk in chunks],
            [as_json({k: v for k, v in chunk.fields.items() if v}, "chunk fields") for chunk in chunks],
            [as_json(chunk.metadata, "chunk metadata") for chunk in chunks],
        )
        self._append(id, digest, (len(chunks), origin, heading, own_values), texts, columns)

    def add_passages(
        self,
        ids: Sequence[str],
        hashes: Sequence[str],
        texts: Sequence[str],
        *,
        metadata: Sequence[Mapping[str, Any] | Json | None],
        sources: Sequence[str | None],
        titles: Sequence[str],
    ) -> None:
        """Add documents of one chunk each, which is the whole text: as `add` for each, in a fraction of the time."""
        check_texts(ids, "ids")
        check_texts(texts, "texts")
        digests = list(map(digest_of, hashes))
        rows, chunks = len(self.ids), len(self.texts)
        self.metadata.join([_own_metadata(*row) for row in zip(metadata, sources, titles, strict=True)], rows)
        origins = zip(ids, sources, strict=True)
        self.sources.join([_origin(id, source, "sources") for id, source in origins], rows)
        check_texts(titles, "titles")
        self.titles.join([title or None for title in titles], rows)
        self.breaks.join([text.count("\n") for text in texts], chunks)
        self.ids += ids
        self.digests += digests
        self.texts += texts
        self.characters += sum(map(len, texts))

    def add_stored(self, document: DocumentRow, chunks: Sequence[RecordedPassage]) -> None:
        """Add a document as the record holds it, with its chunks."""
        values = document.chunks, document.source, document.title, stored_json(document.metadata)
        texts, *columns, fields, metadata = map(list, zip(*chunks, strict=True)) if chunks else repeat([], 7)
        columns += [list(map(stored_json, fields)), list(map(stored_json, metadata))]
        self._append(document.id, document.content_hash, values, texts, columns)

    def _append(
        self,
        id: str,
        digest: bytes,
        values: Sequence[Any],
        texts: Sequence[str],
        columns: Sequence[Sequence[Any]],
    ) -> None:
        """Add a document: the values of its columns, and those of the columns of its chunks."""
        for column, value in zip(self._document_columns(), values, strict=True):
            column.join([value], len(self.ids))
        for column, chunk_values in zip(self._chunk_columns(), columns, strict=True):
            column.join(chunk_values, len(self.texts))
        self.ids.append(id)
        self.digests.append(digest)
        self.texts += texts
        self.characters += sum(map(len, texts))

    def extend(self, other: DocumentBatch) -> None:
        """Add the documents of another batch, which have other ids."""
        rows, chunks = len(self.ids), len(self.texts)
        for mine, theirs in zip(self._document_columns(), other._document_columns(), strict=True):
            mine.join(theirs, rows)
        for mine, theirs in zip(self._chunk_columns(), other._chunk_columns(), strict=True):
            mine.join(theirs, chunks)
        self.ids += other.ids
        self.digests += other.digests
        self.texts += other.texts
        self.characters += other.characters

    def without(self, dropped: Collection[int]) -> DocumentBatch:
        """Return the batch without the documents in these rows."""
        if not dropped:
            return self
        rows = [row for row in range(len(self)) if row not in dropped]
        owners = self.owners().tolist()
        chunks = [place for place, row in enumerate(owners) if row not in dropped]
        remainder = DocumentBatch()
        for mine, theirs in zip(self._document_columns(), remainder._document_columns(), strict=True):
            theirs.extend(map(mine.at, rows))
        for mine, theirs in zip(self._chunk_columns(), remainder._chunk_columns(), strict=True):
            theirs.extend(map(mine.at, chunks))
        remainder.ids = [self.ids[row] for row in rows]
        remainder.digests = [self.digests[row] for row in rows]
        remainder.texts = [self.texts[place] for place in chunks]
        remainder.characters = sum(map(len, remainder.texts))
        return remainder

    def _document_columns(self) -> tuple[BatchColumn[Any], ...]:
        return self.counts, self.sources, self.titles, self.metadata

    def _chunk_columns(self) -> tuple[BatchColumn[Any], ...]:
        return self.pages, self.starts, self.lines, self.breaks, self.fields, self.own

    def known(self, row: int) -> Known:
        """Return the facts that show whether the document in this row has changed."""
        own_values = self.metadata.at(row)
        return Known.of(self.digests[row].hex(), own_values.values if own_values else {})

    def chunk_counts(self) -> NDArray[np.int64]:
        """Return the chunks of each document, shape (documents,)."""
        counts = np.ones(len(self.ids), np.int64)
        counts[: len(self.counts)] = self.counts
        return counts

    def owners(self) -> NDArray[np.int64]:
        """Return the row of the document of each chunk, shape (chunks,)."""
        return np.repeat(np.arange(len(self.ids)), self.chunk_counts())

    def span(self) -> int:
        """Return how many keys the documents take: a document without chunks takes one as well."""
        return int(np.maximum(self.chunk_counts(), 1).sum())

    def keys(self, first: int) -> Keys:
        """Return consecutive keys from `first` on; a document without chunks takes one as well."""
        counts = self.chunk_counts()
        widths = np.maximum(counts, 1)
        return Keys.of(first + np.cumsum(widths) - widths, counts)


class Keys(NamedTuple):
    """The keys of a batch.

    Attributes:
        documents: shape (documents,): the key of a document is that of its first chunk.
        chunks: shape (chunks,).
        places: shape (chunks,): the place of each chunk in its document, from 0.
    """

    documents: NDArray[np.int64]
    chunks: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, documents: NDArray[np.int64], counts: NDArray[np.int64]) -> Keys:
        """Return the keys of documents and of so many chunks each."""
        places = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return cls(documents, np.repeat(documents, counts) + places, places)


def _origin(id: str, source: str | None, argument: str) -> str | None:
    """Return the source of a document; None, which takes no space, where it is the id."""
    return None if source is None or source == id else check_text(source, argument)


def _own_metadata(metadata: Mapping[str, Any] | Json | None, source: str | None, title: str) -> Json | None:
    """Return a document's metadata without what other columns hold."""
    if metadata is None or isinstance(metadata, Json):
        return metadata
    columns = {"source": source, "title": title or None}
    return as_json({k: v for k, v in metadata.items() if k not in columns or v != columns[k]}, "metadata")


def digest_of(content_hash: str) -> bytes:
    """Return a hash in hex as bytes.

    Raises:
        ArgumentError: it is not hex.
    """
    try:
        return bytes.fromhex(content_hash)
    except (ValueError, TypeError):
        raise ArgumentError(f"content_hash must be hex digits, got {content_hash!r}") from None
