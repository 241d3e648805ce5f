"""Opens the index that tools answer from, and makes sure that it is of the worktree that is asked about."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from sleuth.engine.first_index import FirstIndex, preload_code_modules
from sleuth.engine.freshness import WAIT, Refresher, Stale
from sleuth.errors import ArgumentError, IndexNotFoundError, UnknownRepositoryError
from sleuth.ingest import FileNames
from sleuth.protocols import Closing
from sleuth.remote import THREADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sleuth.code import CodeStorage, Snapshot
    from sleuth.code.snapshots.record import Repository
    from sleuth.code.snapshots.scope import CodeView
    from sleuth.engine import Engine
    from sleuth.engine.sources import Sources
    from sleuth.filters import Filter
    from sleuth.protocols import Retriever

NOTHING_SEEN = "no documents are indexed that this client may see"


@dataclass(eq=False)
class Workspace(Closing):
    """An index folder and the worktree it is asked about. Safe to share between threads.

    Nothing is opened before it is needed, and an index that is made later is found then.

    Attributes:
        index: the index folder, which need not exist yet.
        root: the folder whose documents and code are asked about; None for all that the index holds.
        refresh: index files that changed, in the background.
        index_first: index the code of the root at the first call, if nothing is indexed.
        engine: of the documents, where it is open already; it is not closed with the workspace.
        with_documents: whether documents may answer.
        offers: whether a repository may answer; all may where None.
        within: the repositories and folders of code that may answer, as of `CodeView`; all where None.
        scope: the documents that may answer; all where None.
        synonyms: file of synonyms of the documents; those of the index where None.
    """

    index: Path
    root: Path | None = None
    _: KW_ONLY
    refresh: bool = True
    index_first: bool = False
    engine: Engine | None = None
    with_documents: bool = True
    offers: Callable[[Repository], bool] | None = None
    within: Sequence[str] | None = None
    scope: Filter | None = None
    synonyms: Path | None = None

    def __post_init__(self) -> None:
        self.index = self.index.absolute()
        self.root = self.root.resolve() if self.root is not None else None
        self._guard = threading.RLock()
        self._engine = self.engine
        self._storage: CodeStorage | None = None
        self._tops: dict[Path, Path | None] = {}
        self._index_first = self.index_first and self.root is not None
        self._first: FirstIndex | None = None
        self.refresher = Refresher(self.documents, self.snapshots, write=self.refresh)

    @property
    def indexed_root(self) -> str:
        """The folder that answers are about: the one repository that is served, else the root, else the index's."""
        served = self.repositories()
        if len(served) == 1:
            return served[0].path
        return str(self.root or self.index.parent)

    def warm(self) -> None:
        """Begin to load what a first index and its search need, so that the first call need not wait for it."""
        if self._index_first:
            THREADS.submit(preload_code_modules)

    def ready(self, texts: Iterable[str]) -> bool:
        """Return whether something can answer; if nothing is indexed, begin with the files about these texts.

        Without `index_first` this is always true, and each call names the missing part itself.
        """
        with self._guard:
            if self._index_first and (self._first is None or self._first.is_over):
                from sleuth.code.snapshots.gradual import is_partial

                if self._is_of_another_worktree():
                    has_code_of_here = False
                    with suppress(ArgumentError):  # it has code of others alone
                        has_code_of_here = self.code() is not None
                    if not has_code_of_here:
                        self.index = self._here / ".sleuth"  # of this worktree alone
                infos = [snapshot.info for snapshot in self.snapshots()]
                if self.documents() is not None or (infos and not any(map(is_partial, infos))):
                    self._first, self._index_first = None, False
            if not self._index_first:
                return True
            if self._first is None:
                self._first = FirstIndex(self._made_code, self._here, self._answers)
            first = self._first
        first.ask(texts)
        return self._answers()

    @property
    def indexing(self) -> str:
        """Progress of the first index, or why it does not exist, or ""."""
        return "" if self._first is None else self._first.note

    def documents(self) -> Engine | None:
        """Return the engine over the documents, or None if the index has no documents of the root's worktree."""
        from sleuth.engine import Engine

        with self._guard:
            if self._engine is None and self.with_documents and self.index.is_dir():
                if self._is_of_another_worktree():
                    if self.code() is None:
                        raise self._refusal()
                    return None
                with suppress(IndexNotFoundError):
                    self._engine = Engine.open(self.index, synonyms=self.synonyms)
            engine = self._engine
        return engine if engine is None or self.scope is None else engine.scoped(self.scope)

    def code(self) -> CodeStorage | CodeView | None:
        """Return the storage of code, as far as it may answer, or None if the index has no code.

        Raises:
            ArgumentError: it is of another worktree than the root's, and has no code of the root's.
        """
        from sleuth.code.snapshots.scope import CodeView
        from sleuth.engine import open_code
        from sleuth.engine.codebase import has_code

        if self.within is not None and not self.within:
            return None
        with self._guard:
            if self._storage is None and has_code(self.index):
                try:
                    storage = open_code(self.index)
                except IndexNotFoundError:  # another process is making it
                    return None
                if self._is_of_another_worktree() and storage.repository_at(str(self._here)) is None:
                    storage.close()
                    raise self._refusal()
                self._storage = storage
            if self._storage is None or self.within is None:
                return self._storage
            return CodeView(self._storage, self.within)

    def repositories(self) -> list[Repository]:
        """Return what may answer: the repository of the root, those below a root outside git, or all if no root is set.

        One inside another, such as a submodule or a nested worktree, does not answer for a root.
        """
        from sleuth.code.snapshots.lookup import outermost

        storage = self.code()
        repositories = [] if storage is None else storage.repositories()
        if self.offers is not None:
            repositories = [repository for repository in repositories if self.offers(repository)]
        if self.root is None:
            return repositories
        if top := self._top(self.root):
            return [repository for repository in repositories if repository.path == str(top)]
        return outermost(r for r in repositories if Path(r.path).is_relative_to(self.root))

    def snapshots(self) -> list[Snapshot]:
        """Return the newest snapshot of each repository that may answer and has one."""
        storage = self.code()
        if storage is None:
            return []
        return [
            storage.open_snapshot(repository, storage.snapshot(repository))
            for repository in self.repositories()
            if any(info.status == "completed" for info in storage.snapshots(repository.id))
        ]

    def snapshots_at(self, at: str | None = None) -> list[Snapshot]:
        """Return the snapshots that answer about code: those of `at`, a commit, branch or tag, or else the newest ones.

        Raises:
            UnknownRepositoryError: no code of this root; says how to index it.
            UnknownSnapshotError: `at` is not indexed; lists what is.
        """
        storage, served = self.code(), self.repositories()
        if self.within is not None and not served:
            raise UnknownRepositoryError("nothing is indexed of the code that this key may search")
        if storage is None or not served:
            where = self.root or self.index.parent
            raise UnknownRepositoryError(
                f"no code of {where} is indexed in {self.index}: run `sleuth code index {quote(str(where))}`"
            )
        return [storage.open_snapshot(r, storage.snapshot(r, at)) for r in served]

    def sources(self) -> Sources:
        """Return one retriever over the documents and the code.

        Raises:
            ArgumentError: there is nothing within the scope.
            IndexNotFoundError: there is nothing yet; says how to index.
        """
        from sleuth.code.search.retriever import SnapshotRetriever
        from sleuth.engine.codebase import embedder_for
        from sleuth.engine.sources import Sources

        engine = self.documents()  # its hooks apply to code, too
        retrievers: dict[str, Retriever] = {} if engine is None else {"docs": engine.unhooked}
        storage = self.code()
        if storage is not None and self.repositories():
            is_first = self._first is not None and not self._first.is_over
            embedder = None if is_first else embedder_for()  # the first run makes the vectors
            retrievers |= {
                f"code:{s.repository.path}": SnapshotRetriever(
                    storage, s.repository.id, s.info.id, embedder=embedder
                )
                for s in self.snapshots_at()
            }
        if not retrievers and self.scope is not None:
            raise ArgumentError(NOTHING_SEEN)
        if not retrievers:
            where = self.root or self.index.parent
            raise IndexNotFoundError(
                f"nothing is indexed in {self.index}: run `sleuth index {quote(str(where))}` for documents or "
                f"`sleuth code index {quote(str(where))}` for code",
                path=str(self.index),
            )
        return Sources(retrievers, engine=engine)

    def stale(self, wait: float = WAIT) -> Stale:
        """Return how many files changed since they were indexed, as of some seconds ago, named as in ids."""
        if self._first is not None:
            return Stale()
        stale = self.refresher.check(wait)
        return replace(stale, paths=tuple(map(FileNames.beside(self.index).name_of, stale.paths)))

    def close(self) -> None:
        """Wait for a running refresh, and close the index."""
        if self._first is not None:
            self._first.close()
        self.refresher.finish()
        with self._guard:
            if self._engine is not None and self.engine is None:
                self._engine.close(finish=False)
            if self._storage is not None:
                self._storage.close()
            self._engine = self._storage = None

    def _made_code(self) -> CodeStorage:
        """Return the storage of code; a missing one is created."""
        from sleuth.engine import open_code

        with self._guard:
            if self._storage is None:
                self._storage = open_code(self.index, create=True)
            return self._storage

    def _answers(self) -> bool:
        return bool(self.snapshots())

    @property
    def _here(self) -> Path:
        """The worktree of the root, or the root itself outside git."""
        root = self.root or self.index.parent
        return self._top(root) or root

    def _is_of_another_worktree(self) -> bool:
        """Return whether the index is in another worktree than the root's."""
        if self.root is None:
            return False
        its = self._top(self.index.parent)
        return its is not None and its not in (self._here, self.root) and self.root not in its.parents

    def _refusal(self) -> ArgumentError:
        return ArgumentError(
            f"index must be of the worktree that is asked about, got {str(self.index)!r}, which is of "
            f"{self._top(self.index.parent)}, for {self._here}: "
            f"run `sleuth code index {quote(str(self._here))} --index {quote(str(self._here / '.sleuth'))}`"
        )

    def _top(self, folder: Path) -> Path | None:
        from sleuth.code.repository.git import root_of

        if folder not in self._tops:
            self._tops[folder] = root_of(folder) if folder.is_dir() else None
        return self._tops[folder]
