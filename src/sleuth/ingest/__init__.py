"""Reads files into documents, and adds documents and folders to the index."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
