"""The web page of the server: questions, results, sources and answers, rendered here and readable without script."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
