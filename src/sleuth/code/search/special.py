"""The special methods of Python that a query paraphrases: one about pickling is about `__getstate__`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from sleuth.text.analyzers import get_analyzer

if TYPE_CHECKING:
    from sleuth.code.search.query import Query

_OUTSIDE_TITLE: Final = 0.5
_WORDS: Final = {
    "__getstate__ __setstate__ __reduce__ __reduce_ex__ __getnewargs__": "pickle unpickle unpickling serialize",
    "__copy__ __deepcopy__": "copy copying deepcopy",
    "__eq__ __ne__": "equal equality equals inequality compare comparing comparison",
    "__lt__ __le__ __gt__ __ge__": "compare comparing comparison ordering sort sorting",
    "__hash__": "hash hashable unhashable",
    "__repr__": "repr representation",
    "__str__": "str",
    "__len__": "len length",
    "__iter__ __next__": "iterate iterating iteration iterable iterator",
    "__reversed__": "reversed",
    "__getitem__ __setitem__ __delitem__": "index indexing slice slicing subscript subscriptable",
    "__contains__": "contains membership",
    "__call__": "call calling callable",
    "__getattr__ __getattribute__ __setattr__ __delattr__": "attribute attributeerror",
    "__enter__ __exit__": "context",
    "__add__ __radd__ __iadd__": "add adding addition concatenate",
    "__sub__ __rsub__": "subtract subtraction",
    "__mul__ __rmul__": "multiply multiplying multiplication",
    "__truediv__ __rtruediv__": "divide dividing division",
    "__pow__ __rpow__": "power",
    "__mod__": "mod modulo",
    "__neg__": "negate negative",
    "__invert__": "invert negate negation",
    "__bool__": "bool truth truthy",
}
"""What people call these methods, by method."""


def paraphrased_methods(query: Query) -> dict[str, float]:
    """Return the special methods that a query has a word for: 1 where its title has one, half where the rest does."""
    methods: dict[str, float] = {}
    for terms, value in ((query.terms, _OUTSIDE_TITLE), (query.title, 1.0)):
        for token in terms.keys() & _methods_by_token().keys():
            methods |= dict.fromkeys(_methods_by_token()[token], value)
    return methods


@cache
def _methods_by_token() -> Mapping[str, tuple[str, ...]]:
    """Return the special methods by each token of the words for them."""
    methods: dict[str, tuple[str, ...]] = {}
    for names, words in _WORDS.items():
        for token in get_analyzer("code-english").tokens(words):
            methods[token] = (*methods.get(token, ()), *names.split())
    return methods
