"""Filters: one tree for every backend, which is parsed, printed, tested on a row, and translated."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
