"""Metadata as columns: a leg of the store that turns filters into bitmaps."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
