"""Extracts text from PDF and HTML files, in processes with limits of time and memory."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
