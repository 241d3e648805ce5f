"""What an engine is over: an open index, wherever its parts lie, and the part of it that one caller sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from sleuth.errors import ArgumentError

if TYPE_CHECKING:
    from sleuth.engine.embedders import RecordCache
    from sleuth.engine.search import Searchers
    from sleuth.engine.synonyms import Synonyms
    from sleuth.filters import Filter
    from sleuth.ingest import FileNames
    from sleuth.protocols import DocumentChunker, Embedder
    from sleuth.settings import IndexSettings
    from sleuth.store import Finding, IndexSnapshot, Repair
    from sleuth.store.legs.searching import IndexLeg
    from sleuth.store.store import Store
    from sleuth.types import Ranking

Progress = Callable[[int, int], None]
"""Called with passages done and passages to do."""


class Backend(Protocol):
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
        files: names of the files that documents come from.
        words_only: why words alone are searched; "" where meaning is searched too.
        default_reranker: the encoder that reranks searches by default; "" for none.
        vector_cache: where vectors are kept by embedder and text; None where making them costs next to nothing.
        repairs: what was mended on opening.
    """

    path: Path
    settings: IndexSettings
    store: Store
    legs: Sequence[IndexLeg]
    embedder: Embedder | None
    chunker: DocumentChunker | None
    repairs: tuple[Repair, ...]

    @property
    def files(self) -> FileNames: ...

    @property
    def words_only(self) -> str: ...

    @property
    def default_reranker(self) -> str: ...

    @property
    def vector_cache(self) -> RecordCache | None: ...

    def searchers_of(self, snapshot: IndexSnapshot) -> Searchers:
        """Return the searchers of a version, made once and shared by all threads."""

    def narrow(self, snapshot: IndexSnapshot, scope: Filter) -> IndexSnapshot:
        """Return a snapshot of the whole index as a scope narrows it."""

    def searcher(self, leg: str) -> Any:
        """Return one leg of the newest version, for measurements.

        Raises:
            ArgumentError: no such leg, or no one searcher sees the whole index.
        """

    def ask(self, search: Callable[[], Ranking]) -> Ranking:
        """Run a search; where a part of the index dies meanwhile, run it again without that part."""

    def embed(self, progress: Progress | None, *, timeout: float) -> int:
        """Make the vectors that commits did not wait for; the number of passages."""

    def status(self) -> dict[str, Any]:
        """Counts, sizes in bytes, versions, per leg; plain values, fit for JSON."""

    def check(self, *, full: bool) -> list[Finding]:
        """Prove that the index is whole; with `full`, also every checksum."""

    def repair(self) -> list[Repair]:
        """Check fully and mend what can be mended."""

    def close(self, *, finish: bool) -> None:
        """Close the index. Closing twice is fine."""


@dataclass(frozen=True)
class IndexView:
    """What one caller sees of an open index.

    Attributes:
        scope: the filter that everything is limited to; None for no limit.
        synonyms: of the user's own; None for none.
    """

    backend: Backend
    scope: Filter | None = None
    synonyms: Synonyms | None = None

    @cached_property
    def store(self) -> Store:
        """The rows and versions of the index, as far as they lie in the scope."""
        if self.scope is None:
            return self.backend.store
        from sleuth.engine.narrowing import Scope
        from sleuth.engine.scope import ScopedStore

        backend, scope = self.backend, Scope.of(self.scope, self.backend.settings)
        return cast("Store", ScopedStore(backend.store, scope, backend.narrow))

    def idf(self, terms: Iterable[str]) -> dict[str, float]:
        """Return how rare each term is among the passages: BM25's idf, the largest for a term that none holds."""
        with self.store.reader() as snapshot:
            return self.backend.searchers_of(snapshot).idf(terms, snapshot)

    def check_unscoped(self, what: str) -> None:
        """Refuse in a view with a scope what concerns the documents of all.

        Raises:
            ArgumentError: it has one.
        """
        if self.scope is not None:
            raise ArgumentError(
                f"scope must be None to {what}, which concerns the documents of all: open the index without it"
            )
