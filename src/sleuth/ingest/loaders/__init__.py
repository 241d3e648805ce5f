"""How is a file of this kind turned into documents?"""

from sleuth.ingest.loaders.registry import FileBytes, kind_of, load, register_loader

__all__ = ["FileBytes", "kind_of", "load", "register_loader"]
