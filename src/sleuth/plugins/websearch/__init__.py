"""Services of web search beside Tavily: Brave, Exa and SearXNG."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
