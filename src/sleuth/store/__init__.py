"""Bytes, rows and versions: the record in SQLite and the segment files derived from it."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
