"""Answers from several sources at once: documents, code, the web, knowledge bases, and retrievers of your own.

from sleuth import open_sources

with open_sources(".sleuth", ["docs", "code"]) as sources:
    for item in sources.retrieve("where are tokens refilled", k=5):
        print(item.metadata["source_type"], item.metadata["source"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.compose import FusedRetriever
from sleuth.compose.arrange import NotedItems
from sleuth.compose.labelled import LabelledRetriever
from sleuth.compose.variety import WINDOW, choose
from sleuth.engine.answers import Answering
from sleuth.engine.codebase import embedder_for
from sleuth.engine.hooked import Unhooked
from sleuth.engine.queries import parse_query
from sleuth.engine.request import WITHOUT_VARIETY, SearchRequest, check_sources
from sleuth.engine.reranking import NOT_RERANKED, Reranking, are_english
from sleuth.engine.scale import FIRST, has_words_in_common, on_one_scale
from sleuth.engine.spelling import misspelling_of
from sleuth.errors import ArgumentError, StoreError, UnknownRepositoryError
from sleuth.files.formats import CODE
from sleuth.filters import all_of, any_of, as_filter, field
from sleuth.ingest import is_below
from sleuth.remote import Deadline, async_twin
from sleuth.settings import IndexSettings
from sleuth.text.analyzers import get_analyzer
from sleuth.types import Ranking

if TYPE_CHECKING:
    from sleuth.engine.engine import Engine
    from sleuth.engine.synonyms import SynonymForm
    from sleuth.filters import Filter, FilterForm
    from sleuth.protocols import Embedder, Retriever
    from sleuth.types import RetrievedItem

POOL = 100
"""Items asked of each source at most; beyond them nothing is found."""

_TOGETHER = 20
"""Items of all sources among which a document takes the place of an equal file of code."""

_DOCUMENTS = ("legs", "fusion", "expand", "min_score")
"""Options that need the documents alone."""

_FIELDS = {"title", "source", "source_type", "path", "language", "symbol", "name", "kind", "category"}
"""Metadata keys that the search syntax knows in sources other than documents."""


class Sources(Answering):
    """Several sources that answer as one: a `Retriever` that also writes answers, as an `Engine` does.

    Scores of different sources do not compare, so their hits are put on one scale (`sleuth.engine.scale`): how much of
    the query their texts hold, from 0 to 1. Each source keeps its order. One source alone keeps its own scores. Each
    item says in its metadata, as `source_type`, which source it comes from. Sources are asked at the same time; one
    that fails or is late is named in `Ranking.failures`, and the others answer.

    Attributes:
        retrievers: by name.
        engine: of the documents, None where they are no source.
        warnings: how sources may differ from their originals, such as code from its worktree; a line each.
    """

    def __init__(
        self,
        retrievers: Mapping[str, Retriever],
        *,
        engine: Engine | None = None,
        deadline: float | None = 30.0,  # as long as a web search may take
        warnings: Sequence[str] = (),
        close: Callable[[], object] = lambda: None,
    ) -> None:
        """Sources from retrievers; `open_sources` opens those of an index.

        Args:
            retrievers: by name; a name's part before ":" is the label of its items, save for "kb:ID".
            engine: whose settings are used to write answers, and whose hooks of plugins apply to all sources.
            deadline: seconds that each source has; None waits for all.
            warnings: how they may differ from their originals.
            close: called by `close`.
        """
        self.retrievers = dict(retrievers)
        self.engine = engine
        self.warnings = tuple(warnings)
        self._close, self._is_closed = close, False
        self._deadline = deadline
        settings = engine.settings if engine else IndexSettings()
        super().__init__(
            self._fuse,
            settings,
            lambda: self.embedder,
            rarity=None if engine is None else engine.rarity,
            correct=self._spell,
            parent=engine,
        )

    def retrieve(self, query: str, k: int = 10, **options: Any) -> Ranking:
        """Return the best `k` items of all sources, ties by id.

        Args:
            options: of a `SearchRequest`. `sources` chooses among those that are open. Every source honours `filter`,
                of which `source_type` is a key too, and `syntax`. Only the documents take `legs`, `fusion`, `expand`
                and `min_score`, and only where they are searched alone.

        Raises:
            ArgumentError: a query that is not a string, a wrong k, or an option that breaks its rule.
            FilterError: a filter that cannot be read, or that a source cannot apply.
            RetrievalError: no source answered; names each with its error.
        """
        return self.run(SearchRequest.of(query, k, options))

    aretrieve = async_twin(retrieve)

    def _fuse(self, request: SearchRequest) -> Ranking:
        """Ask the sources, and order what they answer together as one index orders its own: rerank, arrange, choose."""
        names = self._names(request.sources)
        if names == ["docs"]:  # the engine does all of it
            return self._ask(names, request, request.k)
        if request.fuzzy and "docs" not in names:
            raise ArgumentError(f"fuzzy must be 0 where no documents are searched, got {request.fuzzy!r}")
        for name in _DOCUMENTS:
            if (value := getattr(request, name)) is not None:
                raise ArgumentError(
                    f"{name} must be left out where other sources than docs are searched, got {value!r}; "
                    'sources ["docs"] searches the documents alone'
                )
        reranking = NOT_RERANKED
        if request.rerank is not None:
            deadline = None if request.deadline is None else Deadline(request.deadline)
            reranking = Reranking.of(request, deadline, None if self.engine is None else self.engine.backend)
        k = request.k
        if request.arrangement is not None:
            k = POOL  # what is arranged does not depend on k
        elif reranking.depth:
            k = max(k + WINDOW, reranking.depth)
        elif len(names) > 1:
            k = max(k, _TOGETHER)
        rerank = None if request.rerank is None else ""  # no source reranks its own hits
        shared = replace(request, sort=None, collapse=None, recency=None, boost=None, rerank=rerank)
        ranking = self._ask(names, shared, k)
        items, notes = _in_order(ranking, request, reranking, names)
        chosen: Sequence[RetrievedItem] = items[: request.k]
        if len(names) > 1:
            is_whole = request.arrangement is not None or reranking.depth > 0 or len(items) < k
            all_items = cache(lambda: items if is_whole else self._ask(names, shared, POOL).items)

            def items_at(places: range) -> Sequence[RetrievedItem]:
                return (items if places.stop <= len(items) else all_items())[places.start : places.stop]

            chosen = choose(chosen, request.k, items_at, **request.variety())
            # The documents note words that they lack: other sources may hold them.
            words = {note: word.word for note in notes if (word := misspelling_of(note))}
            notes = [
                note for note in notes if note not in words or not has_words_in_common(words[note], items)
            ]
        return Ranking(chosen, ranking.parts, notes)

    def _ask(self, names: Sequence[str], request: SearchRequest, k: int) -> Ranking:
        """Return the best `k` items of these sources, which are asked at the same time, on one scale."""
        if len(names) > 1:
            request = replace(request, **WITHOUT_VARIETY)  # the hits of all are chosen together
        prose = self._prose(names)
        retrievers = {
            name: _Asked(self.retrievers[name], request, label_of(name), prose if name == "docs" else None)
            for name in names
        }
        asked: Retriever = retrievers[names[0]]
        if len(names) > 1:
            seconds = [limit for limit in (self._deadline, request.deadline) if limit is not None]
            words = parse_query(request.query, _FIELDS).text if request.syntax else request.query
            asked = FusedRetriever(
                retrievers,
                method="max",
                pool=max(FIRST, min(k, POOL)),
                deadline=min(seconds, default=None),
                prepare=lambda _, rankings: on_one_scale(words, self._once(rankings)),
            )
        ranking = asked.retrieve(request.query, k, filter=request.filter)
        if not request.explain:
            for item in ranking:
                item.extra.pop("explanation", None)
        return ranking

    def _prose(self, names: Sequence[str]) -> Filter | None:
        """Return what documents must fulfil beside these sources: a file of code answers as code alone."""
        roots = [name.partition(":")[2] for name in names if name.startswith("code:/")]
        if self.engine is None or not roots:
            return None
        files, source = self.engine.files, field("source")
        places = (
            source.starts_with(f"{root}/") | ~source.starts_with("/")
            if is_below(files.base, root)
            else source.starts_with(f"{files.name_of(root)}/")
            for root in roots
        )
        return ~(field("type").is_in(CODE) & any_of(*places))

    def _once(self, rankings: Mapping[str, Ranking]) -> dict[str, Ranking]:
        """Leave out what code has of files that documents have, too, such as a README."""
        if self.engine is None or "docs" not in rankings:
            return dict(rankings)
        files = self.engine.files
        names = {item.metadata.get("source") for item in rankings["docs"]}
        code = {
            name: Ranking(
                [item for item in ranking if files.name_of(item.metadata.get("source", "")) not in names],
                ranking.parts,
                ranking.notes,
            )
            for name, ranking in rankings.items()
            if label_of(name) == "code"
        }
        return {**rankings, **code}

    def _spell(self, question: str, sources: Sequence[str] | None) -> tuple[str, Sequence[str]]:
        """Spell a question as the documents do, where they are searched alone: other sources hold other words."""
        spell = self.engine.spell if self.engine and self._names(sources) == ["docs"] else None
        return (question, ()) if spell is None else spell(question, sources)

    def _names(self, sources: Sequence[str] | None) -> list[str]:
        """Return the names of the retrievers that a request asks.

        Raises:
            ArgumentError: none, or one that is not open.
            StoreError: all are closed.
        """
        if self._is_closed:
            raise StoreError(f"{self!r} is closed: open it again")
        if sources is None:
            return list(self.retrievers)
        requested = [sources] if isinstance(sources, str) else list(sources)
        names = [name for name in self.retrievers if name in requested or name.partition(":")[0] in requested]
        kinds = {*names, *(name.partition(":")[0] for name in names)}
        if not requested or not kinds.issuperset(requested):
            raise ArgumentError(f"sources must be among {', '.join(self.retrievers)}, got {sources!r}")
        return names

    @cached_property
    def embedder(self) -> Embedder | None:
        """What judges sentences where no model writes: that of the documents, or the default one if installed."""
        if self.engine is not None:
            return self.engine.embedder
        from sleuth.engine.embedders import default_spelling, open_embedder

        return open_embedder(default_spelling())

    def close(self) -> None:
        """Deactivate plugins, and close what `open_sources` opened. Closing twice is fine."""
        self._is_closed = True
        try:
            self.unload_plugins()
        finally:
            self._close()

    aclose = async_twin(close)

    def __repr__(self) -> str:
        return f"Sources({', '.join(self.retrievers)})"


def _in_order(ranking: Ranking, request: SearchRequest, reranking: Reranking, names: list[str]) -> NotedItems:
    """Return the hits of sources, reranked and arranged as a request says."""
    items, notes = ranking.items, [*ranking.notes]
    if reranking.depth and request.k:
        is_english = are_english(request.query, items[: reranking.depth])
        reranked = reranking.apply(request.query, items, is_english=is_english)
        items, notes = tuple(reranked.items), [*notes, *reranked.notes]
    if request.arrangement is None:
        return NotedItems(items, notes)
    if request.arrangement.sort:
        notes.append(f"sorted: the best {len(items):,} results of {', '.join(names)}")
    return request.arrangement.apply(NotedItems(items, notes))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One source with a request: a `Retriever` of labelled items that fulfil the search syntax of the request."""

    source: Retriever
    request: SearchRequest
    label: str
    condition: Filter | None = None

    def retrieve(self, query: str, k: int = 10, *, filter: FilterForm = None) -> Ranking:
        """Return the hits of the source, labelled; none for gibberish, whatever a service answers."""
        from sleuth.dense.wordllama import is_gibberish

        source = self.source
        if isinstance(source, Unhooked):
            source = replace(source, options=self.request.changed() | {"sources": None, "filter": None})
        elif self.request.syntax:
            source = _Conditioned(source)
        if self.condition is not None:
            filter = all_of(as_filter(filter), self.condition)
        ranking = LabelledRetriever(source, self.label).retrieve(query, k, filter=filter)
        if is_gibberish(query) and not has_words_in_common(query, ranking):
            return Ranking((), ranking.parts, ranking.notes)
        return ranking


