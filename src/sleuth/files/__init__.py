"""Files as they lie on a disk: what their names say, which are ignored, which text their bytes hold."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
