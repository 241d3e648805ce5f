"""The engine: opens an index, adds to it, searches it and answers from it."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
