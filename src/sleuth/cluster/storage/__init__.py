"""Versions of an index in object storage: published, listed, pruned, and fetched into a local cache."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
