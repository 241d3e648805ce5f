"""Files of an index folder, below anything that knows what is in them."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
