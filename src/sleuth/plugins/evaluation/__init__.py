"""Evaluation: how good a ranking is, and whether one is better than another."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
