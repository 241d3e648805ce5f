"""One pinned version of a shard, as a query sees it: the protocol, and a shard of this process."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sleuth.engine import IndexBackend, PoolRequest, Searchers
from sleuth.store import Corpus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.engine import QueryCondition, Selection
    from sleuth.filters import Filter
    from sleuth.store import Counts, Hits, IndexSnapshot, Row, StoredDocument, Tally
    from sleuth.types import Chunk, Explanation


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


class Shard(Protocol):
    """One version of one shard, for the length of a query. Keys are the shard's own.

    Failures raise what `Engine` raises. Safe to share between threads.
    """

    @property
    def version(self) -> int:
        """The version of the shard's index."""
        ...

    @property
    def generation(self) -> int:
        """Equal ones are of equal versions and have equal segments too."""
        ...

    def totals(self) -> dict[str, Tally]:
        """Return the numbers of the shard's rows that scores depend on, by leg."""
        ...

    def counts_of(self, words: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Tally]:
        """Return the numbers of words of a query among the shard's rows, by leg."""
        ...

    def pools(self, ask: Ask) -> dict[str, Hits]:
        """Return the best rows of each leg, scored with the statistics of all shards."""
        ...

    def match(self, leg: str, query: str, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how well rows match a query, as the matcher of a leg says, shape (len(keys),)."""
        ...

    def explain(self, ask: Ask, leg: str, key: int) -> Explanation:
        """Return why a leg gives the row its score."""
        ...

    def order(self, keys: Iterable[int]) -> list[tuple[str, int]]:
        """Return (document id, n) for each key."""
        ...

    def rows(self, keys: Iterable[int]) -> list[Row]:
        """Return the chunks with these keys, in this order."""
        ...

    def neighbours(self, key: int, before: int, after: int) -> list[Row]:
        """Return the chunk and those around it, of the same document, in order."""
        ...

    def chunks_of(self, document_id: str) -> list[Row]:
        """Return all chunks of a document, in order."""
        ...

    def key_of(self, chunk_id: str) -> int | None:
        """Return the key of a chunk; None where there is none."""
        ...

    def chunk_values(self, document_id: str) -> list[Chunk]:
        """Return all chunks of a document as they were put."""
        ...

    def document(self, document_id: str) -> StoredDocument | None:
        """Return a document without its text; None where there is none."""
        ...

    def documents(self, under: str | None) -> list[StoredDocument]:
        """Return documents without their text, by key."""
        ...

    def documents_at(self, keys: Iterable[int]) -> list[StoredDocument]:
        """Return the documents with these keys, in this order."""
        ...

    def by_id(self, after: str, limit: int) -> list[tuple[int, str]]:
        """Return keys and ids of the first documents whose id comes after this one, in order of id."""
        ...

    def selected(self, tree: Filter | None, query: str | None, question: str, *arguments: Any) -> Any:
        """Return what a method of `Selection` says of what matches a filter and holds a word of the query."""
        ...

    def lookup(self, conditions: tuple[QueryCondition, ...], tree: Filter | None) -> list[int]:
        """Return the keys of all rows that fulfil conditions and match a filter, by document id and place."""
        ...

    def fulfils(self, condition: QueryCondition) -> bool:
        """Return whether any row fulfils a condition."""
        ...

    def held(self, tokens: Sequence[str]) -> list[str]:
        """Return those of these tokens that the text of a row holds."""
        ...

    def key_names(self, scope: Filter | None) -> frozenset[str]:
        """Return the metadata keys of what a filter lets through."""
        ...

    def notes(self) -> dict[str, str]:
        """Return what the writer was told to note, by name."""
        ...

    def embeddings(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return cached vectors by content hash."""
        ...

    def counts(self) -> Counts:
        """Return how many documents and chunks there are."""
        ...

    def uncovered(self, leg: str) -> int:
        """Return how many chunks no segment of this leg holds."""
        ...


class ShardIndex:
    """A shard of this process: an `IndexBackend`, and its searchers under the statistics of all shards."""

    def __init__(self, backend: IndexBackend) -> None:
        """Serve the shard that a backend has open."""
        self.backend = backend
        self._lock = threading.Lock()
        self._of_corpora: _OfCorpora | None = None

    @contextmanager
    def reader(self) -> Iterator[LocalShard]:
        """Yield the newest version, unchanging for the length of a block."""
        with self.backend.store.reader() as snapshot:
            yield LocalShard(self, snapshot)

    def searchers(self, snapshot: IndexSnapshot, ask: Ask) -> Searchers:
        """Return the searchers that score with the numbers of corpora, and know the words of the query."""
        cached = self._of_corpora
        if cached is None or cached.name != ask.name or not cached.searchers.show(snapshot):
            own = self.backend.searchers_of(snapshot)
            with self._lock:
                cached = self._of_corpora
                if cached is None or cached.name != ask.name or not cached.searchers.show(snapshot):
                    cached = self._of_corpora = _OfCorpora.of(ask, own, snapshot)
        for leg, corpus in ask.corpora.items():
            counts = cached.corpora[leg].counts
            for group, numbers in corpus.counts.items():
                counts.setdefault(group, {}).update(numbers)
        return cached.searchers


class _OfCorpora(NamedTuple):
    """Searchers under the numbers of corpora, with those of all words that were asked for so far."""

    name: str
    corpora: Mapping[str, Corpus]
    searchers: Searchers

    @classmethod
    def of(cls, ask: Ask, own: Searchers, snapshot: IndexSnapshot) -> _OfCorpora:
        """Return searchers with the totals of all shards."""
        corpora = {leg: Corpus(corpus.totals) for leg, corpus in ask.corpora.items()}
        return cls(ask.name, corpora, own.within(corpora, snapshot))


@dataclass(frozen=True, slots=True)
class LocalShard:
    """A `Shard` over a snapshot of an index that this process has open."""

    index: ShardIndex
    snapshot: IndexSnapshot
    _selections: dict[tuple[Filter | None, str | None], Selection] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """The version of the shard's index."""
        return self.snapshot.version

    @property
    def generation(self) -> int:
        """Equal ones are of equal versions and have equal segments too."""
        return self.snapshot.generation

    @property
    def _own(self) -> Searchers:
        return self.index.backend.searchers_of(self.snapshot)

    def totals(self) -> dict[str, Tally]:
        """Return the numbers of the shard's rows that scores depend on, by leg."""
        return {leg: searcher.totals() for leg, searcher in self._own.by_leg.items()}

    def counts_of(self, words: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Tally]:
        """Return the numbers of words of a query among the shard's rows, by leg."""
        by_leg = self._own.by_leg
        return {leg: by_leg[leg].counts(names) for leg, names in words.items()}

    def pools(self, ask: Ask) -> dict[str, Hits]:
        """Return the best rows of each leg."""
        searchers = self.index.searchers(self.snapshot, ask)
        return {
            leg: searchers.search_leg(leg, query, ask.request, self.snapshot)
            for leg, query in ask.queries.items()
        }

    def match(self, leg: str, query: str, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how well rows match a query."""
        return self._own.match(leg, query, keys, self.snapshot)

    def explain(self, ask: Ask, leg: str, key: int) -> Explanation:
        """Return why a leg gives the row its score."""
        return self.index.searchers(self.snapshot, ask).by_leg[leg].explain(ask.queries[leg], key)

    def order(self, keys: Iterable[int]) -> list[tuple[str, int]]:
        """Return (document id, n) for each key."""
        return self.snapshot.order(keys)

    def rows(self, keys: Iterable[int]) -> list[Row]:
        """Return the chunks with these keys, in this order."""
        return self.snapshot.rows(keys)

    def neighbours(self, key: int, before: int, after: int) -> list[Row]:
        """Return the chunk and those around it."""
        return self.snapshot.neighbours(key, before, after)

    def chunks_of(self, document_id: str) -> list[Row]:
        """Return all chunks of a document, in order."""
        return self.snapshot.chunks_of(document_id)

    def key_of(self, chunk_id: str) -> int | None:
        """Return the key of a chunk; None where there is none."""
        return self.snapshot.key_of(chunk_id)

    def chunk_values(self, document_id: str) -> list[Chunk]:
        """Return all chunks of a document as they were put."""
        return self.snapshot.chunk_values(document_id)

    def document(self, document_id: str) -> StoredDocument | None:
        """Return a document without its text; None where there is none."""
        return self.snapshot.document(document_id)

    def documents_at(self, keys: Iterable[int]) -> list[StoredDocument]:
        """Return the documents with these keys, in this order."""
        return self.snapshot.documents_at(keys)

    def by_id(self, after: str, limit: int) -> list[tuple[int, str]]:
        """Return keys and ids of the first documents whose id comes after this one, in order of id."""
        return list(islice(self.snapshot.by_id(after), limit))

    def selected(self, tree: Filter | None, query: str | None, question: str, *arguments: Any) -> Any:
        """Return what a method of `Selection` says of what matches a filter and holds a word of the query."""
        selection = self._selections.get((tree, query))
        if selection is None:
            selection = self._selections[tree, query] = self._own.select(self.snapshot, tree, query=query)
        return getattr(selection, question)(*arguments)

    def lookup(self, conditions: tuple[QueryCondition, ...], tree: Filter | None) -> list[int]:
        """Return the keys of all rows that fulfil conditions and match a filter, by document id and place."""
        return self._own.lookup(conditions, tree, self.snapshot)

    def fulfils(self, condition: QueryCondition) -> bool:
        """Return whether any row fulfils a condition."""
        return self._own.fulfils(condition, self.snapshot)

    def held(self, tokens: Sequence[str]) -> list[str]:
        """Return those of these tokens that the text of a row holds."""
        return list(self._own.held(tokens, self.snapshot))

    def key_names(self, scope: Filter | None) -> frozenset[str]:
        """Return the metadata keys of what a filter lets through."""
        return self._own.key_names(self.snapshot, scope)

    def documents(self, under: str | None) -> list[StoredDocument]:
        """Return documents without their text, by key."""
        return list(self.snapshot.documents(under))

    def notes(self) -> dict[str, str]:
        """Return what the writer was told to note, by name."""
        return self.snapshot.notes()

    def embeddings(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return cached vectors by content hash."""
        return self.snapshot.embeddings(fingerprint, hashes)

    def counts(self) -> Counts:
        """Return how many documents and chunks there are."""
        return self.snapshot.counts()

    def uncovered(self, leg: str) -> int:
        """Return how many chunks no segment of this leg holds."""
        return self.snapshot.uncovered(leg)
