"""Searches with several wordings of one question, and fuses what they find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sleuth.compose import FusedRetriever
from sleuth.compose.variety import WINDOW, choose_among
from sleuth.engine import WITHOUT_VARIETY
from sleuth.errors import ArgumentError
from sleuth.types import Ranking

if TYPE_CHECKING:
    from sleuth.engine import SearchRequest
    from sleuth.engine.answers import Answering
    from sleuth.filters import Filter

MOST = 5
"""Wordings of one question."""

_POOL = 100
"""Passages of each wording that are fused: the order of the first ones does not depend on how many are asked for."""


@dataclass(frozen=True, slots=True)
class _Wording:
    """A retriever for one wording; it keeps the options of the request."""

    sources: Answering
    request: SearchRequest

    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """Return the best `k` passages for the wording; `query` is the whole question."""
        return self.sources.run(replace(self.request, k=k, filter=filter))

    async def aretrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """`retrieve`; only the protocol asks for it."""
        return self.retrieve(query, k, filter=filter)


def wordings_of(query: str | None, queries: Sequence[str] | None) -> list[str]:
    """Return the different wordings of a question, the first one first.

    Raises:
        ArgumentError: none, more than five, or values that are not texts.
    """
    if queries is not None and (
        isinstance(queries, str) or not all(isinstance(each, str) for each in queries)
    ):
        raise ArgumentError(f"queries must be a list of texts, got {queries!r}")
    wordings = list(dict.fromkeys([*([] if query is None else [query]), *(queries or ())]))
    if not wordings:
        raise ArgumentError("query must be given to search")
    if len(wordings) > MOST:
        raise ArgumentError(f"queries must be at most {MOST} texts with the query, got {len(wordings)}")
    return wordings


def search(sources: Answering, request: SearchRequest, wordings: Sequence[str]) -> Ranking:
    """Return the best passages for all wordings: by reciprocal rank of each, ties by id.

    The explanation of a passage has one part for each wording that found it.
    """
    if len(wordings) == 1:
        return sources.run(request)
    every = replace(
        request.unarranged(), **WITHOUT_VARIETY
    )  # the passages of all wordings are chosen together
    retrievers = {wording: _Wording(sources, replace(every, query=wording)) for wording in wordings}
    fusion = FusedRetriever(retrievers, method="rrf", pool=_POOL, deadline=request.deadline)
    most = request.k + WINDOW if request.arrangement is None else _POOL
    ranking = fusion.retrieve(request.query, most, filter=request.filter)
    if not request.explain:
        for item in ranking:
            item.extra.pop("explanation", None)
    arranged = ranking if request.arrangement is None else request.arrangement.apply(ranking)
    items = choose_among(arranged.items, request.k, **request.variety())
    return Ranking(items, ranking.parts, arranged.notes)
