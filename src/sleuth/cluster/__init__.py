"""One index over many shards: in one process, in object storage, or on many machines."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
