"""The HTTP server: one module per noun of the API, and one for each thing that every request passes."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__, extra="serve")
