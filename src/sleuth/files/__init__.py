"""Files on disk: kinds by name, ignore rules, and decoding of bytes."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
