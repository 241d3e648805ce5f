"""Retrievers that combine retrievers: fuse, slice, boost, rerank, expand, diversify, deduplicate."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
