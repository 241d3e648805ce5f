"""How does a version of a repository become a snapshot?

Files whose path and content are known cost nothing. The rest are taken apart in worker threads, which parse without the
interpreter's lock, and committed in batches; then the snapshot is, in one transaction.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sleuth.code.analyse import Analysed, analyse_many
from sleuth.code.labels import category_of
from sleuth.code.languages import language_of
from sleuth.code.sources import DiskSource, Listed, Source, source_at
from sleuth.code.storage import CodeStorage

_BATCH_BYTES = 400_000
_COMMIT_FILES = 4_000
_ALONE = 40
"""Fewer new files than this are not worth starting workers."""


@dataclass(slots=True)
class IndexReport:
    """What an indexing run did.

    Attributes:
        repository, snapshot: their ids; `names` are the branches and tags of the snapshot.
        files: listed by the snapshot; `added` of them were new to the index.
        chunks: of the new files.
        skipped: (path, reason) of files that are not searched.
        seconds: wall time.
    """

    repository: str
    path: str
    snapshot: str
    names: tuple[str, ...] = ()
    files: int = 0
    added: int = 0
    chunks: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return {name: getattr(self, name) for name in self.__slots__} | {"names": list(self.names)}


def index_path(
    storage: CodeStorage,
    path: str | Path,
    *,
    revision: str | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    timeout: float = 10.0,
) -> IndexReport:
    """Index what is at `path`: a git worktree as it is, a commit of it, or a plain folder.

    Args:
        revision: a commit, branch or tag; read from git, the worktree is not touched.
        workers: threads that parse; one per core where None.
        progress: called with (files done, files to do).
        timeout: seconds to wait for another run.

    Raises:
        ArgumentError: a path that is no folder.
        CodeError: an unknown revision, or git failed.
        IndexLockedError: another run is at work; names it.
    """
    return index_source(
        storage, source_at(path, revision), workers=workers, progress=progress, timeout=timeout
    )


def index_source(
    storage: CodeStorage,
    source: Source,
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    timeout: float = 10.0,
) -> IndexReport:
    """`index_path` of any source."""
    began = time.perf_counter()
    with storage.writing(timeout):
        repository = storage.add_repository(str(source.root), source.url)
        if isinstance(source, DiskSource):
            source.remembered = storage.file_times(repository.id)
        version, listed = source.listing()
        report = IndexReport(repository.id, repository.path, version.id, version.names, files=len(listed))
        storage.begin(repository.id, version.id, version.commit, version.names)
        try:
            members = _members(storage, source, listed, report, workers=workers, progress=progress)
            storage.complete(repository.id, version.id, version.names, np.array(members, np.int64))
        except BaseException as error:
            storage.fail(repository.id, version.id, f"{type(error).__name__}: {error}")
            raise
        if isinstance(source, DiskSource):
            storage.keep_file_times(repository.id, source.seen)
        storage.shelf.merge_all(storage)
    report.seconds = time.perf_counter() - began
    return report


def _members(
    storage: CodeStorage,
    source: Source,
    listed: Sequence[Listed],
    report: IndexReport,
    *,
    workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> list[int]:
    """Keys of the file versions of the listing, the new ones added."""
    pairs = [(file.path, file.hash or f"skip {file.skip}") for file in listed]
    known = storage.known_files(report.repository, pairs)
    report.skipped = [(f.path, f.skip) for f in listed if f.skip]
    new = [(f, pair) for f, pair in zip(listed, pairs, strict=True) if pair not in known]
    report.added = len(new)
    batch: list[tuple[str, Analysed]] = []
    pending = [(f, p[1]) for f, p in new if not f.skip]
    unread = [(p[1], _unread(f)) for f, p in new if f.skip]
    keys = list(known.values()) + storage.add_files(report.repository, unread)
    workers = workers or os.cpu_count() or 1
    for done, (hash, analysed) in enumerate(_analysed(source, pending, workers), 1):
        batch.append((hash, analysed))
        report.chunks += len(analysed.chunk_texts.get("body", ()))
        if analysed.skip:
            report.skipped.append((analysed.path, analysed.skip))
        if len(batch) >= _COMMIT_FILES:
            keys += storage.add_files(report.repository, batch)
            batch.clear()
        if progress is not None and (done % 50 == 0 or done == len(pending)):
            progress(done, len(pending))
    return keys + storage.add_files(report.repository, batch)


def _unread(file: Listed) -> Analysed:
    """A file that is listed and not read."""
    language = language_of(file.path)
    name = language.name if language else ""
    return Analysed(
        file.path, name, category_of(file.path, name or None), "", 0, 0, file.skip, b"", b"", {}, {}
    )


def _analysed(
    source: Source, pending: Sequence[tuple[Listed, str]], workers: int
) -> Iterator[tuple[str, Analysed]]:
    """Files taken apart, in order; a bounded number of batches is under way at once."""
    alone = workers < 2 or len(pending) < _ALONE
    pool = nullcontext(None) if alone else ThreadPoolExecutor(workers, "sleuth-parse")
    with pool as executor:
        waiting: list[tuple[list[str], Future[list[Analysed]] | list[Analysed]]] = []
        for hashes, files in _batches(source, pending):
            waiting.append((hashes, _submit(executor, files)))
            if len(waiting) > 2 * workers:
                yield from _finished(*waiting.pop(0))
        for part in waiting:
            yield from _finished(*part)


def _submit(
    executor: Executor | None, files: list[tuple[str, bytes]]
) -> Future[list[Analysed]] | list[Analysed]:
    return analyse_many(files) if executor is None else executor.submit(analyse_many, files)


def _finished(
    hashes: list[str], result: Future[list[Analysed]] | list[Analysed]
) -> Iterator[tuple[str, Analysed]]:
    yield from zip(hashes, result.result() if isinstance(result, Future) else result, strict=True)


def _batches(
    source: Source, pending: Sequence[tuple[Listed, str]]
) -> Iterator[tuple[list[str], list[tuple[str, bytes]]]]:
    hashes: list[str] = []
    files: list[tuple[str, bytes]] = []
    size = 0
    contents = source.read([file for file, _ in pending])
    for (file, hash), content in zip(pending, contents, strict=True):
        hashes.append(hash)
        files.append((file.path, content))
        size += len(content)
        if size >= _BATCH_BYTES:
            yield hashes, files
            hashes, files, size = [], [], 0
    if files:
        yield hashes, files
