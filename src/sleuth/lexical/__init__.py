"""Which passages hold these words?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sleuth.lexical.leg import FieldSpec as FieldSpec
    from sleuth.lexical.leg import LexicalBuilder as LexicalBuilder
    from sleuth.lexical.leg import LexicalLeg as LexicalLeg
    from sleuth.lexical.local import retrieve_local_docs as retrieve_local_docs
    from sleuth.lexical.search import LexicalSearcher as LexicalSearcher

_HOMES = {
    "FieldSpec": "sleuth.lexical.leg",
    "LexicalBuilder": "sleuth.lexical.leg",
    "LexicalLeg": "sleuth.lexical.leg",
    "LexicalSearcher": "sleuth.lexical.search",
    "retrieve_local_docs": "sleuth.lexical.local",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the same names, once


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(
            f"module 'sleuth.lexical' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
