"""Hosted knowledge bases: retrieval in slices, ingestion, and a local index in their place."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
