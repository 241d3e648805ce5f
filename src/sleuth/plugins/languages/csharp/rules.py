"""What only C# has: namespaces, classes in several parts, and extension methods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sleuth.code.language import CONTAINERS, Definition, simple_name, type_parameters
from sleuth.plugins.languages.overloads import MOST_NAMES, Overloading, arguments_in, parameters_of

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.code.language import FileRow, NameResolver, Reference

_PARTIAL: Final = re.compile(r"\bpartial\b")
_MOST_PARTS: Final = 100
_ALIASES: Final = {
    "bool": "Boolean", "byte": "Byte", "char": "Char", "int": "Int32", "long": "Int64", "object": "Object",
    "short": "Int16", "string": "String", "uint": "UInt32", "ulong": "UInt64", "ushort": "UInt16",
}  # fmt: skip


class CSharpRules(Overloading):
    """The rules of C#."""

    has_extensions = True
    has_delegates = True

    def __init__(self, snapshot: Snapshot, resolver: NameResolver) -> None:
        super().__init__(snapshot, resolver)
        self._types = lru_cache(MOST_NAMES)(self._types_named)

    def _types_named(self, name: str) -> dict[str | None, Definition]:
        """Return the types of a name by their namespace."""
        types = [d for d in self.resolver.named(name) if d.file.language == "csharp" and _is_type(d)]
        return {self._namespace(definition): definition for definition in reversed(types)}

    def extends(self, function: Definition) -> str:
        """Return the type of the first parameter of an extension method, or ""."""
        symbol = function.symbol
        parameters = parameters_of(symbol.signature, symbol.name) if is_extension(function) else []
        type_name = simple_name(parameters[0]) if parameters else ""
        return _ALIASES.get(type_name, type_name)

    def _seen_from(self, file: FileRow, symbol: int) -> list[str]:
        """Return the namespaces whose types a place sees, in order: those around it, then those of `using`."""
        detail = self.snapshot.detail(file)
        spaces: list[str] = []
        for _, definition in detail.enclosing(symbol):
            if definition.kind == "module":
                steps = definition.qualified.split(".")
                spaces += (".".join(steps[:end]) for end in range(len(steps), 0, -1))
        spaces.append("")
        usings = [item.module for item in detail.imports if item.name == "*"]
        return [*spaces, *(f"{space}.{name}".strip(".") for name in usings for space in reversed(spaces))]

    def _namespace(self, definition: Definition) -> str | None:
        """Return the namespace of a type; None for a type in another type."""
        symbol = definition.symbol
        if (
            symbol.parent >= 0
            and self.snapshot.detail(definition.file).symbols[symbol.parent].kind != "module"
        ):
            return None
        return symbol.qualified.rpartition(".")[0]

    def type_named(self, file: FileRow, symbol: int, name: str) -> Definition | None:
        """Return the type that a name means in the definition at `symbol`; it may be behind namespaces, with dots."""
        alias = next(iter(self.snapshot.detail(file).imports_as.get(name, ())), None)
        prefix, _, type_name = (name if alias is None else alias.module).rpartition(".")
        by_namespace = self._types(type_name)
        visible = self._seen_from(file, symbol) if by_namespace else ()
        namespaces = (f"{namespace}.{prefix}".strip(".") for namespace in visible)
        return next((by_namespace[namespace] for namespace in namespaces if namespace in by_namespace), None)

    def parts(self, owner: Definition) -> list[Definition]:
        """Return the parts of a type, itself first."""
        if not _PARTIAL.search(owner.symbol.signature):
            return [owner]
        other_parts = [
            definition
            for definition in self.resolver.named(owner.symbol.name)
            if definition.symbol.qualified == owner.symbol.qualified
            and definition.file.language == "csharp"
            and _is_type(definition)
            and (definition.file.key, definition.index) != (owner.file.key, owner.index)
        ]
        return [owner, *other_parts[:_MOST_PARTS]]

    def extensions(self, use: Reference, file: FileRow, receiver: Sequence[str]) -> list[Definition]:
        """Return the visible methods of a used name that extend a type; of any type where it is unknown."""
        methods = self.extending(use.name)
        visible = frozenset(self._seen_from(file, use.symbol) if methods else ())
        types = [_ALIASES.get(name, name) for name in receiver]
        return [
            method
            for method, extended in methods
            if self._namespace(self._owner(method)) in visible
            and (not types or extended in (*types, *type_parameters(method.symbol.signature, use.name)))
        ]

    def arguments(self, text: str, use: Reference, definition: Definition) -> list[str] | None:
        """Return the arguments of a call; the object is the first one of a method that extends its type."""
        arguments = arguments_in(text, use.name)
        of_object = use.qualifier and is_extension(definition)
        if (
            arguments is not None
            and of_object
            and not use.qualifier.endswith(self._owner(definition).symbol.name)
        ):
            arguments.insert(0, use.qualifier)
        return arguments

    def _owner(self, member: Definition) -> Definition:
        """Return the class around a member."""
        at = member.symbol.parent
        return Definition(member.file, at, self.snapshot.detail(member.file).symbols[at])


def is_extension(definition: Definition) -> bool:
    """Return whether a method extends the type of its first parameter."""
    return "(this " in definition.symbol.signature and definition.file.language == "csharp"


def _is_type(definition: Definition) -> bool:
    kind = definition.symbol.kind
    return kind == "type" or (kind in CONTAINERS and kind != "module")
