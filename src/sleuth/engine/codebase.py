"""Opens indexes of code with word legs of the lexical family.

from sleuth import CodeRetriever, index_path, open_code

with open_code(".sleuth", create=True) as storage:
    report = index_path(storage, "path/to/repository")
    retriever = CodeRetriever(storage, None)
    for hit in retriever.retrieve("where are tokens refilled", report.repository, strategy="keyword"):
        print(hit.render())
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sleuth.code import CodeStorage
from sleuth.code.snapshots.shelf import ANALYZERS, SOURCES, Words
from sleuth.errors import ArgumentError, StoreError
from sleuth.lexical import LexicalLeg
from sleuth.lexical.leg import FieldSpec
from sleuth.store import Finding, Repair
from sleuth.store.catalogue.schema import folder_at
from sleuth.store.disk.files import CODE
from sleuth.store.health.replacing import reading, successor

if TYPE_CHECKING:
    from collections.abc import Callable

    from sleuth.code.search.request import CodeRequest
    from sleuth.code.snapshots.health import CodeStatus
    from sleuth.code.snapshots.indexing import CodeIndexReport
    from sleuth.protocols import Embedder


def open_code(path: str | Path, *, create: bool = False) -> CodeStorage:
    """Return the code index in folder `path`.

    Args:
        create: make a missing one.

    Raises:
        ArgumentError: an index of documents is published there.
        IndexNotFoundError: the folder has no code index, and `create` is False.
    """
    if not os.path.isdir(str(path)):  # noqa: PTH112 - what is no path is refused below
        from sleuth.engine.index import opener_of

        if opener_of(path) is not None:
            raise ArgumentError(f"path must be a folder, got {str(path)!r}: `sleuth cluster fetch` makes one")
    fields = {
        name: {field: FieldSpec(ANALYZERS[name][field], SOURCES[name][field]) for field in ANALYZERS[name]}
        for name in Words._fields
    }
    words = Words(**{name: LexicalLeg(specs, name=name) for name, specs in fields.items()})
    return CodeStorage(path, words, create=create, embed=embed_code)


@contextmanager
def rebuilt_code(path: str | Path, *, timeout: float = 10.0) -> Iterator[tuple[CodeStorage, list[Path]]]:
    """Provide a new code index, which takes the place of the one in `path` after the block, and its repositories.

    Nothing is copied: the caller indexes the repositories again. If the block raises, the old index stays.

    Raises:
        IndexNotFoundError, IndexDamagedError, IndexLockedError, StoreError: as of `sleuth.engine.rebuilding.rebuilt`.
    """
    folder = folder_at(path)
    with successor(folder, CODE, timeout=timeout) as beside:
        with reading(folder, CODE) as connection:
            rows = connection.execute("SELECT path FROM repositories ORDER BY path").fetchall()
        with open_code(beside, create=True) as storage:
            yield storage, [Path(row[0]) for row in rows]


def has_code(path: Path) -> bool:
    """Return whether there is a code index in folder `path`, sound or not."""
    return os.path.lexists(path / CODE.record)


def check_code(path: Path, *, full: bool = False) -> list[Finding]:
    """Findings about the code index in folder `path`; those of one that does not open are errors."""
    from sleuth.code.snapshots import health

    try:
        with open_code(path) as storage:
            return health.check(storage, full=full)
    except StoreError as error:
        return [Finding("error", CODE.record, str(error))]


def repair_code(path: Path) -> list[Repair]:
    """Mend the code index in folder `path`.

    Raises:
        StoreError: it cannot be mended; the message says what to do.
    """
    from sleuth.code.snapshots import health

    with open_code(path) as storage:
        return health.repair(storage)


def code_status(path: Path) -> CodeStatus:
    """Return the code index in folder `path` at a glance."""
    from sleuth.code.snapshots import health

    with open_code(path) as storage:
        return health.status(storage)


def default_embedder() -> Embedder:
    """Return the embedder of code that needs no model to download.

    Raises:
        MissingPackageError: the extra `hybrid` is not installed.
    """
    from sleuth.dense.wordllama import CodeEmbedder, has_wordllama, missing_wordllama

    if not has_wordllama():
        raise missing_wordllama()
    return CodeEmbedder()


def embed_code(
    storage: CodeStorage,
    report: CodeIndexReport,
    progress: Callable[[int, int], None] | None = None,
    *,
    embedder: Embedder | None = None,
) -> None:
    """Make the vectors that a search needs of what was indexed; none where searches are by words alone.

    Args:
        progress: called with the files done so far and in total; what it raises ends the call.
        embedder: None for the default one, if it is installed.
    """
    from sleuth.code.search.vectors import embed_missing

    embedder = embedder or embedder_for()
    if embedder is not None:
        repository = storage.repository(report.repository)
        snapshot = storage.snapshot(repository, report.snapshot)
        embed_missing(storage.open_snapshot(repository, snapshot), embedder, progress)


def embedder_for(request: CodeRequest | None = None) -> Embedder | None:
    """Return what a request for code needs to search by meaning; None for words alone.

    Args:
        request: None for one with the default strategy.

    Raises:
        MissingPackageError: the request names a strategy that needs the extra `hybrid`, which is not installed.
    """
    from sleuth.dense.wordllama import has_wordllama

    strategy = None if request is None else request.strategy
    if strategy == "keyword" or (strategy is None and not has_wordllama()):
        return None
    return default_embedder()
