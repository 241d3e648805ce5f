"""What does the web say? Search by Tavily, answers kept on disk, and the text of a page behind a hit."""

from sleuth.web.batch import asearch_web_batch, search_web_batch
from sleuth.web.cache import WebCache
from sleuth.web.combine import fuse, merge
from sleuth.web.fetch import Page, afetch_page, fetch_page
from sleuth.web.retriever import WebRetriever
from sleuth.web.search import WebSearch, asearch_web, search_web
from sleuth.web.tavily import Hit

__all__ = [
    "Hit",
    "Page",
    "WebCache",
    "WebRetriever",
    "WebSearch",
    "afetch_page",
    "asearch_web",
    "asearch_web_batch",
    "fetch_page",
    "fuse",
    "merge",
    "search_web",
    "search_web_batch",
]
