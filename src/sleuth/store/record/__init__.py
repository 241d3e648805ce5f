"""The SQLite record: its layout, rows and coded texts."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
