"""What only Kotlin has: companion objects, whose members are named by their class, and extension functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sleuth.code.language import (
    CONTAINERS,
    Site,
    Type,
    element_of,
    package_folder,
    simple_name,
    type_parameters,
)
from sleuth.plugins.languages.kotlin.lambdas import Lambdas, extended_type
from sleuth.plugins.languages.overloads import MOST_NAMES, Overloading, arguments_in

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.language import Definition, FileRow, NameResolver, Reference

_ANYTHING: Final = ("Any",)
_NAMED: Final = re.compile(r"(\w++)\s*+=(?!=)\s*+")
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


class KotlinRules(Overloading, Lambdas):
    """The rules of Kotlin."""

    has_extensions = True
    trusts_names = True

    def __init__(self, snapshot: Snapshot, resolver: NameResolver) -> None:
        super().__init__(snapshot, resolver)
        self._companions = lru_cache(MOST_NAMES)(self._companions_in)

    def holders(self, owner: Definition) -> list[int]:
        """Return the companion objects of a class."""
        return self._companions(owner.file, owner.index)

    def _companions_in(self, file: FileRow, at: int) -> list[int]:
        detail = self.snapshot.detail(file)
        members = detail.members.get(at, ())
        inner_classes = (at for at in members if detail.symbols[at].kind == "class")
        return [at for at in inner_classes if "companion object" in detail.symbols[at].signature]

    def meant(self, members: Sequence[Definition], use: Reference) -> Definition:
        """Return the member that a use means: a property may be called only if there is no function of its name."""
        functions = (
            item for item in members if use.role == "call" and item.symbol.kind in ("method", "function")
        )
        return next(functions, members[0])

    def extensions(self, use: Reference, file: FileRow, receiver: Sequence[str]) -> list[Definition]:
        """Return the functions that extend the type of an object, in the package or imported."""
        imports = self.snapshot.detail(file).imports
        types = {*receiver, *_STANDARD_BASES.get(receiver[0], ()), *_ANYTHING} if receiver else set[str]()
        functions = []
        for function, extended in self.extending(use.name):
            symbol, folder = function.symbol, package_folder(function.file)
            package = folder.replace("/", ".")
            is_visible = folder == package_folder(file) or any(
                item.name == symbol.name or (item.name == "*" and package.endswith(item.module))
                for item in imports
            )
            is_of_type = not receiver or simple_name(extended) in types
            is_meant = is_of_type or extended in type_parameters(symbol.signature, symbol.name)
            functions += [function] if is_visible and is_meant else []
        return functions

    def extends(self, function: Definition) -> str:
        """Return the receiver type of a function of Kotlin, or ""."""
        is_kotlin = function.file.language == "kotlin"
        return extended_type(function.symbol.signature, function.symbol.name) if is_kotlin else ""

    def extended(self, site: Site) -> Type | None:
        """Return the type that the innermost function around a place extends: it is `this` there."""
        for at, symbol in self.snapshot.detail(site.file).enclosing(site.symbol):
            if symbol.kind in CONTAINERS:
                break
            if extended := extended_type(symbol.signature, symbol.name):
                return Type(extended, Site(site.file, at, symbol.line))
        return None

    def returned(self, text: str, name: str) -> str:
        """Return the type that a method of a collection returns, which is its own or that of its elements, or ""."""
        element = element_of(text)
        if not element:
            return ""
        if name in _SAME:
            return text
        return element if name in _ELEMENT else ""

    def overloads(self, definition: Definition) -> list[Definition]:
        """Return the methods of a name in a class and its bases; the functions of a package that extend one type."""
        symbol = definition.symbol
        if symbol.parent >= 0:
            return super().overloads(definition)
        extended = extended_type(symbol.signature, symbol.name)
        return [
            namesake
            for namesake in self.snapshot.definitions(symbol.name)
            if namesake.symbol.parent < 0
            and namesake.symbol.kind == symbol.kind
            and package_folder(namesake.file) == package_folder(definition.file)
            and extended_type(namesake.symbol.signature, symbol.name) == extended
        ]

    def arguments(self, text: str, use: Reference, definition: Definition) -> list[str] | None:
        """Return the arguments of a call; a block after the brackets is one."""
        return arguments_in(text, use.name, lambda_follows=True)

    def fits(self, overload: Definition, arguments: Sequence[str]) -> bool:
        """Return whether an overload has the parameters that arguments name: `width` of `width = 3`."""
        _, _, text = overload.symbol.signature.partition(f"{overload.symbol.name}(")
        names = [match[1] for argument in arguments if (match := _NAMED.match(argument))]
        return all(re.search(rf"\b{re.escape(name)}\s*+:", text) for name in names)

    def value(self, argument: str) -> str:
        """Return an argument without the name of its parameter."""
        match = _NAMED.match(argument)
        return argument if match is None else argument[match.end() :]
