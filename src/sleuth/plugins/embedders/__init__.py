"""Embedding models of other packages: sentence-transformers, model2vec and fastembed."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
