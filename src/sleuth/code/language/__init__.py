"""What a plugin of one language uses: its description, its rules about names, and the facts of files."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