@dataclass(frozen=True, slots=True)
class _Conditioned:
    """A source without a search syntax of its own: its best hits are compared with the conditions of the query."""

    source: Retriever

    def retrieve(self, query: str, k: int = 10, *, filter: FilterForm = None) -> Ranking:
        parts = parse_query(query, _FIELDS)
        if not parts.text.strip():
            return Ranking((), notes=parts.notes())
        if not parts.conditions:
            ranking = self.source.retrieve(query, k, filter=filter)
            return Ranking(ranking.items, ranking.parts, [*parts.notes(), *ranking.notes])
        ranking = self.source.retrieve(parts.text, max(k, POOL), filter=filter)
        analyzer = get_analyzer(IndexSettings().analyzer)
        items = [item for item in ranking if all(rule.holds_for(item, analyzer) for rule in parts.conditions)]
        return Ranking(items[:k], ranking.parts, [*parts.notes(), *ranking.notes])


def open_sources(
    path: str | Path = ".sleuth",
    sources: Iterable[str] = ("docs",),
    *,
    extra: Mapping[str, Retriever] | None = None,
    deadline: float | None = 30.0,  # as of `Sources`
    engine: Engine | None = None,
    refresh: bool = False,
    synonyms: SynonymForm | None = None,
) -> Sources:
    """Open sources by name, to be asked as one.

    Args:
        path: the index folder, of "docs" and "code".
        sources: each of "docs", "code" (the newest snapshot of every repository), "code:REPOSITORY" (an id, path or
            URL), "web" (needs TAVILY_API_KEY) and "kb:ID" (a knowledge base of AWS).
        extra: retrievers of your own, by name.
        deadline: seconds that each source has; None waits for all.
        engine: an open engine of `path`, used for "docs" and left open; None opens one where it is needed.
        refresh: index worktrees of code first where little changed; `Sources.warnings` says where it was more.
        synonyms: of "docs", as for `Engine.open`; an open `engine` keeps its own.

    Raises:
        ArgumentError: an unknown source, or none; lists those there are.
        IndexNotFoundError: the folder has no documents, or no code, where they are asked for.
        UnknownRepositoryError: the index holds no code, or not this repository.
    """
    names = [sources] if isinstance(sources, str) else list(dict.fromkeys(sources))
    if names or not extra:
        check_sources(names)
    retrievers: dict[str, Retriever] = {}
    warnings: list[str] = []
    with ExitStack() as stack:
        for name in names:
            kind, _, which = name.partition(":")
            if kind == "docs":
                from sleuth.engine.engine import Engine

                engine = engine or stack.enter_context(Engine.open(path, synonyms=synonyms))
                retrievers[name] = engine.unhooked  # these sources have the hooks
            elif kind == "code":
                by_repository, stale = _code(stack, path, which, refresh=refresh)
                retrievers |= by_repository
                warnings += stale
            elif kind == "web":
                from sleuth.web import WebRetriever

                retrievers[name] = WebRetriever()
            else:
                from sleuth.knowledge_base import KnowledgeBaseRetriever

                # This timeout must be finite.
                retrievers[name] = KnowledgeBaseRetriever(which, timeout_seconds=deadline or 3600.0)
        retrievers |= extra or {}
        return Sources(
            retrievers, engine=engine, deadline=deadline, warnings=warnings, close=stack.pop_all().close
        )


aopen_sources = async_twin(open_sources)


def _code(
    stack: ExitStack, path: str | Path, which: str, *, refresh: bool
) -> tuple[dict[str, Retriever], list[str]]:
    """Open the code of an index: retrievers of one of its repositories, or all where `which` is "", and warnings."""
    from sleuth.code.search.retriever import SnapshotRetriever
    from sleuth.code.snapshots.refreshing import current_snapshot
    from sleuth.engine.codebase import open_code

    storage = stack.enter_context(open_code(path))
    repositories = [storage.repository(which)] if which else storage.repositories()
    if not repositories:
        raise UnknownRepositoryError(f"no code in {path} yet: `sleuth code index PATH` adds a repository")
    embedder = embedder_for()
    warnings = [current_snapshot(storage, repo).warning(repo) for repo in repositories] if refresh else []
    retrievers: dict[str, Retriever] = {
        f"code:{repo.path}": SnapshotRetriever(storage, repo.id, embedder=embedder) for repo in repositories
    }
    return retrievers, list(filter(None, warnings))


def label_of(name: str) -> str:
    """Return the label of a source's items: its kind, and of a knowledge base its whole name."""
    kind, _, _ = name.partition(":")
    return name if kind == "kb" else kind
