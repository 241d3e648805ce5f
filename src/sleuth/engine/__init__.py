"""The engine: opens an index, adds to it, searches it and answers from it."""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
    from sleuth.engine.codebase import default_embedder as default_embedder
    from sleuth.engine.codebase import open_code as open_code
    from sleuth.engine.engine import Engine as Engine
    from sleuth.engine.importing import import_chroma as import_chroma
    from sleuth.engine.search import Fusion as Fusion
    from sleuth.engine.sources import Sources as Sources
    from sleuth.engine.sources import open_sources as open_sources

_HOMES = {
    "Engine": "sleuth.engine.engine",
    "Fusion": "sleuth.engine.search",
    "Sources": "sleuth.engine.sources",
    "default_embedder": "sleuth.engine.codebase",
    "import_chroma": "sleuth.engine.importing",
    "open_code": "sleuth.engine.codebase",
    "open_sources": "sleuth.engine.sources",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
