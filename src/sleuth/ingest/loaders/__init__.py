"""Loaders: which one reads a file of a kind, and how it turns the file into documents."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
