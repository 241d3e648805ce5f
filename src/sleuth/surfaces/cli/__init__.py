"""The command line. What a plugin's command needs is exported here."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
