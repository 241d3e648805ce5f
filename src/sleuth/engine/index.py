"""What an engine is over: an open index, wherever its parts lie; and the one in a folder, of which others are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from sleuth.engine.embedders import RecordCache, is_slow, stand_in, words_only
from sleuth.engine.legs import fill, inspect, legs_that_rank, open_legs
from sleuth.engine.narrowing import SCOPES, Scope
from sleuth.engine.opening import OpenOptions, check_settings, open_index
from sleuth.engine.search import Searchers, check_legs
from sleuth.extensions import extensions, loaded
from sleuth.settings import IndexSettings
from sleuth.store.legs.recent import RecentValues
from sleuth.store.store import Store

if TYPE_CHECKING:
    from sleuth.engine.narrowing import NarrowedSnapshot
    from sleuth.filters import Filter
    from sleuth.ingest import FileNames
    from sleuth.ingest.chunkers import CheckedChunker
    from sleuth.protocols import DocumentChunker, Embedder
    from sleuth.store import Finding, IndexSnapshot, Repair
    from sleuth.store.legs.searching import IndexLeg
    from sleuth.text.chunkers import Chunker
    from sleuth.types import Ranking


class Backend:
    """An open index: a folder, several shards, a published version, or searchers on other machines.

    Contract: safe to share between threads; a snapshot never changes; failures raise SleuthError. Rankings do not
    depend on the backend. A read-only backend refuses changes with StoreError.

    Attributes:
        path: the index folder, or the address as a path.
        settings: what the index was made with.
        store: its rows and versions; one that is no single folder has the calls of `Store` that are used here.
        legs: all legs of the index.
        embedder: what makes the vectors; None for an index without vectors.
        chunker: the object that cuts documents, where the index was made with one.
        repairs: what was mended on opening.
    """

    def __init__(
        self,
        store: Store,
        legs: Sequence[IndexLeg],
        *,
        embedder: Embedder | None = None,
        chunker: DocumentChunker | None = None,
        repairs: Sequence[Repair] = (),
    ) -> None:
        """Create a backend over a store, which it closes."""
        self.store, self.legs, self.embedder, self.chunker = store, legs, embedder, chunker
        self.path = store.path
        self.settings = IndexSettings.from_dict(store.settings)
        self.repairs = tuple(repairs)
        self._searchers: RecentValues[Filter | None, Searchers] = RecentValues(SCOPES)
        self._opening = RLock()
        self._after_close: Callable[[], object] = lambda: None

    @cached_property
    def files(self) -> FileNames:
        """The names of files: the folder that holds the index folder is their base."""
        from sleuth.ingest import FileNames

        return FileNames.beside(self.path)

    @cached_property
    def cutter(self) -> Chunker | CheckedChunker:
        """What cuts its documents.

        Raises:
            ArgumentError: only the caller can give it and has not, or the package that has it is gone.
        """
        from sleuth.ingest import open_chunker

        return open_chunker(self.settings, self.chunker)

    @cached_property
    def later_legs(self) -> list[IndexLeg]:
        """The legs whose rows commits leave out, for `embed` to build."""
        return [leg for leg in self.legs if leg.deferred and not leg.missing]

    @cached_property
    def default_reranker(self) -> str:
        """The encoder that reranks unless a request says otherwise, as installed when first asked for; "" for none.

        It is the first known encoder that is installed. An index with vectors of a model is not reranked.
        """
        if is_slow(self.settings.embedder):
            return ""
        models = (plugin.load().default() for plugin in extensions("rerankers").values())
        return next(filter(None, models), "")

    @property
    def words_only(self) -> str:
        """Why words alone are searched, with the command that adds meaning; "" where meaning is searched too."""
        return words_only(self.settings.embedder, self.embedder)

    @property
    def vector_cache(self) -> RecordCache | None:
        """Where vectors are kept by embedder and text; None where making them costs next to nothing."""
        is_cached = any(leg.of_embedder and leg.deferred for leg in self.legs)
        return RecordCache(self.store) if is_cached else None

    def searchers_of(self, snapshot: IndexSnapshot) -> Searchers:
        """Return the searchers of a version, made once and shared by all threads; of a scope, as it narrows them."""
        searchers = self._searchers.get(snapshot.scope)
        if searchers is None or not searchers.show(snapshot):
            with self._opening:
                searchers = self._searchers_at(snapshot, searchers)
                self._searchers.put(snapshot.scope, searchers)
        return searchers

    def _searchers_at(self, snapshot: IndexSnapshot, previous: Searchers | None) -> Searchers:
        """Return new searchers of a version; what did not change since the previous ones is taken from those."""
        if snapshot.scope is None:
            return Searchers(snapshot, self.legs, previous)
        narrowed = cast("NarrowedSnapshot", snapshot)
        return self.searchers_of(narrowed.base).of_scope(narrowed, previous)

    def narrow(self, snapshot: IndexSnapshot, scope: Filter) -> IndexSnapshot:
        """Return a snapshot of the whole index as a scope narrows it."""
        return self.searchers_of(snapshot).narrow(snapshot, Scope.of(scope, self.settings))

    def searcher(self, leg: str) -> Any:
        """Return one leg of the newest version, for measurements: keys and scores, without text.

        Raises:
            ArgumentError: no such leg, or no one searcher sees the whole index.
        """
        with self.store.reader() as snapshot:
            searchers = self.searchers_of(snapshot)
        check_legs([leg], searchers.legs)
        return searchers.by_leg[leg]

    def ask(self, search: Callable[[], Ranking]) -> Ranking:
        """Run a search; where a part of the index dies meanwhile, run it again without that part."""
        return search()

    def embed(self, progress: Callable[[int, int], None] | None, *, timeout: float) -> int:
        """Build the rows of legs that commits left out; the number of passages.

        Args:
            progress: called with passages done and passages to do.
        """
        return sum(fill(self.store, leg, progress, timeout=timeout) for leg in self.later_legs)

    def status(self) -> dict[str, Any]:
        """Counts, sizes in bytes, versions, per leg; plain values, fit for JSON."""
        status = self.store.status()
        weights = {name: leg.weight for name, leg in legs_that_rank(self.legs).items()}
        return {
            "path": str(status.path),
            "documents": status.counts.documents,
            "passages": status.counts.chunks,
            "record_bytes": status.record_bytes,
            "format": status.format,
            "version": status.version,
            "changed_at": status.changed_at,
            "settings": dict(status.settings),
            "words_only": self.words_only,
            "reranker": self.default_reranker,
            "holder": status.holder and dict(status.holder),
            "legs": {
                leg.name: {
                    "passages": leg.rows - leg.dead,
                    "uncovered": leg.uncovered,
                    "deleted": leg.dead,
                    "segments": leg.segments,
                    "bytes": leg.bytes,
                    "fingerprint": leg.fingerprint,
                    "weight": weights.get(leg.name),
                }
                for leg in status.legs
            },
        }

    def check(self, *, full: bool) -> list[Finding]:
        """Prove that every leg covers every passage once; with `full`, also every checksum."""
        return [*inspect(self.store, self.legs), *self.store.check(full=full)]

    def repair(self) -> list[Repair]:
        """Check fully and mend what can be mended."""
        return self.store.repair()

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call this after the index is closed."""
        self._after_close = callback

    def close(self, *, finish: bool = True) -> None:
        """Close the index. Closing twice is fine."""
        self._searchers.clear()
        self.store.close(finish=finish)
        self._after_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close(finish=exc[0] is None)


