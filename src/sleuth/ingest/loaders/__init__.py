"""Loaders: which one reads a file of a kind, and how it turns the file into documents."""

from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.loaders.registry import kind_of, load, register_loader

__all__ = ["FileBytes", "kind_of", "load", "register_loader"]
