"""Web search by services, answers cached on disk, and the text of a page behind a hit."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