class IndexBackend(Backend):
    """The index in one folder."""

    def __init__(
        self, store: Store, embedder: Embedder | None = None, chunker: DocumentChunker | None = None
    ) -> None:
        """Create a backend over an open store, which it closes.

        Args:
            embedder: of an index whose settings name one.
        """
        legs = open_legs(IndexSettings.from_dict(store.settings), embedder, RecordCache(store))
        repairs = store.attach(legs, deferred=[leg.name for leg in legs if leg.deferred])
        super().__init__(store, legs, embedder=embedder, chunker=chunker, repairs=repairs)

    @classmethod
    def open(cls, path: str | Path, options: OpenOptions) -> IndexBackend:
        """Open the index in a folder; errors are those of `Engine.open`."""
        store, model = open_index(path, options)
        return cls._over(store, model, None if isinstance(options.chunker, str) else options.chunker)

    @classmethod
    def _over(cls, store: Store, embedder: Embedder | None, chunker: DocumentChunker | None) -> IndexBackend:
        try:
            return cls(store, embedder, chunker)
        except BaseException:
            store.close()
            raise

    def open_beside(self, path: str | Path, *, create: bool = False) -> IndexBackend:
        """Open another index of the same settings, with the embedder of this one.

        Raises:
            ArgumentError: its settings differ; names the first that does.
        """
        settings = self.settings.to_dict()
        store = Store.open(path, create=create, settings=settings)
        try:
            check_settings(settings, store.settings, store.path)
        except BaseException:
            store.close()
            raise
        substitute = stand_in(self.settings.embedder, store) if hasattr(self.embedder, "missing") else None
        return self._over(store, substitute or self.embedder, self.chunker)


class BackendKind(NamedTuple):
    """A kind of index.

    Attributes:
        fits: whether an index of this kind is at a path.
        open: opens it.
    """

    fits: Callable[[str | Path], bool]
    open: Callable[[str | Path, OpenOptions], Backend]


@cache
def _kinds() -> tuple[BackendKind, ...]:
    """Return the kinds of the cluster and of plugins."""
    return tuple(loaded("backends", BackendKind))


def opener_of(path: str | Path) -> Callable[[str | Path, OpenOptions], Backend] | None:
    """Return what opens the index at this path; None where it is one folder of this machine."""
    if Store.is_at(path):
        return None
    return next((kind.open for kind in _kinds() if kind.fits(path)), None)
