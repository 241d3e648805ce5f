"""The engine: opens an index, adds to it, and answers from it.

with Engine.open("index", create=True) as engine:
    engine.add([Document("Tokens are refilled every second.", {"source": "limits.md"})])
    for item in engine.retrieve("how often are tokens refilled", k=3):
        print(item.score, item.id, item.text)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.engine import retrieval
from sleuth.engine.answering import Answering
from sleuth.engine.backends import opener_of
from sleuth.engine.contents import Contents
from sleuth.engine.embedders import RecordCache, words_only
from sleuth.engine.expansion import Expansion
from sleuth.engine.fusion import Fusion
from sleuth.engine.legs import inspect, legs_that_rank, open_legs
from sleuth.engine.opening import check_settings, open_index
from sleuth.engine.request import SearchRequest
from sleuth.engine.search import SearchersOfNewest, check_legs, check_query, vector_leg
from sleuth.errors import ArgumentError
from sleuth.filters import all_of, as_filter, to_text
from sleuth.remote import async_twin
from sleuth.settings import IndexSettings
from sleuth.store import Store
from sleuth.types import Ranking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.engine.search import Searchers
    from sleuth.filters import Filter
    from sleuth.hooks import Morpheus
    from sleuth.protocols import DocumentChunker, Embedder, Reranker
    from sleuth.store import Finding, IndexLeg, IndexSnapshot, RankingLeg, Repair


class Engine(Contents, Answering):
    """An open index: adds documents and answers queries. Safe to share between threads.

    Attributes:
        path: the index folder.
        settings: what the index was made with.
        repairs: what was mended on opening; empty for a healthy index.
        scope: the filter that everything is limited to, None for no limit.
    """

    _parent: Engine | None = None
    """The engine that a view was made of."""
    _after_close: Callable[[], object] = staticmethod(lambda: None)

    def __init__(
        self, store: Store, embedder: Embedder | None = None, *, scope: Filter | None = None
    ) -> None:
        """Create an engine over an open store; users call `Engine.open`.

        Args:
            embedder: of an index whose settings name one.
            scope: see `Engine.open`.
        """
        self.scope = scope
        self._is_view = False
        self._store = store
        self.path = store.path
        self.settings = IndexSettings.from_dict(store.settings)
        self._embedder = embedder
        self._legs: Sequence[IndexLeg] = open_legs(self.settings, embedder, RecordCache(store))
        self._searchers = SearchersOfNewest(self._legs)
        deferred = [leg.name for leg in self._legs if leg.deferred]
        self.repairs: tuple[Repair, ...] = tuple(store.attach(self._legs, deferred=deferred))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: bool = False,
        settings: IndexSettings | Mapping[str, Any] | None = None,
        embedder: Embedder | str | None = None,
        re_embed: bool = False,
        scope: Filter | Mapping[str, Any] | str | None = None,
        chunker: DocumentChunker | str | None = None,
    ) -> Engine:
        """Open the index in folder `path`, or the index of several shards there.

        Args:
            create: make it where there is none.
            settings: for a new index; an index that is there keeps its own, and other values are refused.
            embedder: an `Embedder`, or its spelling: "wordllama" (offline, nothing to download; the default where the
                extra `hybrid` is installed), "" for words alone, "ollama:MODEL", "openai:MODEL", ... (see
                `sleuth.engine.embedders`).
            re_embed: forget all vectors and take `embedder` from now on; where None, the index's own, as when a model
                has changed under its name, or the default one where it has none. `embed`, `add` and `index` make the
                new ones, and can be broken off.
            scope: a filter that everything is limited to: searches, `get`, listings, counts, facets, changes and
                deletions. See `scoped`.
            chunker: for a new index: what cuts documents into passages, or the name of an installed one; None for the
                built-in one. An index that was made with an object needs it again to add documents.

        Raises:
            IndexNotFoundError: no index there, and `create` is False.
            IndexDamagedError, FormatVersionError: an index that cannot be read; the message says what to do.
            ArgumentError: a path that can be none; settings that are invalid, or not those of the index.
            EmbedderMismatchError: another embedder than that of the index, without `re_embed`; names both.
            EmbeddingError, MissingPackageError: the embedder does not load, or with `re_embed` gives no vector; no
                index is made then, and one that is there stays as it is.
        """
        if opener := opener_of(path):
            options = {"create": create, "settings": settings, "embedder": embedder, "re_embed": re_embed}
            return opener(path, scope=scope, chunker=chunker, **options)
        limit = as_filter(scope)
        store, model = open_index(path, settings, embedder, chunker, create=create, re_embed=re_embed)
        try:
            engine = cls(store, model, scope=limit)
        except BaseException:
            store.close()
            raise
        engine._chunker = None if isinstance(chunker, str) else chunker
        return engine

    aopen = classmethod(async_twin(open))

    def retrieve(
        self,
        query: str,
        k: int = 10,
        *,
        filter: Filter | Mapping[str, Any] | str | None = None,
        legs: Sequence[str] | None = None,
        fusion: Fusion | str | None = None,
        expand: Expansion = None,
        explain: bool = False,
        exact: bool = False,
        deadline: float | None = None,
        syntax: bool = False,
        min_score: float | None = None,
        rerank: Reranker | str | None = None,
    ) -> Ranking:
        """Return the best `k` passages for `query` in the newest committed version, as hooks of plugins leave them.

        A blank query and a `k` of 0 find nothing.

        Args:
            k: 0 or more; a k above what there is gives all there is.
            filter: which passages may answer: a tree, a Mongo-style dict or the text form (`docs/filters.md`).
            legs: names of legs, such as `["lexical"]` (words) or `["dense"]` (meaning); all that rank where None.
            fusion: how several legs become one ranking: a `Fusion` or its printed form.
            expand: give each passage with its neighbours (how many on each side), its "section" or its "document";
                hits that a better one then holds are left out.
            explain: attach to every item how its score comes about.
            exact: give up no passage by an estimate of its score: slower, and the ranking does not depend on how
                passages lie in segments or shards, not even at the far end of a leg's pool.
            deadline: seconds that the search may take; None for no limit. A leg that has not answered by then is
                abandoned.
            syntax: read phrases in quotes, `-word` and `field:word` in the query, and name words that no passage holds
                in `Ranking.notes`, with the nearest word of the index (`docs/search.md`).
            min_score: leave out passages that have less in common with the query, from 0, which leaves out those that
                have nothing in common, to 1, all words or the same meaning. None leaves out no single passage; where
                none has anything in common with the query, as with gibberish, nothing is found.
            rerank: scores the best 100 passages again: a `Reranker`, or the name of a cross-encoder.

        Returns:
            The passages, and a report per leg. An embedder that does not answer is a failed leg, reported in
            `Ranking.failures`, while the words still answer. `Ranking.notes` names keys of the filter that no document
            has. Heads of rankings agree: the one for k begins the one for
            k + 1, as long as k is within the fusion's pool.

        Raises:
            ArgumentError: a query that is not a string, a k that is negative or not an int, an unknown leg.
            FilterError: a filter that cannot be read; says where.
            EmbeddingError: the embedder does not answer, and no other leg was asked.
            RetrievalError: no leg answered before the deadline, or a hook of a plugin failed.
        """
        request = SearchRequest(
            query=query,
            k=k,
            filter=filter,
            legs=legs,
            fusion=fusion,
            expand=expand,
            explain=explain,
            exact=exact,
            deadline=deadline,
            syntax=syntax,
            min_score=min_score,
            rerank=rerank,
        )
        return self.run(request)

    aretrieve = async_twin(retrieve)

    def _answer(self, request: SearchRequest) -> Ranking:
        return retrieval.retrieve(self, request)

    def nearest(
        self,
        vector: Sequence[float] | NDArray[np.floating[Any]],
        k: int = 10,
        *,
        filter: Filter | Mapping[str, Any] | str | None = None,
        exact: bool = False,
    ) -> Ranking:
        """Return the best `k` passages by the cosine of their vectors with a given one, as a vector store answers.

        Args:
            vector: shape (dimension,), made with the embedder of the index.
            exact: as in `retrieve`.

        Raises:
            ArgumentError: an index without vectors, a vector that is none, or a k that is negative or not an int.
            FilterError: a filter that cannot be read; says where.
            EmbeddingError: a vector of another length.
        """
        import numpy as np

        try:
            query = np.asarray(vector, np.float32)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"vector must be numbers, got {vector!r}") from error
        k = check_query("", k)
        tree = all_of(self.scope, as_filter(filter))
        with self._store.reader() as snapshot:
            searchers = self.searchers_of(snapshot)
            vector_leg(searchers.legs)
            if not k:
                return Ranking(())
            hits = searchers.nearest(query, k, tree, snapshot=snapshot, exact=exact)
            return Ranking(snapshot.items(hits.keys.tolist(), hits.scores.tolist()))

    anearest = async_twin(nearest)

    def open_beside(self, path: str | Path, *, create: bool = False) -> Engine:
        """Open another index of the same settings, with the embedder of this one.

        Raises:
            ArgumentError: its settings differ; names the first that does.
        """
        store = Store.open(path, create=create, settings=self.settings.to_dict())
        try:
            check_settings(self.settings.to_dict(), store)
            engine = Engine(store, self.embedder)
        except BaseException:
            store.close()
            raise
        engine._chunker = self._chunker
        return engine

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call this when the engine has let go of the index."""
        self._after_close = callback

    @property
    def store(self) -> Store:
        """Where the index lives: for what is built over several engines."""
        return self._store

    @property
    def embedder(self) -> Embedder | None:
        """What makes the vectors of the index; None where it has none."""
        return self._embedder

    @property
    def words_only(self) -> str:
        """Why words alone are searched, with the command that adds meaning; "" where meaning is searched too."""
        return words_only(self.settings.embedder, self.embedder)

    @property
    def vector_cache(self) -> RecordCache | None:
        """Where vectors are kept by embedder and text; None where making them costs next to nothing."""
        is_cached = any(leg.of_embedder and leg.deferred for leg in self._legs)
        return RecordCache(self._store) if is_cached else None

    @property
    def legs(self) -> dict[str, RankingLeg[Any]]:
        """The legs that rank, by name."""
        return legs_that_rank(self._legs)

    def searcher(self, leg: str) -> Any:
        """Return one leg of the newest version, for measurements: keys and scores, without text."""
        with self._store.reader() as snapshot:
            searchers = self.searchers_of(snapshot)
        check_legs([leg], searchers.legs)
        return searchers.by_leg[leg]

    def idf(self, terms: Iterable[str]) -> dict[str, float]:
        """Return how rare each term is among the passages: BM25's idf, the largest for a term that none holds."""
        with self._store.reader() as snapshot:
            return self.searchers_of(snapshot).idf(terms, snapshot)

    def refresh(self) -> int:
        """Load the newest committed version now, as the next `retrieve` would; returns its number."""
        with self._store.reader() as snapshot:
            return self.searchers_of(snapshot).version

    arefresh = async_twin(refresh)

    def status(self) -> dict[str, Any]:
        """Counts, sizes in bytes, versions, per leg; plain values, fit for JSON."""
        status = self._store.status()
        return {
            "path": str(status.path),
            "documents": status.counts.documents,
            "passages": status.counts.chunks,
            "record_bytes": status.record_bytes,
            "format": status.format,
            "version": status.version,
            "settings": dict(status.settings),
            "words_only": self.words_only,
            "holder": status.holder and dict(status.holder),
            "legs": {
                leg.name: {
                    "passages": leg.rows - leg.dead,
                    "uncovered": leg.uncovered,
                    "deleted": leg.dead,
                    "segments": leg.segments,
                    "bytes": leg.bytes,
                    "fingerprint": leg.fingerprint,
                }
                for leg in status.legs
            },
        }

    astatus = async_twin(status)

    def check(self, *, full: bool = False) -> list[Finding]:
        """Prove that every leg covers every passage once; with `full`, also every checksum."""
        self._check_unscoped("check the index")
        return [*inspect(self._store, self._legs), *self._store.check(full=full)]

    acheck = async_twin(check)

    def repair(self) -> list[Repair]:
        """Check fully and mend what can be mended; documents that lost a part are removed, and named.

        A record whose structure is damaged is rebuilt first from what can be read of it.
        """
        self._check_unscoped("repair the index")
        return self._store.repair()

    arepair = async_twin(repair)

    def wait(self) -> None:
        """Wait until all merges that are due are done; raises what they raised."""
        self._store.wait()

    def compact(self) -> None:
        """Merge each leg into one segment and give free space back to the disk."""
        self._check_unscoped("compact the index")
        self._store.compact()

    acompact = async_twin(compact)

    def scoped(self, filter: Filter | Mapping[str, Any] | str) -> Engine:
        """Return a view of this index that sees only what matches a filter, within the scope of this engine.

        It shares the open index and costs next to nothing, so a server can make one for each user. Hooks and plugins of
        this engine apply; those that are added to the view apply to it alone. Closing it leaves this engine open.

        Raises:
            FilterError: a filter that cannot be read.
        """
        limit = all_of(self.scope, as_filter(filter))
        if as_filter(filter) is None:
            raise ArgumentError(f"filter must say what the view may see, got {filter!r}")
        view = copy(self)
        for name in ("_registry", "_hooks_lock", "manager"):
            view.__dict__.pop(name, None)
        view.scope, view._is_view, view._parent = limit, True, self
        return view

    def _base_hooks(self) -> Morpheus | None:
        return None if self._parent is None else self._parent.morpheus

    def close(self, *, finish: bool = True) -> None:
        """Let go of the index, after its plugins. Closing twice is fine.

        Args:
            finish: do the merges first that adding and deleting have made due, which takes a second or so for every
                100,000 passages just added. Else they are left to a later commit, and queries are slower till then.
        """
        try:
            self.unload_plugins()
        finally:
            if not self._is_view:
                self._searchers.forget()
                self._store.close(finish=finish)
                self._after_close()

    aclose = async_twin(close)

    def __repr__(self) -> str:
        scope = "" if self.scope is None else f", scope={to_text(self.scope)!r}"
        return f"{type(self).__name__}({str(self.path)!r}{scope})"

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close(finish=exc[0] is None)

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose(finish=exc[0] is None)

    def searchers_of(self, snapshot: IndexSnapshot) -> Searchers:
        """Return the searchers of a version, made once and shared by all threads."""
        return self._searchers.of(snapshot)
