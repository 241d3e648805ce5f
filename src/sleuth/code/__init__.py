"""Search over repositories: snapshots, a graph of definitions and uses, ranking and rendering."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
