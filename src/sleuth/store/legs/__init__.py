"""What a leg is: how the store asks rows of a family, and how arrays, bitmaps and hits are passed."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
