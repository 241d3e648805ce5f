"""Ranks web pages for a query, as a `Retriever`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from sleuth.arguments import check_count, check_query
from sleuth.compose.items import best_first
from sleuth.filters import And, Compare, Filter, FilterForm, as_filter, matches
from sleuth.remote import async_twin
from sleuth.types import Ranking, RetrievedItem
from sleuth.web.search import SearchOptions, WebSearch
from sleuth.web.service import MAX_RESULTS, Hit


class WebRetriever:
    """A `Retriever` over the web.

    Every call asks the service for its maximum of 20 hits, which cost the same as one, filters them and then
    cuts at k. So the ranking for k is the head of that for k + 1, and no filter is applied after the cut.
    Filters may use `url`, `title`, `domain`, `published_date` and `source_type`; a filter on `domain` alone
    is also sent along.

    Args:
        **options: settings of the search, as `sleuth.web.search.WebSearch` explains them.
    """

    def __init__(self, **options: Unpack[SearchOptions]) -> None:
        self._search = WebSearch.of(options)

    def __repr__(self) -> str:
        return f"WebRetriever({self._search!r})"

    def retrieve(self, query: str, k: int = 10, *, filter: FilterForm = None) -> Ranking:
        """Return the best `k` pages, at most 20. An item's id is its url, its text the part that fits the query.

        Raises:
            WebError: the service did not answer, or there is no API key.
        """
        k, condition = check_count(k), as_filter(filter)
        if k == 0 or not check_query(query).strip():
            return Ranking(())
        search = self._search
        if not search.include_domains and (domains := _domains(condition)):
            search = replace(search, include_domains=domains)
        result = search.search(query, MAX_RESULTS)
        items = [item_of(hit, stale=result.stale) for hit in result.hits]
        return Ranking(best_first([item for item in items if matches(condition, item.metadata)])[:k])

    aretrieve = async_twin(retrieve)


def item_of(hit: Hit, *, stale: bool = False) -> RetrievedItem:
    """Return a page as an item of a ranking.

    Args:
        stale: whether it is an old answer from the cache, as the service is down.
    """
    metadata: dict[str, Any] = {
        "source": hit.url,
        "url": hit.url,
        "title": hit.title,
        "domain": hit.domain,
        "source_type": "web",
    }
    if hit.published is not None:
        metadata["published_date"] = hit.published
    if stale:
        metadata["stale"] = True
    return RetrievedItem(id=hit.url, text=hit.content, metadata=metadata, score=hit.score)


def _domains(condition: Filter | None) -> tuple[str, ...]:
    """Return the only domains that can match a filter; empty if it does not restrict them."""
    if isinstance(condition, Compare) and condition.key == "domain":
        if condition.operator == "eq":
            return (str(condition.value),)
        if condition.operator == "in" and isinstance(condition.value, tuple):
            return tuple(map(str, condition.value))
    if isinstance(condition, And):
        return next((domains for part in condition.parts if (domains := _domains(part))), ())
    return ()
