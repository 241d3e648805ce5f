"""Sources of files that are no folders: mail of an IMAP server, rows of a SQL query, objects of cloud storage."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
