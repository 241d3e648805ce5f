"""Open a code index; kept for code that imports these names from here."""

from sleuth.engine import default_embedder, open_code

__all__ = ["default_embedder", "open_code"]
