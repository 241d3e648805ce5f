"""The engine: opens an index, adds to it, and answers from it.

with Engine.open("index", create=True) as engine:
    engine.add([Document("Tokens are refilled every second.", {"source": "limits.md"})])
    for item in engine.retrieve("how often are tokens refilled", k=3):
        print(item.score, item.id, item.text)
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import sleuth.engine as package  # its names are imported when they are first used
from sleuth import filters
from sleuth.arguments import PER_DOCUMENT, hinted
from sleuth.engine.answers import Answering
from sleuth.engine.documents import Documents
from sleuth.engine.searching import IndexSearch
from sleuth.engine.synonyms import Synonyms
from sleuth.engine.view import IndexView
from sleuth.errors import ArgumentError
from sleuth.remote import async_twin

if TYPE_CHECKING:
    from sleuth.engine.expansion import Expansion
    from sleuth.engine.fusion import Fusion
    from sleuth.engine.index import Backend
    from sleuth.engine.synonyms import SynonymForm
    from sleuth.filters import Filter
    from sleuth.ingest import FileNames
    from sleuth.protocols import DocumentChunker, Embedder, Reranker
    from sleuth.settings import IndexSettings
    from sleuth.store import Finding, RankingLeg, Repair
    from sleuth.store.store import Store
    from sleuth.types import Ranking


P = ParamSpec("P")
T = TypeVar("T")

_INTERNAL = frozenset({"backend", "idf", "searcher", "store"})


def forwarded(
    part: str, method: Callable[Concatenate[Any, P], T]
) -> tuple[Callable[Concatenate[Any, P], T], Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]]:
    """Return a method that calls one of a part, with the same arguments, result and documentation, and its async twin.

    Args:
        part: the attribute that holds the part.
    """
    name = method.__name__
    call = wraps(method)(lambda self, *args, **kwargs: getattr(getattr(self, part), name)(*args, **kwargs))
    forward: Any = hinted(call)
    return forward, async_twin(forward)


class Engine(Answering):
    """An open index: adds documents and answers queries. Safe to share between threads.

    It answers questions (`Answering`), and offers the calls of two objects over one backend: `Documents` and
    `IndexSearch`.

    Attributes:
        backend: the open index, wherever its parts lie.
        path: the index folder.
        settings: what the index was made with.
        repairs: what was mended on opening; empty for a healthy index and with a scope.
        scope: the filter that everything is limited to, None for no limit.
    """

    @hinted
    def __init__(
        self,
        backend: Backend,
        *,
        scope: Filter | None = None,
        parent: Engine | None = None,
        synonyms: Synonyms | None = None,
    ) -> None:
        """Create an engine over an open index, which it closes; users call `Engine.open`.

        Args:
            scope: see `Engine.open`.
            parent: the engine that this one is a view of: its hooks apply here, too, and it closes the index.
            synonyms: see `Engine.open`.
        """
        if isinstance(backend, str | PathLike):
            raise ArgumentError(
                f"an index is opened with Engine.open({str(backend)!r}), not with Engine(...)"
            )
        view = IndexView(backend, scope, synonyms)
        self.backend, self.path, self.scope = backend, backend.path, scope
        self.repairs = backend.repairs if scope is None else ()  # they name documents of all
        self._view, self._parent = view, parent
        self._documents, self._search = Documents(view), IndexSearch(view)
        super().__init__(
            self._search.answer,
            backend.settings,
            lambda: backend.embedder,
            rarity=view.idf,
            correct=self._search.correct,
            parent=parent,
        )

    @classmethod
    @hinted
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
        synonyms: SynonymForm | None = None,
    ) -> Engine:
        """Open the index in folder `path`, or the index of several shards there.

        Args:
            create: make a missing one.
            settings: for a new index; an index that is there keeps its own, and other values are refused.
            embedder: an `Embedder`, or its spelling: "wordllama" (offline, nothing to download; the default where the
                extra `hybrid` is installed), "" for words alone, "ollama:MODEL", "openai:MODEL", ... (see
                `sleuth.engine.embedders`).
            re_embed: forget all vectors and take `embedder` from now on; where None, the index's own, as when a model
                has changed under its name, or the default one. `embed`, `add` and `index` make the new ones, and can be
                broken off.
            scope: a filter that everything is limited to: searches, `get`, listings, counts, facets, changes and
                deletions. See `scoped`.
            chunker: for a new index: what cuts documents into passages, or the name of an installed one; None for the
                built-in one. An index that was made with an object needs it again to add documents.
            synonyms: words that stand for each other in searches: a file, or a mapping of words to lists of words. None
                takes the file `synonyms.txt` in the index folder, if there is one.

        Raises:
            IndexNotFoundError: no index there, and `create` is False.
            IndexDamagedError, FormatVersionError: an index that cannot be read; the message says what to do.
            ArgumentError: a path that can be none; settings that are invalid, or not those of the index.
            EmbedderMismatchError: another embedder than that of the index, without `re_embed`; names both. Where an
                index was made with an object and `embedder` is None, words answer, and vectors wait for the object.
            EmbeddingError, MissingPackageError: the embedder does not load, or with `re_embed` gives no vector; no
                index is made then, and one that is there stays as it is.
        """
        # What opens an index loads numpy and every leg, which a program that only names this class does without.
        from sleuth.engine.index import IndexBackend, opener_of
        from sleuth.engine.opening import OpenOptions

        limit = filters.as_filter(scope)
        options = OpenOptions(
            create=create, settings=settings, embedder=embedder, re_embed=re_embed, chunker=chunker
        )
        own_synonyms = Synonyms.of(synonyms)
        backend = (opener_of(path) or IndexBackend.open)(path, options)
        try:
            if own_synonyms is None:
                own_synonyms = Synonyms.of_index(backend.path)
            return cls(backend, scope=limit, synonyms=own_synonyms)
        except BaseException:
            backend.close(finish=False)
            raise

    aopen = classmethod(async_twin(open))

    @hinted
    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None,
        legs: Sequence[str] | None = None, fusion: Fusion | str | None = None, expand: Expansion = None,
        explain: bool = False, exact: bool = False, deadline: float | None = None, syntax: bool = False,
        min_score: float | None = None, fold_copies: bool = False, per_document: int = PER_DOCUMENT,
        rerank: Reranker | str | None = None, sort: str | None = None, collapse: str | None = None,
        recency: str | None = None, boost: Mapping[str, float] | str | None = None, fuzzy: int = 0,
        synonyms: bool = True,
    ) -> Ranking:  # fmt: skip
        """Return the best `k` passages for `query` in the newest committed version, as hooks of plugins leave them.

        A blank query and a `k` of 0 find nothing.

        Args:
            k: 0 or more; a k above the number of hits gives all.
            filter: which passages may answer: a tree, a Mongo-style dict or the text form (`docs/concepts/filters.md`).
            legs: names of legs, such as lexical (words) or dense (meaning); all that rank where None.
            fusion: how several legs become one ranking: a `Fusion` or its printed form.
            expand: give each passage with its neighbours (how many on each side), its "section" or its "document".
            explain: attach to every item how its score is computed.
            exact: score every passage, instead of dropping some by an estimate: slower, and independent of segments.
            deadline: seconds that the search may take; None for no limit. A leg that is late is abandoned.
            syntax: read phrases in quotes, `-word` and `field:word` in the query, and name words that no passage holds
                in `Ranking.notes`, with the nearest word of the index (`docs/how-to/search-documents.md`).
            min_score: leave out passages that have less in common with the query, from 0 (nothing) to 1 (all words or
                the same meaning). None leaves out no single passage; a query of gibberish finds nothing all the same.
            fold_copies: leave out passages whose text repeats that of a better one, which names them
                (`RetrievedItem.copies`).
            per_document: how many of the first ten passages one document may have, 0 for no limit. What gives way
                follows behind them; if the other documents cannot fill ten places, it stays.
            rerank: orders the best passages again: a `Reranker`, or the name of an installed model; "" for none.
                By default (None), if neither `legs` nor `fusion` is named, a known encoder that is installed reranks an
                index without vectors of a model (`docs/how-to/choose-a-model.md`).
            sort: metadata key that orders the passages, "-date" with the greatest value first; the score decides among
                equal values (`docs/how-to/sort-and-boost.md` says which passages are sorted).
            collapse: metadata key of which each value has one passage, the best; `item.folded` counts the others.
            recency: favours new passages by a date and a half-life, such as "date:30d".
            fuzzy: by how many edits words may differ, 0 to 2; the word itself counts most.
            synonyms: whether the synonyms of the index take part.
            boost: what the scores of passages that match filters are multiplied by: `{"kind:note": 2}`.

        Returns:
            The passages, and a report per leg. An embedder that does not answer is a failed leg, reported in
            `Ranking.failures`, while the words still answer. `Ranking.notes` names keys of the filter that no document
            has. The ranking for k begins the one for k + 1.

        Raises:
            ArgumentError: a query that is not a string, a k that is negative or not an int, an unknown leg.
            FilterError: a filter that cannot be read; says where.
            EmbeddingError: the embedder does not answer, and no other leg was asked.
            RetrievalError: no leg answered before the deadline, or a hook of a plugin failed.
        """
        request = package.SearchRequest(
            query=query, k=k, filter=filter, legs=legs, fusion=fusion, expand=expand, explain=explain, exact=exact,
            deadline=deadline, syntax=syntax, min_score=min_score, fold_copies=fold_copies, per_document=per_document,
            rerank=rerank, sort=sort, collapse=collapse, recency=recency, boost=boost, fuzzy=fuzzy, synonyms=synonyms,
        )  # fmt: skip
        return self.run(request)

    aretrieve = async_twin(retrieve)

    nearest, anearest = forwarded("_search", IndexSearch.nearest)
    count, acount = forwarded("_search", IndexSearch.count)
    facets, afacets = forwarded("_search", IndexSearch.facets)
    grep, agrep = forwarded("_search", IndexSearch.grep)
    metadata_keys, ametadata_keys = forwarded("_search", IndexSearch.metadata_keys)
    suggest, asuggest = forwarded("_search", IndexSearch.suggest)

    add, aadd = forwarded("_documents", Documents.add)
    index, aindex = forwarded("_documents", Documents.index)
    roots, aroots = forwarded("_documents", Documents.roots)
    skips, askips = forwarded("_documents", Documents.skips)
    move, amove = forwarded("_documents", Documents.move)
    embed, aembed = forwarded("_documents", Documents.embed)
    update, aupdate = forwarded("_documents", Documents.update)
    delete, adelete = forwarded("_documents", Documents.delete)
    get, aget = forwarded("_documents", Documents.get)
    documents, adocuments = forwarded("_documents", Documents.documents)
    list_documents, alist_documents = forwarded("_documents", Documents.list_documents)

    def idf(self, terms: Iterable[str]) -> dict[str, float]:
        """Return how rare each term is among the passages: BM25's idf, the largest for a term that none holds."""
        return self._view.idf(terms)

    def searcher(self, leg: str) -> Any:
        """Return one leg of the newest version, for measurements: keys and scores, without text.

        Raises:
            ArgumentError: no such leg, no one searcher sees the whole index, or an engine with a scope.
        """
        self._view.check_unscoped("measure a leg")
        return self.backend.searcher(leg)

    @property
    def files(self) -> FileNames:
        """The names of files in this index: the folder that holds the index folder is their base."""
        return self.backend.files

    @property
    def store(self) -> Store:
        """Where the index lives: for what is built over several engines."""
        return self._view.store

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of the index, or None."""
        return self.backend.embedder

    @property
    def words_only(self) -> str:
        """Why words alone are searched, with the command that adds meaning; "" where meaning is searched too."""
        return self.backend.words_only

    @property
    def legs(self) -> dict[str, RankingLeg[Any]]:
        """The legs that rank, by name."""
        from sleuth.engine.legs import legs_that_rank

        return legs_that_rank(self.backend.legs)

    def refresh(self) -> int:
        """Load the newest committed version now, as the next `retrieve` would; returns its number."""
        with self._view.store.reader() as snapshot:
            return self.backend.searchers_of(snapshot).version

    arefresh = async_twin(refresh)

    def status(self) -> dict[str, Any]:
        """Counts, sizes in bytes, versions, per leg; plain values, fit for JSON. With a scope, the counts alone."""
        if self.scope is None:
            return self.backend.status()
        count, settings = self.count(), self.backend.settings
        counts = {"documents": count.documents, "passages": count.passages}
        return {**counts, "settings": settings.to_dict(), "words_only": self.words_only}

    astatus = async_twin(status)

    def check(self, *, full: bool = False) -> list[Finding]:
        """Prove that every leg covers every passage once; with `full`, also every checksum."""
        self._view.check_unscoped("check the index")
        return self.backend.check(full=full)

    acheck = async_twin(check)

    def repair(self) -> list[Repair]:
        """Check fully and mend what can be mended; documents that lost a part are removed, and named.

        A record whose structure is damaged is rebuilt first from its readable rows.
        """
        self._view.check_unscoped("repair the index")
        return self.backend.repair()

    arepair = async_twin(repair)

    def wait(self) -> None:
        """Wait until all merges that are due are done; raises what they raised."""
        self.store.wait()

    def compact(self) -> None:
        """Merge each leg into one segment and give free space back to the disk."""
        self._view.check_unscoped("compact the index")
        self.store.compact()

    acompact = async_twin(compact)

    def scoped(self, filter: Filter | Mapping[str, Any] | str) -> Engine:
        """Return a view of this index that sees only what matches a filter, within the scope of this engine.

        It shares the open index and costs next to nothing, so a server can make one for each user. Hooks and plugins of
        this engine apply; those that are added to the view apply to it alone. Closing it leaves this engine open.

        Raises:
            FilterError: a filter that cannot be read.
        """
        tree = filters.as_filter(filter)
        if tree is None:
            raise ArgumentError(f"filter must say what the view may see, got {filter!r}")
        view = Engine(
            self.backend, scope=filters.all_of(self.scope, tree), parent=self, synonyms=self._view.synonyms
        )
        view.use_model(self.model)
        return view

    def close(self, *, finish: bool = True) -> None:
        """Close the index, after its plugins. Closing twice is fine.

        Args:
            finish: do the merges first that adding and deleting have made due, which takes a second or so for every
                100,000 passages just added. Else they are left to a later commit, and queries are slower till then.
        """
        try:
            self.unload_plugins()
        finally:
            if self._parent is None:
                self.backend.close(finish=finish)

    aclose = async_twin(close)

    def __repr__(self) -> str:
        scope = "" if self.scope is None else f", scope={filters.to_text(self.scope)!r}"
        return f"{type(self).__name__}({str(self.path)!r}{scope})"

    def __dir__(self) -> list[str]:
        """Return the names that users need: neither private ones nor those for what is built over engines."""
        return [name for name in super().__dir__() if not name.startswith("_") and name not in _INTERNAL]

    def __exit__(self, *exc: object) -> None:
        self.close(finish=exc[0] is None)
