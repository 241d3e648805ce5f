"""Which web pages answer a query, as a ranking like any other?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from sleuth.arguments import check_count
from sleuth.filters import And, Compare, Filter, as_filter, matches
from sleuth.remote.cancellation import in_thread
from sleuth.types import Ranking, RetrievedItem
from sleuth.web.search import SearchOptions, WebSearch
from sleuth.web.tavily import MAX_RESULTS, Hit


class WebRetriever:
    """A `Retriever` over the web.

    Every call asks the service for all that it gives (20 hits, for the price of one), filters, and then
    cuts: so the ranking for k is the head of that for k + 1, and no filter is applied after the cut.
    Filters may use `url`, `title`, `domain`, `published_date` and `source_type`; a filter on `domain` alone
    is also sent along.

    Args:
        **options: settings of the search, as `sleuth.web.WebSearch` explains them.
    """

    def __init__(self, **options: Unpack[SearchOptions]) -> None:
        self._search = WebSearch(**options)

    def __repr__(self) -> str:
        return f"WebRetriever({self._search!r})"

    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """The best `k` pages, at most 20; an item's id is its url, its text the part that fits the query.

        Raises:
            WebError: the service did not answer, or there is no API key.
        """
        return self._rank(query, k, as_filter(filter))

    async def aretrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """`retrieve` for async callers. Cancelling it ends its waits and its request."""
        wanted = as_filter(filter)
        return await in_thread(lambda: self._rank(query, k, wanted))

    def _rank(self, query: str, k: int, wanted: Filter | None) -> Ranking:
        k = check_count(k)
        if k == 0 or not query.strip():
            return Ranking(())
        domains = _domains(wanted)
        search = (
            self._search.with_domains(domains)
            if domains and not self._search.include_domains
            else self._search
        )
        found = search.search(query, MAX_RESULTS)
        items = [_item(hit, stale=found.stale) for hit in found.hits]
        kept = sorted(
            (item for item in items if matches(wanted, item.metadata)),
            key=lambda item: (-(item.score or 0.0), item.id),
        )
        return Ranking(kept[:k])


def _item(hit: Hit, *, stale: bool) -> RetrievedItem:
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


def _domains(wanted: Filter | None) -> tuple[str, ...]:
    """Domains outside which nothing can match, where the filter names such."""
    if isinstance(wanted, Compare) and wanted.key == "domain":
        if wanted.operator == "eq":
            return (str(wanted.value),)
        if wanted.operator == "in" and isinstance(wanted.value, tuple):
            return tuple(map(str, wanted.value))
    if isinstance(wanted, And):
        return next((found for part in wanted.parts if (found := _domains(part))), ())
    return ()
