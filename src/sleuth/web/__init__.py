"""What does the web say? Search by Tavily, answers kept on disk, and the text of a page behind a hit."""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
    from sleuth.web.batch import asearch_web_batch as asearch_web_batch
    from sleuth.web.batch import search_web_batch as search_web_batch
    from sleuth.web.cache import WebCache as WebCache
    from sleuth.web.combine import fuse as fuse
    from sleuth.web.combine import merge as merge
    from sleuth.web.fetch import Page as Page
    from sleuth.web.fetch import afetch_page as afetch_page
    from sleuth.web.fetch import fetch_page as fetch_page
    from sleuth.web.retriever import WebRetriever as WebRetriever
    from sleuth.web.search import WebSearch as WebSearch
    from sleuth.web.search import asearch_web as asearch_web
    from sleuth.web.search import search_web as search_web
    from sleuth.web.tavily import Hit as Hit

_HOMES = {
    "Hit": "sleuth.web.tavily",
    "Page": "sleuth.web.fetch",
    "WebCache": "sleuth.web.cache",
    "WebRetriever": "sleuth.web.retriever",
    "WebSearch": "sleuth.web.search",
    "afetch_page": "sleuth.web.fetch",
    "asearch_web": "sleuth.web.search",
    "asearch_web_batch": "sleuth.web.batch",
    "fetch_page": "sleuth.web.fetch",
    "fuse": "sleuth.web.combine",
    "merge": "sleuth.web.combine",
    "search_web": "sleuth.web.search",
    "search_web_batch": "sleuth.web.batch",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
