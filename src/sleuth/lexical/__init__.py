"""Which passages hold these words?"""

from typing import TYPE_CHECKING

from sleuth.lazy import lazy_names

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
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
