"""Runs every retrieval through the hooks of plugins, so that no way in goes around a plugin's permission filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sleuth.engine.request import SearchRequest
from sleuth.errors import ArgumentError, RetrievalError, SleuthError
from sleuth.types import Ranking

if TYPE_CHECKING:
    from sleuth.manager import RetrievalManager

_RANKINGS: ContextVar[list[Ranking] | None] = ContextVar("rankings", default=None)
"""Collects what retrievers without hooks answer during one call, for its reports and notes."""


@dataclass(frozen=True)
class Unhooked:
    """A retriever without its hooks: what the built-in hook asks, and what measurements need.

    Attributes:
        answer: what the hooks stand before.
        options: of every call that does not name them.
    """

    answer: Callable[[SearchRequest], Ranking]
    options: Mapping[str, Any] = field(default_factory=dict)

    def retrieve(self, query: str, k: int = 10, **options: Any) -> Ranking:
        """Return the best `k` passages; takes the options of `Engine.retrieve`."""
        ranking = self.answer(SearchRequest.of(query, k, {**self.options, **options}))
        rankings = _RANKINGS.get()
        if rankings is not None:
            rankings.append(ranking)
        return ranking


def retrieve_by_hooks(manager: RetrievalManager, request: SearchRequest) -> Ranking:
    """Return the best passages, as the hooks of plugins leave them.

    Hooks are given the options that are not the default: they need not know the others.

    Raises:
        ArgumentError: an option that no hook takes.
        RetrievalError: a hook failed, or refused to answer.
    """
    rankings: list[Ranking] = []
    token = _RANKINGS.set(rankings)
    try:
        result = manager.execute_retrieve(request.query, request.k, **request.changed())
    except RetrievalError as error:
        if error.context.get("plugin") == "sleuth" and isinstance(error.__cause__, SleuthError):
            raise error.__cause__ from None  # of the engine itself, as without hooks
        raise
    finally:
        _RANKINGS.reset(token)
    if result.is_error() and result.detail is not None and result.detail.code not in ("no_results", "empty"):
        if result.detail.code == "invalid":
            raise ArgumentError(result.detail.message)
        context = {"query": result.query, "k": request.k, "code": str(result.detail.code)}
        raise RetrievalError(result.detail.message, context={**result.detail.context, **context})
    parts = [part for ranking in rankings for part in ranking.parts]
    notes = [note for ranking in rankings for note in ranking.notes]
    return Ranking(result.items, parts, notes)
