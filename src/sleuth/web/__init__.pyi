from sleuth.web.batch import asearch_web_batch as asearch_web_batch
from sleuth.web.batch import search_web_batch as search_web_batch
from sleuth.web.fetch import AGENT as AGENT
from sleuth.web.fetch import REDIRECTS as REDIRECTS
from sleuth.web.fetch import FetchRules as FetchRules
from sleuth.web.fetch import afetch_page as afetch_page
from sleuth.web.fetch import content_headers as content_headers
from sleuth.web.fetch import decoded as decoded
from sleuth.web.fetch import fetch_once as fetch_once
from sleuth.web.fetch import fetch_page as fetch_page
from sleuth.web.fetch import networks_of as networks_of
from sleuth.web.fetch import redirect_target as redirect_target
from sleuth.web.http import address_parts as address_parts
from sleuth.web.retriever import WebRetriever as WebRetriever
from sleuth.web.robots import crawl_delay as crawl_delay
from sleuth.web.search import asearch_web as asearch_web
from sleuth.web.search import search_web as search_web
from sleuth.web.service import WebApi as WebApi
from sleuth.web.service import WebCall as WebCall
from sleuth.web.service import WebEntry as WebEntry
from sleuth.web.service import WebQuery as WebQuery
from sleuth.web.service import WebService as WebService
from sleuth.web.service import domain_of as domain_of
from sleuth.web.service import shorten as shorten
from sleuth.web.several import fuse as fuse
from sleuth.web.several import merge as merge

__all__: list[str]
