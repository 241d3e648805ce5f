"""What is this code tied to? Repositories as snapshots, searched, walked and rendered."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
