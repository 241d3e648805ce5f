"""Adds documents to the index in batches, and writes only those that changed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from sleuth.errors import ArgumentError
from sleuth.ingest.hashing import content_hash
from sleuth.ingest.reports import AddReport
from sleuth.ingest.validate import check, identify, in_document, split_metadata
from sleuth.text.chunkers import Chunker
from sleuth.types import Chunk, Document

if TYPE_CHECKING:
    from sleuth.store.writing import Writer

Report = TypeVar("Report", bound=AddReport)

BATCH = 1_000
"""Documents that are looked up and put together."""

COMMIT_BYTES = 64_000_000
"""Text between two commits: bounds memory, and what an interruption can lose."""

COMMIT_SECONDS = 10.0
"""Time between two commits at most, where documents come slowly."""


class State(NamedTuple):
    """What tells later, without reading it, that a file has not changed."""

    size: int = 0
    modified_ns: int | None = None


UNKNOWN: Final = State()


@dataclass(slots=True)
class _Passages:
    """Documents whose text is one passage, column by column."""

    ids: list[str] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)

    def add(self, id: str, digest: str, document: Document) -> None:
        self.ids.append(id)
        self.hashes.append(digest)
        self.documents.append(document)


class Adder(Generic[Report]):
    """Puts documents in batches and counts what became of them.

    Attributes:
        kept: the report as of the last commit.
    """

    def __init__(self, writer: Writer, chunker: Chunker, report: Report) -> None:
        self.writer = writer
        self.chunker = chunker
        self.report = report
        self.kept = replace(report)
        self.batch: dict[str, tuple[Document, State]] = {}
        self.committed = time.monotonic()

    def add(self, document: Document, state: State = UNKNOWN) -> None:
        self.batch[identify(document)] = document, state
        if len(self.batch) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Put the batch.

        Raises:
            ArgumentError: a document that the index cannot keep; names it.
        """
        batch, self.batch = self.batch, {}
        try:
            self._put_all(batch)
        except ArgumentError:
            for id, (document, _) in batch.items():
                try:
                    check(document)
                except ArgumentError as error:
                    raise ArgumentError(f"{error}{in_document(id)}") from error
            raise

    def _put_all(self, batch: Mapping[str, tuple[Document, State]]) -> None:
        """Put documents: short texts column-wise, the others each by itself."""
        known = self.writer.known(batch)
        passages = _Passages()
        for id, (document, state) in batch.items():
            digest = content_hash(document)
            before = known.get(id)
            if before is None:
                self.report.added += 1
            elif before.content_hash != digest:
                self.report.updated += 1
            else:
                self.report.unchanged += 1
                if (before.size, before.modified_ns) == state:
                    continue
                if "modified" not in document.metadata or "row" in document.metadata:
                    self._put(id, digest, document, state, [])
                    continue
                # Equal content is not put again, and its metadata say another time now.
                self.writer.delete([id])
            short = state.modified_ns is None
            if short and self._is_passage(document):
                passages.add(id, digest, document)
                continue
            chunks = self.chunker.split(document) or _title_alone(document)
            if short and _is_whole(chunks, document):
                passages.add(id, digest, document)
            else:
                self._put(id, digest, document, state, chunks)
        if passages.ids:
            self._put_passages(passages)

    def _is_passage(self, document: Document) -> bool:
        """Whether the whole text is seen at a glance to be the one chunk, which says nothing more than it."""
        text = document.page_content
        return bool(text) and not (text[0].isspace() or text[-1].isspace()) and self.chunker.fits(document)

    def _put(self, id: str, digest: str, document: Document, state: State, chunks: Sequence[Chunk]) -> None:
        metadata, source, title = split_metadata(document)
        self.writer.put(
            id, digest, chunks, metadata=metadata, source=source, title=title,
            size=state.size, modified_ns=state.modified_ns,
        )  # fmt: skip

    def _put_passages(self, passages: _Passages) -> None:
        ids, hashes, documents = passages.ids, passages.hashes, passages.documents
        texts = [document.page_content for document in documents]
        if not any(document.metadata for document in documents):
            self.writer.put_passages(ids, texts, hashes)
            return
        metadata, sources, titles = zip(*map(split_metadata, documents), strict=True)
        self.writer.put_passages(ids, texts, hashes, metadata=metadata, sources=sources, titles=titles)

    def delete(self, ids: Iterable[str]) -> int:
        """Delete documents; how many there were."""
        self.flush()
        return len(self.writer.delete(ids))

    def commit_is_due(self) -> bool:
        """Whether enough was put, or enough time has passed."""
        if time.monotonic() - self.committed >= COMMIT_SECONDS:
            return True
        return not self.batch and self.writer.pending_bytes >= COMMIT_BYTES  # it grows where the batch is put

    def commit(self) -> None:
        self.flush()
        self.report.version = self.writer.commit()
        self.kept = replace(self.report)
        self.committed = time.monotonic()


def _title_alone(document: Document) -> list[Chunk]:
    """What a document without text is found by: one empty passage under its title, unless a file's name stands in."""
    title = str(document.metadata.get("title") or "").strip()
    file = PurePath(str(document.metadata.get("source") or ""))
    return [Chunk("", 0, 0, 1, 1)] if title and title not in (file.name, file.stem) else []


def _is_whole(chunks: Sequence[Chunk], document: Document) -> bool:
    """Whether one chunk is the whole text and says nothing more than it."""
    if len(chunks) != 1:
        return False
    only = chunks[0]
    whole = len(only.text) == len(document.page_content) and only.start_line == 1
    return whole and only.page is None and not only.fields and not only.metadata
