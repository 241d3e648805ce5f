"""Git repositories and folders of code: which files a version has, and what they hold."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
