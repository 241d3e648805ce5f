"""Sleuth as a server of the Model Context Protocol: seven tools that read."""

from sleuth.lazy import exports_of

__getattr__, __dir__, __all__ = exports_of(__name__, __file__, extra="mcp")
