"""Import another store's documents; kept for code that imports this name from here."""

from sleuth.engine import import_chroma

__all__ = ["import_chroma"]
