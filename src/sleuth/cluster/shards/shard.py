"""One pinned version of a shard and of all of them, as a query asks it: the protocol, and shards of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from sleuth.engine.index import IndexBackend
from sleuth.engine.narrowing import SCOPES
from sleuth.engine.search import PoolRequest, Searchers
from sleuth.errors import UnavailableError
from sleuth.store import Corpus
from sleuth.store.legs.recent import RecentValues

if TYPE_CHECKING:
    from sleuth.engine.selection import Selection
    from sleuth.filters import Filter
    from sleuth.remote import Deadline
    from sleuth.store import Hits, IndexSnapshot
    from sleuth.types import PartReport


@dataclass(frozen=True, slots=True)
class Ask:
    """What a query asks of each shard.

    Attributes:
        queries: by leg, in its own form.
        request: how deep, and of which rows.
        name: of the corpora; equal ones have equal totals.
        corpora: by leg, the numbers of all shards, with those of the query's words.
    """

    queries: Mapping[str, Any]
    request: PoolRequest
    name: str
    corpora: Mapping[str, Corpus]


READS: Final = frozenset(
    {"by_id", "chunk_values", "chunks_of", "counts", "document", "documents", "documents_at", "embeddings",
     "file_names", "files", "key_of", "neighbours", "noted_files", "order", "passages", "rows", "uncovered"}
)  # fmt: skip
"""Questions about rows and documents: what the method of `IndexSnapshot` with this name returns."""

FINDS: Final = frozenset({"fulfils", "key_names", "like", "lookup", "match"})
"""Questions that need the shard's own searchers: what the method of `Searchers` with this name returns."""


class ShardIndex:
    """A shard of this process: an `IndexBackend`, and its searchers under the statistics of all shards."""

    def __init__(self, backend: IndexBackend) -> None:
        """Serve the shard that a backend has open."""
        self.backend = backend
        self.store = backend.store
        self._lock = threading.Lock()
        self._of_corpora: RecentValues[Filter | None, _OfCorpora] = RecentValues(SCOPES)

    def at(self, snapshot: IndexSnapshot, scope: Filter | None = None) -> LocalShard:
        """Return the shard at a snapshot, as a scope narrows it."""
        if scope is not None:
            snapshot = self.backend.narrow(snapshot, scope)
        return LocalShard(self, snapshot)

    def searchers(self, snapshot: IndexSnapshot, ask: Ask) -> Searchers:
        """Return the searchers that score with the numbers of corpora, and know the words of the query."""
        entry = self._of_corpora.get(snapshot.scope)
        if entry is None or entry.name != ask.name or entry.searchers.generation != snapshot.generation:
            searchers = self.backend.searchers_of(snapshot)
            with self._lock:
                entry = self._of_corpora.get(snapshot.scope)
                if entry is None or entry.name != ask.name or not entry.searchers.show(snapshot):
                    corpora = {leg: Corpus(corpus.totals) for leg, corpus in ask.corpora.items()}
                    entry = _OfCorpora(ask.name, corpora, searchers.within(corpora, snapshot))
                    self._of_corpora.put(snapshot.scope, entry)
        for leg, corpus in ask.corpora.items():
            if corpus.counts:
                counts = entry.corpora[leg].counts
                for group, numbers in corpus.counts.items():
                    counts.setdefault(group, {}).update(numbers)
        return entry.searchers


class _OfCorpora(NamedTuple):
    """Searchers under the numbers of corpora, with those of all words that were asked for so far."""

    name: str
    corpora: Mapping[str, Corpus]
    searchers: Searchers


@dataclass(slots=True, eq=False)
class LocalShard:
    """One version of one shard that this process has open, for the length of a query. Safe to share between threads."""

    index: ShardIndex
    snapshot: IndexSnapshot
    _searchers: Searchers | None = None
    _selections: dict[tuple[Filter | None, str | None], Selection] = field(default_factory=dict)

    def answer(self, question: str, arguments: Sequence[Any]) -> Any:
        """Answer a question.

        Args:
            question: one of `READS` or `FINDS`, or of these:
                "search" (an `Ask`): the best rows of each leg, scored with the numbers of all shards;
                "explain" (an `Ask`, a leg, a key): why the leg gives the row its score;
                "totals" (): by leg, the numbers of the shard's rows that scores depend on;
                "counts_of" (words by leg and group): the numbers of these words;
                "selected" (a filter, a query, a method of `Selection`, its arguments): what that method returns.

        Raises:
            ValueError: no such question.
            SleuthError: what `Engine` raises.
        """
        if question in READS:
            answer = getattr(self.snapshot, question)(*arguments)
            return list(answer) if isinstance(answer, Iterator) else answer
        if question in FINDS:
            return getattr(self._searchers or self._own(), question)(*arguments, snapshot=self.snapshot)
        method = _OWN.get(question)
        if method is None:
            raise ValueError(f"question must be one of a shard, got {question!r}")
        return method(self, *arguments)

    def _own(self) -> Searchers:
        """Return the searchers under the numbers of this shard alone."""
        if self._searchers is None:
            self._searchers = self.index.backend.searchers_of(self.snapshot)
        return self._searchers

    def _search(self, ask: Ask) -> dict[str, Hits]:
        searchers = self.index.searchers(self.snapshot, ask)
        self._searchers = searchers.alone
        return searchers.gather(ask.queries, ask.request, self.snapshot)[0]

    def _selected(self, tree: Filter | None, query: str | None, question: str, *arguments: Any) -> Any:
        selection = self._selections.get((tree, query))
        if selection is None:
            selection = self._selections[tree, query] = self._own().select(self.snapshot, tree, query=query)
        return getattr(selection, question)(*arguments)


