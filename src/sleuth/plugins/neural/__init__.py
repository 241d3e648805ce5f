"""Neural models without torch: encoders and cross-encoders in ONNX, from a folder on this machine."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
