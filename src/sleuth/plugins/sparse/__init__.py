"""Learned sparse retrieval: a model weighs tokens, and the postings of words hold the weights."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
