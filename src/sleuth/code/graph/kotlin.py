"""What only Kotlin has: companion objects, whose members are named by their class, and extension functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from sleuth.code.graph.expressions import element_of, split_outside, type_parameters
from sleuth.code.graph.modules import package_folder
from sleuth.code.graph.overloads import simple_name
from sleuth.code.parsing.kinds import CONTAINERS

if TYPE_CHECKING:
    from sleuth.code.parsing.detail import Detail, Symbol
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Definition

_ANYTHING: Final = ("Any",)
_COLLECTION: Final = ("Collection", "Iterable")
_STANDARD_BASES: Final = {
    "Collection": ("Iterable",),
    "List": _COLLECTION,
    "Set": _COLLECTION,
    "MutableCollection": _COLLECTION,
    "MutableList": ("List", "MutableCollection", *_COLLECTION),
    "MutableSet": ("Set", "MutableCollection", *_COLLECTION),
    "MutableMap": ("Map",),
    "String": ("CharSequence",),
    "StringBuilder": ("CharSequence", "Appendable"),
}
"""Bases of the language's own types."""
_ELEMENT_NAMES: Final = """
first firstOrNull last lastOrNull single singleOrNull get getOrNull elementAt find random removeAt next maxBy minBy
"""
_ELEMENT: Final = frozenset(_ELEMENT_NAMES.split())
_SAME_NAMES: Final = """
filter filterNot sorted sortedBy sortedWith reversed asReversed take drop takeWhile dropWhile distinct toList toSet
toMutableList toMutableSet plus minus orEmpty asSequence asIterable onEach iterator
"""
_SAME: Final = frozenset(_SAME_NAMES.split())
"""Functions of the language's collections that return an element, and those that return such a collection again."""


def is_of_companion(detail: Detail, owner: Definition, symbol: Symbol) -> bool:
    """Return whether a definition is a member of the companion object of a class."""
    holder = detail.symbols[symbol.parent] if symbol.parent >= 0 else None
    return (
        holder is not None
        and holder.parent == owner.index
        and owner.symbol.kind in CONTAINERS
        and "companion object" in holder.signature
    )


def extensions(
    definitions: Iterable[Definition], file: FileRow, detail: Detail, receiver: Sequence[str]
) -> list[Definition]:
    """Return the functions that extend the type of an object, in the package or imported.

    Args:
        definitions: those of the name that is used.
        file: of the use, with its `detail`.
        receiver: the names of the object's type and of its bases; of any type where it is unknown.
    """
    folder = package_folder(file)
    return [
        each
        for each in definitions
        if each.file.language == "kotlin"
        and each.symbol.kind in ("function", "method")
        and (package_folder(each.file) == folder or _is_imported(each, detail))
        and (extended := extended_type(each.symbol.signature, each.symbol.name))
        and (
            not receiver
            or simple_name(extended) in {*receiver, *_STANDARD_BASES.get(receiver[0], ()), *_ANYTHING}
            or _extends_parameter(each, extended)
        )
    ]


def extended_type(signature: str, name: str) -> str:
    """Return the type that a function extends: `List<A>` of `fun List<A>.name(`, or ""."""
    head, bracket, _ = signature.partition(f".{name}(")
    before = split_outside(head.replace("->", "⇒"), " ")
    return before[-1] if bracket and len(before) > 1 else ""


def returned_by(collection: str, name: str) -> str:
    """Return the type that a function of the language's collections returns for one of a type; "" if it is unknown."""
    element = element_of(collection)
    if not element or name in _SAME:
        return collection if element else ""
    return element if name in _ELEMENT else ""


def _is_imported(definition: Definition, detail: Detail) -> bool:
    """Return whether an import brings in a definition by its name or with its whole package."""
    package = package_folder(definition.file).replace("/", ".")
    return any(
        item.name == definition.symbol.name or (item.name == "*" and package.endswith(item.module))
        for item in detail.imports
    )


def _extends_parameter(definition: Definition, extended: str) -> bool:
    """Return whether a function extends a type parameter of its own."""
    return extended in type_parameters(definition.symbol.signature, definition.symbol.name)
