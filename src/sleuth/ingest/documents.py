"""Adds documents to the index in batches, and writes only those that changed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Generic, TypeVar

from sleuth.ingest.loaders.file import has_lines
from sleuth.ingest.options import AUTO
from sleuth.ingest.reports import AddReport
from sleuth.ingest.validate import PreparedDocument, prepare, with_language
from sleuth.store import DocumentBatch, Known
from sleuth.store.writing.transaction import BATCH_BYTES
from sleuth.types import Chunk

if TYPE_CHECKING:
    from sleuth.files import FileFormat
    from sleuth.ingest.chunkers import CheckedChunker
    from sleuth.store import Writer
    from sleuth.text.chunkers import Chunker
    from sleuth.types import Document

Report = TypeVar("Report", bound=AddReport)

BATCH = 1_000
"""Documents per batch of lookups and writes."""

BATCH_CHARACTERS = 1 << 21
"""Characters of a batch: each text is in memory twice, whole and in passages, until the batch is written."""

COMMIT_BYTES = 64_000_000
"""Bytes of text between two commits: limits memory, and the loss when a run is interrupted."""

COMMIT_SECONDS = 10.0
"""Longest time between two commits if documents arrive slowly."""


def _move_passages(documents: list[PreparedDocument], batch: DocumentBatch) -> None:
    """Add documents whose whole text is one passage to a batch, column by column, and empty their list."""
    whole, ids, hashes, metadata, sources, titles = map(list, zip(*documents, strict=True))
    texts = [document.page_content for document in whole]
    batch.add_passages(ids, hashes, texts, metadata=metadata, sources=sources, titles=titles)
    documents.clear()


class Adder(Generic[Report]):
    """Writes documents in batches and counts added, updated and unchanged ones.

    Attributes:
        kept: the report as of the last commit.
        loaders: formats of the files that follow, as of `ReadOptions`.
    """

    def __init__(
        self, writer: Writer, chunker: Chunker | CheckedChunker, report: Report, language: str = AUTO
    ) -> None:
        """Adds to an index.

        Args:
            language: of documents whose metadata names none: a code, "auto" to detect it, or "" for none.
        """
        self.writer = writer
        self.language = language
        self.loaders: Sequence[FileFormat] = ()
        self.chunker = chunker
        self.report = report
        self.kept = replace(report)
        self.batch: dict[str, PreparedDocument] = {}
        self.characters = 0
        self.committed = time.monotonic()

    def add(self, document: Document) -> None:
        """Add a document, with its language as metadata; within a batch, the last of equal ids wins.

        Raises:
            ArgumentError: the index cannot keep the document; names it.
        """
        self.add_prepared(prepare(with_language(document, self.language)))

    def add_prepared(self, prepared: PreparedDocument) -> None:
        """Add a document that reading has prepared, as `add` does."""
        self.batch[prepared.id] = prepared
        self.characters += len(prepared.document.page_content)
        if len(self.batch) >= BATCH or self.characters >= BATCH_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Write those of the added documents that have changed."""
        documents, self.batch, self.characters = self.batch, {}, 0
        records = self.writer.known(documents)
        batch, passages = DocumentBatch(), list[PreparedDocument]()
        for prepared in documents.values():
            document, record = prepared.document, records.get(prepared.id)
            if record is None:
                self.report.added += 1
            elif record.content_hash != prepared.content_hash:
                self.report.updated += 1
            else:
                self.report.unchanged += 1
                values = prepared.metadata.values if prepared.metadata else {}
                if Known.of(prepared.content_hash, values).is_kept_by(record):
                    continue
            text, metadata = document.page_content, document.metadata
            # Whether lines of the text are lines of the file or the page that a reader can open.
            lines_are_true = ("path" not in metadata and metadata.get("source_type") != "web") or (
                "member" not in metadata and has_lines(str(metadata.get("type")), self.loaders)
            )
            is_trimmed = bool(text) and not (text[0].isspace() or text[-1].isspace())
            if lines_are_true and is_trimmed and self.chunker.fits(document):  # surely one passage
                passages.append(prepared)
                continue
            chunks = self.chunker.split(document)
            if not chunks:  # its title matches an empty passage, unless that is the name of the file
                title = str(document.metadata.get("title") or "").strip()
                file = PurePath(str(document.metadata.get("source") or ""))
                chunks = [Chunk("", 0, 0, 1, 1)] if title and title not in (file.name, file.stem) else []
            if lines_are_true and _is_whole(chunks, document):
                passages.append(prepared)
                continue
            if passages:
                _move_passages(passages, batch)
            batch.add(
                prepared.id,
                prepared.content_hash,
                chunks,
                metadata=prepared.metadata,
                source=prepared.source,
                title=prepared.title,
                has_lines=lines_are_true,
            )
            if batch.characters >= BATCH_BYTES:  # long documents: no more of them in memory than needed
                self.writer.put_batch(batch)
                batch = DocumentBatch()
        if passages:
            _move_passages(passages, batch)
        if batch.ids:
            self.writer.put_batch(batch)

    def delete(self, ids: Iterable[str]) -> int:
        """Delete documents and return how many the index held."""
        self.flush()
        return len(self.writer.delete(ids))

    def commit_is_due(self) -> bool:
        """Return whether enough text is pending, or enough time has passed since the last commit."""
        if time.monotonic() - self.committed >= COMMIT_SECONDS:
            return True
        # Grows only when a batch is written.
        return not self.batch and self.writer.pending_bytes >= COMMIT_BYTES

    def commit(self) -> None:
        self.flush()
        self.report.version = self.writer.commit()
        self.kept = replace(self.report)
        self.committed = time.monotonic()


def _is_whole(chunks: Sequence[Chunk], document: Document) -> bool:
    """Return whether the only chunk is the whole text, without fields of its own."""
    if len(chunks) != 1:
        return False
    only = chunks[0]
    is_all_text = only.text == document.page_content and only.start_line == 1
    return is_all_text and only.page is None and not only.fields and not only.metadata
