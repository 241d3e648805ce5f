from sleuth.web.batch import asearch_web_batch as asearch_web_batch
from sleuth.web.batch import search_web_batch as search_web_batch
from sleuth.web.brave import Brave as Brave
from sleuth.web.cache import WebCache as WebCache
from sleuth.web.combine import fuse as fuse
from sleuth.web.combine import merge as merge
from sleuth.web.crawl import CrawlLimits as CrawlLimits
from sleuth.web.exa import Exa as Exa
from sleuth.web.fetch import Page as Page
from sleuth.web.fetch import afetch_page as afetch_page
from sleuth.web.fetch import fetch_page as fetch_page
from sleuth.web.retriever import WebRetriever as WebRetriever
from sleuth.web.search import WebSearch as WebSearch
from sleuth.web.search import asearch_web as asearch_web
from sleuth.web.search import search_web as search_web
from sleuth.web.searxng import SearXNG as SearXNG
from sleuth.web.service import WebQuery as WebQuery
from sleuth.web.service import WebService as WebService
from sleuth.web.several import FallbackService as FallbackService
from sleuth.web.several import MergedService as MergedService
from sleuth.web.several import open_service as open_service
from sleuth.web.tavily import Tavily as Tavily

__all__: list[str]
