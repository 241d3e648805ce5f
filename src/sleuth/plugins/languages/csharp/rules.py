"""What only C# has: namespaces, classes in several parts, and extension methods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sleuth.code.language import CONTAINERS, Definition, simple_name, type_parameters
from sleuth.plugins.languages.overloads import Overloading, arguments_in, parameters_of

if TYPE_CHECKING:
    from sleuth.code.language import FileRow, Reference

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
        alias = next((item for item in self.snapshot.detail(file).imports if item.alias == name), None)
        prefix, _, type_name = (name if alias is None else alias.module).rpartition(".")
        by_namespace = {
            self._namespace(definition): definition
            for definition in reversed(self.resolver.named(type_name))
            if definition.file.language == "csharp" and _is_type(definition)
        }
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
        visible = frozenset(self._seen_from(file, use.symbol))
        return [
            method
            for method in self.resolver.named(use.name)
            if method.symbol.kind == "method"
            and is_extension(method)
            and self._namespace(self._owner(method)) in visible
            and _extends(method, receiver)
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


def _extends(method: Definition, receiver: Sequence[str]) -> bool:
    """Return whether a method extends one of some types, or a type parameter of its own."""
    signature, name = method.symbol.signature, method.symbol.name
    parameters = parameters_of(signature, name)
    if not parameters or not receiver:
        return bool(parameters)
    type_name = simple_name(parameters[0])
    own_type = _ALIASES.get(type_name, type_name)
    types = [_ALIASES.get(name, name) for name in receiver]
    return own_type in types or own_type in type_parameters(signature, name)


def _is_type(definition: Definition) -> bool:
    kind = definition.symbol.kind
    return kind == "type" or (kind in CONTAINERS and kind != "module")
