"""Crawls of web sites into an index, within bounds; pages are asked again only where they changed."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
