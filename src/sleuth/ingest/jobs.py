"""How do documents and folders get into the index, so that doing it again costs nothing?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from sleuth.errors import ArgumentError
from sleuth.ingest.hashing import content_hash
from sleuth.ingest.records import FileRead, Progress, Skipped, Unchanged
from sleuth.settings import IndexSettings
from sleuth.text.chunkers import Chunker
from sleuth.types import Chunk, Document

if TYPE_CHECKING:
    from sleuth.ingest.options import ReadOptions
    from sleuth.store.store import Store
    from sleuth.store.writing import Writer

BATCH = 1_000
"""Documents that are looked up and put together."""

COMMIT_BYTES = 64_000_000
"""Text between two commits: bounds memory, and what an interruption can lose."""

COMMIT_SECONDS = 10.0
"""Time between two commits at most, where documents come slowly."""


@dataclass(slots=True)
class AddReport:
    """What an add did.

    Attributes:
        added, updated, unchanged: documents.
        seconds: wall time.
        version: the version of the index after the last commit.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    seconds: float = 0.0
    version: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return asdict(self)


@dataclass(slots=True)
class IndexReport(AddReport):
    """What reading files and folders did.

    Attributes:
        read: files that were read.
        bytes: of those files.
        deleted: documents deleted because their file no longer gives them.
        pruned: documents deleted because their file is gone.
        skipped: what could not be read, with the reason.
        documents, passages: what the index holds now.
        interrupted: whether Ctrl-C ended it; what was read is committed.
    """

    read: int = 0
    bytes: int = 0
    deleted: int = 0
    pruned: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    documents: int = 0
    passages: int = 0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far `index` has come.

    Attributes:
        files, bytes: dealt with so far.
        total_files: None until all folders have been walked.
        seconds: since the start.
    """

    files: int
    bytes: int
    total_files: int | None
    seconds: float


class IndexInterrupted(KeyboardInterrupt):
    """Ctrl-C during `Engine.index`. What was read is committed.

    Attributes:
        report: what was done so far.
    """

    def __init__(self, report: IndexReport) -> None:
        super().__init__()
        self.report = report


def add_documents(
    store: Store,
    settings: IndexSettings,
    documents: Iterable[Document],
    *,
    progress: Callable[[AddReport], None] | None = None,
    timeout: float = 10.0,
) -> AddReport:
    """Add documents in batches, each committed whole; see `Engine.add`."""
    started = time.monotonic()
    report = AddReport(version=store.version)
    chunker = Chunker(settings.chunk_size, settings.chunk_overlap)
    with store.writer(timeout=timeout) as writer:
        adder = _Adder(writer, chunker, report)
        for document in documents:
            adder.add(document)
            if adder.commit_is_due():
                adder.commit()
                report.seconds = time.monotonic() - started
                if progress:
                    progress(report)
        adder.commit()
    report.seconds = time.monotonic() - started
    if progress:
        progress(report)
    return report


def index_paths(
    store: Store,
    settings: IndexSettings,
    paths: Sequence[str | Path],
    *,
    options: ReadOptions | None = None,
    prune: bool = False,
    progress: Callable[[IndexProgress], None] | None = None,
    timeout: float = 10.0,
) -> IndexReport:
    """Bring the index up to date with files and folders; see `Engine.index`."""
    started = time.monotonic()
    roots = _roots(paths)
    report = IndexReport(version=store.version)
    files = _known_files(store, roots)
    with store.writer(timeout=timeout) as writer:
        adder = _Adder(writer, Chunker(settings.chunk_size, settings.chunk_overlap), report)
        run = _Run(adder, files, report)
        try:
            for entry in _read(roots, options, run, progress, started):
                run.take(entry)
            run.finish(prune=prune)
        except KeyboardInterrupt:
            report.interrupted = True
        adder.commit()
    with store.reader() as snapshot:
        counts = snapshot.counts()
    report.documents, report.passages = counts.documents, counts.chunks
    report.seconds = time.monotonic() - started
    if report.interrupted:
        raise IndexInterrupted(report)
    return report


def identify(document: Document) -> str:
    """The id that names a document in the index: its own, else its source, else a hash of its content.

    Raises:
        ArgumentError: an id or a text that is not a string, or an id that is blank.
    """
    if not isinstance(document.page_content, str):
        raise ArgumentError(f"page_content must be a string, got {document.page_content!r}")
    id = document.id if document.id is not None else document.metadata.get("source")
    if id is None:
        return content_hash(document)
    if not isinstance(id, str) or not id.strip():
        raise ArgumentError(f"id (or metadata['source']) must be a string that is not blank, got {id!r}")
    return id


class _State(NamedTuple):
    """What tells later, without reading it, that a file has not changed."""

    size: int = 0
    modified_ns: int | None = None


_UNKNOWN = _State()


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


class _Adder:
    """Puts documents in batches and counts what became of them."""

    def __init__(self, writer: Writer, chunker: Chunker, report: AddReport) -> None:
        self.writer = writer
        self.chunker = chunker
        self.report = report
        self.batch: dict[str, tuple[Document, _State]] = {}
        self.committed = time.monotonic()

    def add(self, document: Document, state: _State = _UNKNOWN) -> None:
        self.batch[identify(document)] = document, state
        if len(self.batch) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Put the batch: short texts column-wise, the others each by itself."""
        batch, self.batch = self.batch, {}
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
                if (before.size, before.modified_ns) != state:
                    self._put(id, digest, document, state, [])
                continue
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

    def _put(self, id: str, digest: str, document: Document, state: _State, chunks: Sequence[Chunk]) -> None:
        metadata, source, title = _split_metadata(document)
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
        metadata, sources, titles = zip(*map(_split_metadata, documents), strict=True)
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


