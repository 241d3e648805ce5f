"""Which rows does a document become?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from sleuth.errors import ArgumentError
from sleuth.store.record import layout as record
from sleuth.store.record.batch import NOTHING
from sleuth.store.record.layout import ChunkValues, DocumentValues

if TYPE_CHECKING:
    from sleuth.types import Chunk

T = TypeVar("T")
_SLICE = 4096
"""Passages put at once."""
_SCALARS = frozenset({str, int, float, bool, type(None)})


class Passages:
    """Documents of one chunk each, column by column. What a row costs here is what adding a short text costs.

    Attributes:
        ids, texts, digests: of each; as are the other columns.
        sources, titles: None where it is the id, or there is none; the column is None where all are.
        own: metadata without what its columns hold, and its JSON; None where there is none.

    Raises:
        ArgumentError: a lone surrogate, a hash that is not hex, metadata that JSON cannot hold.
    """

    __slots__ = ("digests", "ids", "own", "sources", "texts", "titles")

    def __init__(  # noqa: PLR0917 - columns
        self,
        ids: list[str],
        texts: list[str],
        hashes: list[str],
        metadata: Sequence[Mapping[str, Any] | None] | None = None,
        sources: Sequence[str | None] | None = None,
        titles: Sequence[str] | None = None,
    ) -> None:
        record.check_texts(texts, "texts")
        self.ids, self.texts = ids, texts
        self.digests = digests(hashes)
        self.sources: list[str | None] | None = None
        self.titles: list[str | None] | None = None
        self.own: list[tuple[Mapping[str, Any], str | None]] | None = None
        if metadata:
            self.own = list(map(own_metadata, metadata, sources or repeat(None), titles or repeat("")))
        if sources:
            self.sources = [
                text_or_none(text, name, "sources") for text, name in zip(sources, ids, strict=True)
            ]
        if titles:
            self.titles = [text_or_none(text, "", "titles") for text in titles]

    def __len__(self) -> int:
        return len(self.ids)

    def without(self, places: set[int]) -> Passages:
        """Those at other places."""
        if not places:
            return self
        left = Passages([], [], [])
        for name in self.__slots__:
            column = getattr(self, name)
            kept = column and [value for i, value in enumerate(column) if i not in places]
            setattr(left, name, kept)
        return left

    def extend(self, others: Passages) -> None:
        """Add those after these."""
        n, more = len(self), len(others)
        self.sources = _joined(self.sources, others.sources, n, more, None)
        self.titles = _joined(self.titles, others.titles, n, more, None)
        self.own = _joined(self.own, others.own, n, more, ({}, None))
        self.ids += others.ids
        self.texts += others.texts
        self.digests += others.digests

    def document(self, place: int, first: int) -> DocumentValues:
        """The row of a document, where the key of the first is `first`."""
        return document(
            first + place,
            1,
            0,
            None,
            self.digests[place],
            self.ids[place],
            self.sources[place] if self.sources else None,
            self.titles[place] if self.titles else None,
            self.own[place][1] if self.own else None,
        )

    def chunk(self, place: int, first: int) -> ChunkValues:
        """The row of a chunk, likewise."""
        text = self.texts[place]
        return chunk(first + place, 0, None, 0, 1, text.count("\n"), None, None, text)

    def sums(self, first: int) -> tuple[list[int], list[int], list[int]]:
        """Checksums of documents, lines of chunks less one, and checksums of chunks, likewise."""
        from sleuth.store.record.sums import sums_of

        metadata = [text for _, text in self.own] if self.own else None
        return sums_of(first, self.digests, self.ids, self.sources, self.titles, metadata, self.texts)


def _joined(one: list[T] | None, other: list[T] | None, n: int, more: int, nothing: T) -> list[T] | None:
    """Two columns of `n` and `more` values as one; a column of nothing is None."""
    if one is None and other is None:
        return None
    return (one or [nothing] * n) + (other or [nothing] * more)


def distinct(  # noqa: PLR0917 - columns
    ids: Sequence[str],
    texts: Sequence[str],
    hashes: Sequence[str],
    metadata: Sequence[Mapping[str, Any] | None] | None,
    sources: Sequence[str | None] | None,
    titles: Sequence[str] | None,
) -> Iterator[Passages]:
    """Passages with distinct ids, some at a time; of equal ids the last stands.

    Raises:
        ArgumentError: columns of different length, or an id with a lone surrogate; before the first is given.
    """
    columns = {"texts": texts, "hashes": hashes, "metadata": metadata, "sources": sources, "titles": titles}
    for name, column in columns.items():
        if column is not None and len(column) != len(ids):
            raise ArgumentError(f"{name} must have the length of ids, {len(ids)}, got {len(column)}")
    record.check_texts(ids, "ids")
    wanted: Sequence[int] = range(len(ids))
    if len(set(ids)) < len(ids):
        wanted = list(dict(zip(ids, wanted, strict=True)).values())
    for at in range(0, len(wanted), _SLICE):
        take = partial(_take, places=wanted[at : at + _SLICE])
        yield Passages(
            take(ids),
            take(texts),
            take(hashes),
            metadata and take(metadata),
            sources and take(sources),
            titles and take(titles),
        )


def _take(column: Sequence[T], places: Sequence[int]) -> list[T]:
    """The values at these places, of which there is at least one."""
    if isinstance(places, range):
        return list(column[places.start : places.stop])
    return list(itemgetter(*places)(column)) if len(places) > 1 else [column[places[0]]]


def document(  # noqa: PLR0917 - the columns of the table, in order
    key: int, chunks: int, size: int, modified_ns: int | None, digest: bytes, name: str,
    source: str | None, title: str | None, metadata: str | None,
) -> DocumentValues:  # fmt: skip
    checksum = record.document_checksum(key, chunks, size, modified_ns, digest, name, source, title, metadata)
    return key, chunks, size, modified_ns, checksum, digest, name, source, title, metadata


def chunk(  # noqa: PLR0917 - the columns of the table, in order
    key: int, n: int, page: int | None, start: int, line: int, lines: int,
    fields: str | None, metadata: str | None, text: str,
) -> ChunkValues:  # fmt: skip
    checksum = record.chunk_checksum(key, n, page, start, line, lines, fields, metadata, text)
    return key, n, page, start, line, lines, checksum, fields, metadata, text


ChunkFacts = tuple[int | None, int, int, int, str | None, str | None, str]


def chunk_facts(
    chunks: Sequence[Chunk],
) -> tuple[list[ChunkFacts], dict[int, Mapping[str, str]], dict[int, Mapping[str, Any]]]:
    """Columns of chunks from `page` on, and by place the mappings behind their JSON."""
    rows: list[ChunkFacts] = []
    fields: dict[int, Mapping[str, str]] = {}
    details: dict[int, Mapping[str, Any]] = {}
    for n, chunk in enumerate(chunks):
        named_text = (
            record.to_json({k: v for k, v in chunk.fields.items() if v}, "chunk fields")
            if chunk.fields
            else None
        )
        if named_text:
            fields[n] = record.from_json(named_text)
        own, own_text = _normal(chunk.metadata, "chunk metadata") if chunk.metadata else (NOTHING, None)
        if own_text:
            details[n] = own  # type: ignore[assignment]
        text = record.check_text(chunk.text, "chunk text")
        lines = chunk.end_line - chunk.start_line
        rows.append((chunk.page, chunk.start, chunk.start_line, lines, named_text, own_text, text))
    return rows, fields, details


def own_metadata(
    metadata: Mapping[str, Any] | None, source: str | None, title: str
) -> tuple[Mapping[str, Any], str | None]:
    """A document's metadata without what its columns hold, and its JSON."""
    if not metadata:
        return {}, None
    held = {"source": source, "title": title or None}
    return _normal({k: v for k, v in metadata.items() if k not in held or v != held[k]}, "metadata")


def _normal(metadata: Mapping[str, Any], argument: str) -> tuple[Mapping[str, Any], str | None]:
    """Metadata as it will be read back (tuples are lists then, keys are strings), and its JSON."""
    text = record.to_json(metadata, argument)
    plain = all(type(key) is str and type(value) in _SCALARS for key, value in metadata.items())
    return (metadata if plain else record.from_json(text)), text


def text_or_none(text: str | None, default: str, argument: str) -> str | None:
    """None, which takes no space, for a text that is its default."""
    return None if text is None or text == default else record.check_text(text, argument)


def digests(hashes: Sequence[str]) -> list[bytes]:
    """As `digest`, for many."""
    try:
        return list(map(bytes.fromhex, hashes))
    except (ValueError, TypeError):
        return list(map(digest, hashes))


def digest(content_hash: str) -> bytes:
    try:
        return bytes.fromhex(content_hash)
    except (ValueError, TypeError):
        raise ArgumentError(f"content_hash must be hex digits, got {content_hash!r}") from None
