"""Which rows does a document become?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

from sleuth.errors import ArgumentError
from sleuth.store import record
from sleuth.store.batch import NOTHING
from sleuth.store.record import SIGN, ChunkValues, DocumentValues

if TYPE_CHECKING:
    from sleuth.types import Chunk

T = TypeVar("T")
_SLICE = 4096
"""Passages put at once."""
_SCALARS = frozenset({str, int, float, bool, type(None)})


class Passages:
    """Documents of one chunk each, column by column. What a row costs here is what adding a short text costs.

    Raises:
        ArgumentError: a lone surrogate, a hash that is not hex, metadata that JSON cannot hold.
    """

    def __init__(  # noqa: PLR0917 - columns
        self,
        ids: list[str],
        texts: list[str],
        hashes: list[str],
        metadata: Sequence[Mapping[str, Any] | None] | None,
        sources: Sequence[str | None] | None,
        titles: Sequence[str] | None,
    ) -> None:
        self.ids, self.texts = ids, texts
        self.digests = digests(hashes)
        n = len(ids)
        self.sources: Sequence[str | None] = [None] * n
        self.titles: Sequence[str | None] = self.sources
        self.own: Sequence[tuple[Mapping[str, Any], str | None]] = [({}, None)] * n
        if metadata:
            self.own = list(map(own_metadata, metadata, sources or repeat(None), titles or repeat("")))
        if sources:
            self.sources = [
                text_or_none(text, name, "sources") for text, name in zip(sources, ids, strict=True)
            ]
        if titles:
            self.titles = [text_or_none(text, "", "titles") for text in titles]

    def without(self, places: set[int]) -> Passages:
        """Those at other places."""
        if not places:
            return self
        left = object.__new__(Passages)
        for name, column in vars(self).items():
            setattr(left, name, [value for i, value in enumerate(column) if i not in places])
        return left

    def at(self, first: int) -> tuple[list[DocumentValues], list[ChunkValues], dict[int, Mapping[str, Any]]]:
        """Rows of both tables with keys from `first` on, and the metadata by key.

        Raises:
            ArgumentError: a text with a lone surrogate.
        """
        try:
            return self._rows(first)
        except UnicodeEncodeError:
            for text in self.texts:
                record.check_text(text, "texts")
            raise

    def _rows(
        self, first: int
    ) -> tuple[list[DocumentValues], list[ChunkValues], dict[int, Mapping[str, Any]]]:
        """As `at`.

        The checksums are those of `record.document_checksum` and `record.chunk_checksum`, written out.
        """
        keys = range(first, first + len(self.ids))
        texts = [text for _, text in self.own]
        sums = [
            crc32(f"{key}|1|0|None|{name}\0{source}\0{title}\0{own}".encode(), crc32(content_hash)) - SIGN
            for key, name, source, title, own, content_hash in zip(
                keys, self.ids, self.sources, self.titles, texts, self.digests, strict=True
            )
        ]
        documents = list(
            zip(
                keys,
                repeat(1),
                repeat(0),
                repeat(None),
                sums,
                self.digests,
                self.ids,
                self.sources,
                self.titles,
                texts,
            )
        )
        lines = list(map(str.count, self.texts, repeat("\n")))
        sums = [
            crc32(f"{key}|0|None|0|1|{count}|None\0None\0{text}".encode()) - SIGN
            for key, count, text in zip(keys, lines, self.texts, strict=True)
        ]
        chunks = list(
            zip(
                keys,
                repeat(0),
                repeat(None),
                repeat(0),
                repeat(1),
                lines,
                sums,
                repeat(None),
                repeat(None),
                self.texts,
            )
        )
        return documents, chunks, {key: own for key, (own, _) in zip(keys, self.own, strict=True) if own}


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
    wanted = list(dict(zip(ids, range(len(ids)), strict=True)).values())
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
