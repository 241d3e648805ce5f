"""An index on many machines: Ray runs searchers that own shards, and builders that fill them. All of Ray is here."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
