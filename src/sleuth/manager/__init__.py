"""The retrieval manager: hooks around retrieval and synthesis."""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

if TYPE_CHECKING:
    from sleuth.manager.manager import RETRIEVE as RETRIEVE
    from sleuth.manager.manager import SYNTHESIZE as SYNTHESIZE
    from sleuth.manager.manager import IndianaJones as IndianaJones
    from sleuth.manager.manager import RetrievalManager as RetrievalManager
    from sleuth.manager.manager import Synthesizer as Synthesizer
    from sleuth.manager.manager import install_builtins as install_builtins
    from sleuth.manager.streaming import SearchStream as SearchStream

_HOMES = {
    "IndianaJones": "sleuth.manager.manager",
    "RETRIEVE": "sleuth.manager.manager",
    "RetrievalManager": "sleuth.manager.manager",
    "SYNTHESIZE": "sleuth.manager.manager",
    "SearchStream": "sleuth.manager.streaming",
    "Synthesizer": "sleuth.manager.manager",
    "install_builtins": "sleuth.manager.manager",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
