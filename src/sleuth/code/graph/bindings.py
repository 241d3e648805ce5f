"""Decides whether a plain name is a variable where it is used: the scopes around the use bind it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sleuth.code.parsing.kinds import CONTAINERS, YIELDING

if TYPE_CHECKING:
    from sleuth.code.parsing.detail import Binding, Detail, Reference

_DECLARING: Final = frozenset({"variable", "element", "generic"})
_CALLS_APART: Final = frozenset({"java", "ruby", "php", "elixir"})
"""Languages in which a call without a receiver never calls a variable."""
_TYPES_APART: Final = frozenset(
    {"java", "csharp", "rust", "go", "c", "cpp", "php", "kotlin", "scala", "swift", "dart"}
)
"""Languages in which a variable is never instantiated."""


def is_variable(detail: Detail, reference: Reference, root: str, first: int = 0, last: int = 0) -> bool:
    """Return whether the first name of a use is a parameter or a variable of the definitions around it.

    Outside of functions, only variables that get their value in lines `first` to `last` count.

    Args:
        root: the first name of the use, as written.
    """
    bindings = detail.bindings.get(root)
    if bindings is None or (not reference.qualifier and detail.language in _APART.get(reference.role, ())):
        return False
    symbols = detail.symbols
    at, in_function = reference.symbol, False
    while True:
        is_inner = at >= 0 and symbols[at].kind not in CONTAINERS
        here = [binding for binding in bindings if _scope(detail, binding) == at]
        if not any(binding.kind == "outer" for binding in here) and any(
            _hides(binding, reference) and (is_inner or (not in_function and first <= binding.line <= last))
            for binding in here
        ):
            return True
        if at < 0:
            return False
        in_function = in_function or (is_inner and symbols[at].kind not in YIELDING)
        at = symbols[at].parent


_APART: Final = {"call": _CALLS_APART, "instantiation": _TYPES_APART}


def _scope(detail: Detail, binding: Binding) -> int:
    """Return the position of the definition in which a binding holds; -2 for what a function returns."""
    if not binding.defines:
        return binding.symbol
    symbol = detail.symbols[binding.symbol]
    return symbol.parent if symbol.kind in YIELDING else -2


def _hides(binding: Binding, reference: Reference) -> bool:
    """Return whether a binding hides what a name means elsewhere; `user := user.New()` does not in its own value."""
    own_value = binding.line == reference.line and re.search(
        rf"(?<![\w$@]){re.escape(binding.name)}\b", binding.value
    )
    return binding.kind in _DECLARING and not own_value
