"""Adds documents to the index in batches, and writes only those that changed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from sleuth.ingest.reports import AddReport
from sleuth.ingest.validate import PreparedDocument, prepare
from sleuth.store.pending import BATCH_BYTES
from sleuth.store.record.batch import DocumentBatch
from sleuth.store.record.values import Known
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


class _Passages:
    """Documents whose whole text is one passage, on their way into a batch together."""

    def __init__(self) -> None:
        self.documents: list[PreparedDocument] = []

    def move_to(self, batch: DocumentBatch) -> None:
        """Add them to a batch, column by column."""
        documents, self.documents = self.documents, []
        ids = [document.id for document in documents]
        hashes = [document.content_hash for document in documents]
        texts = [document.document.page_content for document in documents]
        if any(document.document.metadata for document in documents):
            batch.add_passages(
                ids,
                hashes,
                texts,
                metadata=[document.metadata for document in documents],
                sources=[document.source for document in documents],
                titles=[document.title for document in documents],
            )
        else:
            batch.add_passages(ids, hashes, texts)


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
        self.batch: dict[str, tuple[PreparedDocument, State]] = {}
        self.committed = time.monotonic()

    def add(self, document: Document, state: State = UNKNOWN) -> None:
        """Add a document; of equal ids in a batch the last stands.

        Raises:
            ArgumentError: the index cannot keep the document; names it.
        """
        prepared = prepare(document)
        self.batch[prepared.id] = prepared, state
        if len(self.batch) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Put the documents that were added and have changed."""
        documents, self.batch = self.batch, {}
        known = self.writer.known(documents)
        batch, passages = DocumentBatch(), _Passages()
        for prepared, state in documents.values():
            if not self._has_changed(prepared, state, known.get(prepared.id)):
                continue
            document = prepared.document
            short = state.modified_ns is None
            if short and self._is_passage(document):
                passages.documents.append(prepared)
                continue
            chunks = self.chunker.split(document) or _title_alone(document)
            if short and _is_whole(chunks, document):
                passages.documents.append(prepared)
                continue
            passages.move_to(batch)
            batch.add(
                prepared.id,
                prepared.content_hash,
                chunks,
                metadata=prepared.metadata,
                source=prepared.source,
                title=prepared.title,
                size=state.size,
                modified_ns=state.modified_ns,
            )
            if batch.characters >= BATCH_BYTES:  # long documents: no more of them in memory than needed
                self.writer.put_batch(batch)
                batch = DocumentBatch()
        passages.move_to(batch)
        if len(batch):
            self.writer.put_batch(batch)

    def _has_changed(self, prepared: PreparedDocument, state: State, known: Known | None) -> bool:
        """Whether a document is to be put; counts it either way."""
        if known is None:
            self.report.added += 1
            return True
        if known.content_hash != prepared.content_hash:
            self.report.updated += 1
            return True
        self.report.unchanged += 1
        if (known.size, known.modified_ns) == state:
            return False
        if "modified" not in prepared.document.metadata or "row" in prepared.document.metadata:
            self.writer.touch(prepared.id, state.size, state.modified_ns)
            return False
        # Equal content is not put again, and its metadata say another time now.
        self.writer.delete([prepared.id])
        return True

    def _is_passage(self, document: Document) -> bool:
        """Whether the whole text is seen at a glance to be the one chunk, which says nothing more than it."""
        text = document.page_content
        return bool(text) and not (text[0].isspace() or text[-1].isspace()) and self.chunker.fits(document)

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