_OWN: Final[Mapping[str, Callable[..., Any]]] = {
    "search": LocalShard._search,
    "explain": lambda shard, ask, leg, key: (
        shard.index.searchers(shard.snapshot, ask).by_leg[leg].explain(ask.queries[leg], key)
    ),
    "totals": lambda shard: {leg: one.totals() for leg, one in shard._own().by_leg.items()},
    "counts_of": lambda shard, words: {
        leg: shard._own().by_leg[leg].counts(names) for leg, names in words.items()
    },
    "selected": LocalShard._selected,
}


class ShardAnswers(NamedTuple):
    """What shards answered.

    Attributes:
        values: by number of the shard.
        failures: a report of each shard that did not answer.
    """

    values: dict[int, Any]
    failures: list[PartReport]


class ShardsMissingError(UnavailableError):
    """Shards that were needed did not answer.

    Attributes:
        parts: a report of each.
    """

    def __init__(self, parts: Sequence[PartReport]) -> None:
        self.parts = tuple(parts)
        super().__init__(
            "; ".join(f"{part.name} {part.status}: {part.error}" for part in parts),
            context={"parts": [part.to_dict() for part in parts]},
        )


class Shards(Protocol):
    """One version of all shards, for the length of a query. Safe to share between threads."""

    @property
    def names(self) -> Sequence[str]:
        """By number of the shard, as reports name it."""

    @property
    def scope(self) -> Filter | None:
        """What they are limited to; None for all of the index."""

    def scoped(self, scope: Filter) -> Shards:
        """Return them as a scope narrows each."""

    @property
    def versions(self) -> tuple[int, ...]:
        """The version of each shard."""

    @property
    def generation(self) -> Hashable:
        """Equal ones are of equal versions and have equal segments too."""

    def ask(
        self, question: str, arguments: Mapping[int, Sequence[Any]], deadline: Deadline | None = None
    ) -> ShardAnswers:
        """Send one question to several shards at once, and collect their answers.

        Args:
            question: the name of a question that `LocalShard.answer` knows, such as "totals".
            arguments: the arguments of the question for each shard to ask, by its number; other shards are not asked.
            deadline: a shard that has not answered by then is in `failures` of the result.

        Raises:
            SleuthError: a shard raised it.
        """


class LocalShards:
    """The shards of this process, asked one after the other: they all answer, or raise."""

    def __init__(
        self, shards: Sequence[LocalShard], names: Sequence[str], scope: Filter | None = None
    ) -> None:
        """Group open shards.

        Args:
            shards: by number, narrowed to `scope` already.
            names: of the shards, by number.
            scope: the filter that they were narrowed to; it is only remembered here. None for all of the index.
        """
        self.shards = shards
        self.names = names
        self.scope = scope
        self.generation: Hashable = tuple([shard.snapshot.generation for shard in shards])

    @property
    def versions(self) -> tuple[int, ...]:
        """The version of each shard."""
        return tuple([shard.snapshot.version for shard in self.shards])

    def scoped(self, scope: Filter) -> LocalShards:
        """Return them as a scope narrows each."""
        shards = [shard.index.at(shard.snapshot, scope) for shard in self.shards]
        return LocalShards(shards, self.names, scope)

    def ask(
        self, question: str, arguments: Mapping[int, Sequence[Any]], deadline: Deadline | None = None
    ) -> ShardAnswers:
        """Ask some shards the same question."""
        for at in arguments:
            self.shards[at].snapshot.check_time = None if deadline is None else deadline.check
        return ShardAnswers({at: self.shards[at].answer(question, of) for at, of in arguments.items()}, [])
