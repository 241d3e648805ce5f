"""Decides whether a plain name is a variable where it is used: the scopes around the use bind it."""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from sleuth.code.parsing.kinds import CONTAINERS, YIELDING
from sleuth.code.parsing.languages import SCRIPTS, languages_with

if TYPE_CHECKING:
    from sleuth.code.graph.rules import Site
    from sleuth.code.parsing.detail import Detail, Symbol
    from sleuth.code.parsing.names import Binding, Reference
    from sleuth.code.snapshots.snapshot import Snapshot

PARTS: Final = frozenset({"part", "entry"})
"""Bindings to a part of their value, whose type may be the pattern that takes it apart."""
_NO_VARIABLES: Final = frozenset({"member", "generic", "item", "keyed"})
_NEAREST: Final = 100
"""Bindings before a place that are looked at, beside the first one, which may declare the type."""
_TESTS: Final = 4
"""How many of the last bindings before a place may be tests that hold there."""
_DECLARING: Final = frozenset({"variable", "element", "generic"})
_CALLS_APART: Final = languages_with("calls apart")
_TYPES_APART: Final = languages_with("types apart")
_NAMED_CONSTRUCTORS: Final = languages_with("named constructors")


def is_variable(detail: Detail, reference: Reference, root: str, first: int = 0, last: int = 0) -> bool:
    """Return whether the first name of a use is a parameter or a variable of the definitions around it.

    Outside of functions, only variables that get their value in lines `first` to `last` count.

    Args:
        root: the first name of the use, as written.
    """
    if not reference.qualifier and detail.language in _APART.get(reference.role, ()):
        return False
    symbols = detail.symbols
    at, in_function = reference.symbol, False
    while True:
        is_inner = at >= 0 and symbols[at].kind not in CONTAINERS
        is_seen = is_inner or (last > 0 and not in_function)
        bindings = detail.scoped.get((root, at), []) if is_seen else []
        is_outer = bool(bindings) and bindings[0].kind == "outer"  # `global` stands before the first use
        if not is_outer and any(
            binding.kind in _DECLARING
            and (is_inner or first <= binding.line <= last)
            and not (binding.line == reference.line and names_itself(binding))  # `user := user.New()`
            for binding in bindings
        ):
            return True
        if at < 0:
            return False
        in_function = in_function or (is_inner and symbols[at].kind not in YIELDING)
        at = symbols[at].parent


def may_mean(symbol: Symbol, use: Reference, language: str, *, inside: bool = False) -> bool:
    """Return whether a use in its role can mean a definition of its name.

    Args:
        inside: whether the definition is looked for among the members of an object.
    """
    kind, role = symbol.kind, use.role
    is_type = kind in CONTAINERS or kind == "type"
    if role in ("instantiation", "inheritance", "type") and language in _TYPES_APART:
        return is_type
    if (role == "call" and language == "rust" and kind == "module") or (
        language in _NAMED_CONSTRUCTORS
        and symbol.qualified.endswith(f"{symbol.name}.{symbol.name}")
        and not is_type
    ):
        return False
    if role == "call" and language in _CALLS_APART and not is_type:
        return kind not in _DATA
    # A method of Go, or of an object that is written as such, is never named alone.
    needs_receiver = language == "go" or (language in _METHODS_OF_OBJECTS and symbol.parent < 0)
    return inside or kind != "method" or not needs_receiver


def binding_at(snapshot: Snapshot, name: str, site: Site) -> Binding | None:
    """Return the binding of a variable that holds at a place, or None.

    It is of the innermost scope that binds the name: a function around the place, or the file; not a class. Of the
    bindings before the place (of all, if the first comes after it) the last one with a type is taken, else the last one
    with a value, else the last one. A later test of the variable's class that holds at the place is taken instead.
    """
    detail = snapshot.detail(site.file)
    symbols = detail.symbols
    scope = site.symbol
    while True:
        if scope < 0 or symbols[scope].kind not in CONTAINERS:
            bindings = detail.scoped.get((name, scope), [])
            if len(bindings) > _NEAREST:
                end = bisect_right(bindings, site.line, key=attrgetter("line")) or len(bindings)
                bindings = [bindings[0], *bindings[max(1, end - _NEAREST) : end]]
            in_scope = [b for b in bindings if b.kind not in _NO_VARIABLES and not b.defines]
            in_scope = [b for b in in_scope if b.line != site.line or not names_itself(b)]
            candidates = [b for b in in_scope if b.line <= site.line] or in_scope
            plain = [b for b in candidates if b.kind != "narrowed"]
            tests = [b for b in candidates[-_TESTS:] if b.kind == "narrowed" and b.line <= site.line]
            text = (snapshot.lines(site.file, test.line, site.line) for test in tests)
            tests = [test for test, lines in zip(tests, text, strict=True) if narrows(lines)]
            if tests and (not plain or plain[-1].line < tests[-1].line):
                return tests[-1]
            declared = [b for b in plain if b.type and b.kind not in PARTS]
            if plain:
                return (declared or [b for b in plain if b.value] or plain)[-1]
        if scope < 0:  # the top of the file
            return None
        scope = symbols[scope].parent


def narrows(text: str) -> bool:
    """Return whether a test of a variable's class holds at a place of Python: in its block, or after `assert`.

    After `if not isinstance(…): return` it holds as well.

    Args:
        text: the lines from the test to the place.
    """
    header, *body = text.split("\n")
    indent = len(header) - len(header.lstrip())
    indents = [len(line) - len(line.lstrip()) for line in body if line.strip()]
    is_negated = _NEGATION.search(header) is not None
    if not indents:
        return not is_negated
    if not is_negated and _BLOCK.match(header):
        return min(indents) > indent
    leaves = is_negated and _LEAVING.match(body[0]) is not None and len(indents) > 1
    return min(indents) >= indent and (leaves or header.lstrip().startswith("assert "))


_NEGATION: Final = re.compile(r"\b(?:not|or)\b")
_BLOCK: Final = re.compile(r"\s*(?:if|elif|while)\b")
_LEAVING: Final = re.compile(r"\s*(?:return|raise|continue|break)\b")
_DATA: Final = frozenset({"attribute", "constant"})
_METHODS_OF_OBJECTS: Final = frozenset({"python", *SCRIPTS})
_APART: Final = {"call": _CALLS_APART, "instantiation": _TYPES_APART}


def names_itself(binding: Binding) -> bool:
    """Return whether the value of a variable has its name, which then means an earlier value or something else."""
    value = binding.value
    return binding.name in value and re.search(rf"(?<![\w$@]){re.escape(binding.name)}\b", value) is not None
