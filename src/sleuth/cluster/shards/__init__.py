"""Documents spread over indexes by their ids, and rankings gathered from all of them."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
