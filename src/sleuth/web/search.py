"""Searches the web for one query, with caching and requests for more results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from sleuth.arguments import check_count, check_options, check_positive, check_query, check_strings
from sleuth.errors import ArgumentError, WebError
from sleuth.logs import is_configured, logger_of
from sleuth.remote import Deadline, async_twin
from sleuth.web.cache import WebCache
from sleuth.web.service import MAX_RESULTS, RETRIES, Hit, MissingKeyError, WebQuery, WebService
from sleuth.web.several import open_service

logger = logger_of("web")

GROWTH = 10
"""How much larger than k `api_k` may become."""
_FINAL = (400, 401, 403)
"""Statuses caused by the request or the key, not by the service: no stale answer replaces them."""

RelevanceFilter = Callable[[str, Hit], bool]
"""Takes the query and a hit; False drops the hit, and another is requested instead."""


class SearchOptions(TypedDict, total=False):
    """The keyword arguments of every web search; `WebSearch` documents them."""

    service: str | WebService | None
    api_key: str | None
    base_url: str | None
    timeout: float
    max_retries: int
    initial_backoff: float | None
    search_depth: Literal["basic", "advanced"]
    topic: Literal["general", "news", "finance"]
    time_range: Literal["day", "week", "month", "year"] | None
    include_domains: Sequence[str]
    exclude_domains: Sequence[str]
    relevance: RelevanceFilter | None
    cache: WebCache | str | Path | None


@dataclass(frozen=True, slots=True)
class WebSearchResult:
    """The hits of one search.

    Attributes:
        hits: unique by url, relevant, in the service's order.
        api_k: `max_results` of the last request.
        stale: whether some hits come from an old answer, served because the service is down.
        error: the failed request that prevented more hits, or None.
    """

    hits: tuple[Hit, ...]
    api_k: int
    stale: bool = False
    error: WebError | None = None


@dataclass(frozen=True)
class WebSearch:
    """A web search with its settings.

    Args:
        service: `tavily` or the name of an extension, an object, or several: `brave,tavily` asks Tavily if Brave does
            not answer, and `brave+searxng` merges both. None takes `SLEUTH_WEB_SERVICES` from the environment, else
            the first service that has a key or an address there.
        api_key: of the service; None takes that of the environment, such as `TAVILY_API_KEY`, then that of the nearest
            `.env`.
        base_url: of the service; None takes that of the environment, such as `TAVILY_BASE_URL`, never that of a file,
            then the public address. Where a key is sent it has to be https, except on this machine.
        timeout: seconds for a whole call: every request, retry and wait in it.
        max_retries: how often a request that the service could not answer is sent again.
        initial_backoff: seconds before the first retry, doubled with each; one second if None. Up to half is added by
            chance.
        search_depth: "advanced" finds more and costs two credits instead of one.
        topic: "general", "news" or "finance".
        time_range: only pages published in the last "day", "week", "month" or "year"; any time if None.
        include_domains, exclude_domains: only, or no, pages of these domains.
        relevance: keeps a hit or drops it, before the cut at k.
        cache: answers on disk, or the folder for them; None disables it.
    """

    service: str | WebService | None = None
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    timeout: float = 30.0  # two attempts that hang, and one that answers
    max_retries: int = RETRIES
    initial_backoff: float | None = None
    search_depth: Literal["basic", "advanced"] = "basic"
    topic: Literal["general", "news", "finance"] = "general"
    time_range: Literal["day", "week", "month", "year"] | None = None
    include_domains: Sequence[str] = ()
    exclude_domains: Sequence[str] = ()
    relevance: RelevanceFilter | None = None
    cache: WebCache | str | Path | None = None

    def __post_init__(self) -> None:
        for name, options in (
            ("search_depth", ("basic", "advanced")),
            ("topic", ("general", "news", "finance")),
            ("time_range", ("day", "week", "month", "year", None)),
        ):
            if (value := getattr(self, name)) not in options:
                raise ArgumentError(f"{name} must be among {', '.join(map(str, options))}, got {value!r}")
        check_count(self.max_retries, "max_retries")
        backoff = self.initial_backoff
        if backoff is not None and (not isinstance(backoff, (int, float)) or not 0 <= backoff < float("inf")):
            raise ArgumentError(f"initial_backoff must be 0 seconds or more and finite, got {backoff!r}")
        if self.service is not None or self.base_url:
            # Only to refuse a wrong name or address now; a missing key is reported by the search.
            with suppress(MissingKeyError):
                _ = self._client
        check_positive(self.timeout, "timeout")
        for name, domains in (("include", self.include_domains), ("exclude", self.exclude_domains)):
            check_strings(domains, f"{name}_domains")

    @classmethod
    def of(cls, options: SearchOptions) -> WebSearch:
        """Return the search with these settings.

        Raises:
            ArgumentError: an unknown name; gives the nearest one.
        """
        check_options(cls, options)
        return cls(**options)

    def search(self, query: str, k: int) -> WebSearchResult:
        """Return at most `k` hits; request more while there are too few and larger requests bring new ones.

        Args:
            k: 1 or more; the service gives at most 20.

        Raises:
            WebError: the first request failed, or there is no API key.
        """
        if not check_query(query).strip():
            return WebSearchResult((), min(k, MAX_RESULTS))
        deadline = Deadline(self.timeout)
        api_k, top = min(k, MAX_RESULTS), min(k + GROWTH, MAX_RESULTS)
        hits, is_stale = self._ask(query, api_k, deadline)
        hit_by_url = {hit.url: hit for hit in hits}
        while (missing_count := k - len(self._relevant(query, hit_by_url))) > 0 and api_k < top:
            try:
                api_k = min(api_k + missing_count, top)
                hits, is_old = self._ask(query, api_k, deadline)
            except WebError as error:
                return WebSearchResult(self._relevant(query, hit_by_url)[:k], api_k, is_stale, error)
            is_stale = is_stale or is_old
            if all(hit.url in hit_by_url for hit in hits):
                break
            hit_by_url = {hit.url: hit for hit in hits} | hit_by_url
        return WebSearchResult(self._relevant(query, hit_by_url)[:k], api_k, is_stale)

    asearch = async_twin(search)

    def _relevant(self, query: str, hits: dict[str, Hit]) -> tuple[Hit, ...]:
        if self.relevance is None:
            return tuple(hits.values())
        return tuple(hit for hit in hits.values() if self.relevance(query, hit))

    def _ask(self, query: str, api_k: int, deadline: Deadline) -> tuple[Sequence[Hit], bool]:
        """Return the hits of one request and whether they are stale; fresh ones come from the cache."""
        cache = self._cache
        web_query = WebQuery(
            query,
            api_k,
            self.search_depth,
            self.topic,
            self.time_range,
            tuple(self.include_domains),
            tuple(self.exclude_domains),
        )
        request = {"service": self._client.label, **asdict(web_query)}
        request = {
            name: list(value) if isinstance(value, tuple) else value for name, value in request.items()
        }
        entry = cache.get(request) if cache else None
        if entry is not None and entry.fresh:
            return entry.hits, False
        try:
            hits = self._client.search(web_query, deadline)
        except WebError as error:
            if entry is None or error.status in _FINAL:
                raise
            logger.warning("serving an answer from %.0f hours ago, because %s", entry.age / 3600, error)
            return entry.hits, True
        if cache:
            try:
                cache.put(request, hits)
            except OSError as error:
                logger.warning("the answer was not kept in %s: %s", cache.folder, error)
        return hits, False

    @cached_property
    def _client(self) -> WebService:
        patience: dict[str, Any] = {} if self.max_retries == RETRIES else {"max_retries": self.max_retries}
        if self.initial_backoff is not None:
            patience["initial_backoff"] = self.initial_backoff
        return open_service(self.service, self.api_key, self.base_url, **patience)

    @cached_property
    def _cache(self) -> WebCache | None:
        return WebCache(self.cache) if isinstance(self.cache, (str, Path)) else self.cache


def check_search(query: str, k: int) -> int:
    """Return `k` as an int; raises ArgumentError for a query that breaks its rule, or a `k` that is not 1 or more."""
    check_query(query)
    return check_count(k, least=1)


class WebDocs(dict[str, Any]):
    """What `search_web` returns: a dict that can be added to a list of documents, as document 001 does."""

    def __radd__(self, documents: list[Any]) -> list[Any]:
        """Return the documents, then the pages of this search."""
        return [*documents, *self._pages] if isinstance(documents, list) else NotImplemented

    def __add__(self, documents: list[Any]) -> list[Any]:
        """Return the pages of this search, then the documents."""
        return [*self._pages, *documents] if isinstance(documents, list) else NotImplemented

    @property
    def _pages(self) -> list[dict[str, Any]]:
        docs: dict[str, Any] = self.get("web_docs", self)
        return list(docs["results"])


def web_docs(result: WebSearchResult) -> WebDocs:
    """Return the documented structure of a search; it has `stale` only if an old answer was served."""
    results = [
        {
            "id": position,
            "content": hit.content,
            "url": hit.url,
            "source_type": "web",
            "title": hit.title,
            "domain": hit.domain,
        }
        for position, hit in enumerate(result.hits)
    ]
    docs = WebDocs(num_docs=len(results), api_k=result.api_k, results=results)
    return WebDocs(docs, stale=True) if result.stale else docs


def search_entry(searcher: WebSearch, query: str, k: int, query_id: str | None) -> WebDocs:
    """Search, and return the hits as `search_web` does.

    An error is logged here and not raised; hits that came before it are kept.
    """
    try:
        result = searcher.search(query, k)
    except WebError as error:
        result = WebSearchResult((), min(k, MAX_RESULTS), error=error)
    if result.error is not None:
        logger.error("web search failed: %s", result.error)
        if isinstance(result.error, MissingKeyError) and not is_configured(logger):
            warnings.warn(str(result.error), stacklevel=1)  # of one line, so that Python shows it once
    docs = web_docs(result)
    return docs if query_id is None else WebDocs(id=query_id, query=query, web_docs=docs)


def search_web(
    query: str, k: int = 3, query_id: str | None = None, **options: Unpack[SearchOptions]
) -> WebDocs:
    """Return up to `k` web pages for a query, each with the text that fits it.

    Failures of the service and a missing key are logged and return an empty structure; `WebRetriever`
    raises them. Where logging is not configured, Python warns once that the key is missing.

    Args:
        k: how many pages; the service gives at most 20.
        query_id: if set, the result is an entry of a web file, `{"id", "query", "web_docs"}`.
        **options: settings of the search, as documented by `WebSearch`.

    Returns:
        `{"num_docs", "api_k", "results"}`: the number of results, the `max_results` of the last request, and
        the results, each `{"id", "content", "url", "source_type", "title", "domain"}`. `"stale": True` is
        added if an old answer was served because the service is down. `local_docs + web_docs` is a list of
        both; `merge` also makes their ids distinct.

    Raises:
        ArgumentError: `k` is below 1, or a setting is out of range.
    """
    k = check_search(query, k)
    return search_entry(WebSearch.of(options), query, k, query_id)


asearch_web = async_twin(search_web)
