"""The part of an open index that one caller sees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from sleuth.errors import ArgumentError

if TYPE_CHECKING:
    from sleuth.engine.index import Backend
    from sleuth.engine.synonyms import Synonyms
    from sleuth.filters import Filter
    from sleuth.store.store import Store


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