def _split_metadata(document: Document) -> tuple[dict[str, Any] | None, str | None, str]:
    """Metadata without `source` and `title`, and these two, as the record keeps them."""
    if not document.metadata:
        return None, None, ""
    metadata = dict(document.metadata)
    source = metadata.pop("source", None)
    title = metadata.pop("title", None)
    if source is not None and not isinstance(source, str):
        raise ArgumentError(f"metadata['source'] must be a string, got {source!r}")
    return metadata, source, "" if title is None else str(title)


@dataclass(slots=True)
class _File:
    """A file as the index knows it.

    Attributes:
        ids: documents that it gave.
        state: as of when it was read; None where that reading did not end.
    """

    ids: set[str] = field(default_factory=set)
    state: _State | None = None


def _file_of(document_id: str, metadata: Mapping[str, Any]) -> str:
    """The file that gave a document: rows are named `file#row`."""
    return document_id.rpartition("#")[0] if "row" in metadata else document_id


def _known_files(store: Store, roots: Sequence[Path]) -> dict[str, _File]:
    """Files below the roots that the index holds documents of."""
    files: dict[str, _File] = {}
    with store.reader() as snapshot:
        for root in roots:
            for document in snapshot.documents(under=str(root)):
                known = files.setdefault(_file_of(document.source, document.metadata), _File())
                known.ids.add(document.id)
                if document.modified_ns is not None:
                    known.state = _State(document.size, document.modified_ns)
    return files


class _Run:
    """Follows what reading yields, file by file.

    The last document of a file carries its size and time, so a file that was broken off is read again.
    """

    def __init__(self, adder: _Adder, files: dict[str, _File], report: IndexReport) -> None:
        self.adder = adder
        self.files = files
        self.report = report
        self.held: Document | None = None
        self.given: set[str] = set()
        self.seen: set[str] = set()

    def unchanged(self, source: str, size: int, modified_ns: int) -> bool:
        known = self.files.get(source)
        return known is not None and known.state == (size, modified_ns)

    def take(self, entry: Document | Skipped | Unchanged | FileRead) -> None:
        if isinstance(entry, Document):
            self._release()
            self.held = entry
            self.given.add(identify(entry))
        elif isinstance(entry, FileRead):
            self._release(_State(entry.size, entry.modified_ns))
            self._end_file(entry)
        elif isinstance(entry, Unchanged):
            self.seen.add(entry.source)
            self.report.unchanged += len(self.files[entry.source].ids)
        else:
            if entry.kind != "row":
                self._release()
                self.given = set()
            self.report.skipped.append(entry)
            if entry.kind != "vanished":
                self.seen.add(entry.source.rpartition("#")[0] if entry.kind == "row" else entry.source)
        if self.adder.commit_is_due():
            self.adder.commit()

    def _release(self, state: _State = _UNKNOWN) -> None:
        if self.held is not None:
            document, self.held = self.held, None
            self.adder.add(document, state)

    def _end_file(self, entry: FileRead) -> None:
        self.seen.add(entry.source)
        self.report.read += 1
        self.report.bytes += entry.size
        known = self.files.get(entry.source)
        if known is not None and (gone := known.ids - self.given):
            self.report.deleted += self.adder.delete(sorted(gone))
        self.given = set()

    def finish(self, *, prune: bool) -> None:
        """Put what is left; delete what is gone, where that is wanted."""
        self._release()
        if prune:
            gone = [id for source, known in self.files.items() if source not in self.seen for id in known.ids]
            self.report.pruned = self.adder.delete(sorted(gone))


def _roots(paths: Sequence[str | Path]) -> list[Path]:
    if isinstance(paths, str | Path):
        raise ArgumentError(
            f"paths must be a list of files and folders, got {paths!r}; write [{str(paths)!r}]"
        )
    roots = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 - resolve() would follow links
    if missing := [str(path) for path, root in zip(paths, roots, strict=True) if not root.exists()]:
        raise ArgumentError(f"paths must name files or folders that exist, got {', '.join(missing)}")
    return roots


def _read(
    roots: Sequence[Path],
    options: ReadOptions | None,
    run: _Run,
    progress: Callable[[IndexProgress], None] | None,
    started: float,
) -> Iterator[Document | Skipped | Unchanged | FileRead]:
    from sleuth.ingest.pipeline import read

    def show(now: Progress) -> None:
        if progress:
            progress(IndexProgress(now.files, now.bytes, now.total_files, time.monotonic() - started))

    return read(roots, options=options, unchanged=run.unchanged, progress=show)
