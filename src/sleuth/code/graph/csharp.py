"""What only C# has: namespaces, classes in several parts, and extension methods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sleuth.code.graph.expressions import type_parameters
from sleuth.code.graph.overloads import parameters_of, simple_name
from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.snapshots.snapshot import Definition

if TYPE_CHECKING:
    from sleuth.code.graph.names import NamedDefinitions
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_PARTIAL: Final = re.compile(r"\bpartial\b")
_MOST_PARTS: Final = 100
_ALIASES: Final = {
    "bool": "Boolean", "byte": "Byte", "char": "Char", "int": "Int32", "long": "Int64", "object": "Object",
    "short": "Int16", "string": "String", "uint": "UInt32", "ulong": "UInt64", "ushort": "UInt16",
}  # fmt: skip


class Namespaces:
    """The namespaces of C# at one snapshot."""

    def __init__(self, snapshot: Snapshot, names: NamedDefinitions) -> None:
        self._snapshot = snapshot
        self._names = names

    def _seen_from(self, file: FileRow, symbol: int) -> list[str]:
        """Return the namespaces whose types a place sees, in order: those around it, then those of `using`."""
        detail = self._snapshot.detail(file)
        around: list[str] = []
        while symbol >= 0:
            if detail.symbols[symbol].kind == "module":
                around += _with_outer(detail.symbols[symbol].qualified)
            symbol = detail.symbols[symbol].parent
        around.append("")
        usings = [item.module for item in detail.imports if item.name == "*"]
        return [*around, *(f"{outer}.{name}".strip(".") for name in usings for outer in reversed(around))]

    def _namespace(self, definition: Definition) -> str | None:
        """Return the namespace of a type; None for a type in another type."""
        symbol = definition.symbol
        if (
            symbol.parent >= 0
            and self._snapshot.detail(definition.file).symbols[symbol.parent].kind != "module"
        ):
            return None
        return symbol.qualified.rpartition(".")[0]

    def type_named(self, file: FileRow, symbol: int, name: str) -> Definition | None:
        """Return the type that a name means in the definition at `symbol`; it may be behind namespaces, with dots."""
        alias = next((item for item in self._snapshot.detail(file).imports if item.alias == name), None)
        before, _, last = (name if alias is None else alias.module).rpartition(".")
        by_namespace = {
            self._namespace(each): each
            for each in reversed(self._names.named(last))
            if each.file.language == "csharp" and _is_type(each)
        }
        visible = self._seen_from(file, symbol) if by_namespace else ()
        namespaces = (f"{namespace}.{before}".strip(".") for namespace in visible)
        return next((by_namespace[each] for each in namespaces if each in by_namespace), None)

    def parts(self, owner: Definition) -> list[Definition]:
        """Return the parts of a type, itself first."""
        if not _PARTIAL.search(owner.symbol.signature):
            return [owner]
        others = [
            each
            for each in self._names.named(owner.symbol.name)
            if each.symbol.qualified == owner.symbol.qualified
            and each.file.language == "csharp"
            and _is_type(each)
            and (each.file.key, each.index) != (owner.file.key, owner.index)
        ]
        return [owner, *others[:_MOST_PARTS]]

    def extensions(self, file: FileRow, symbol: int, name: str, receiver: Sequence[str]) -> list[Definition]:
        """Return the visible methods of a name that extend a type; of any type where the receiver is unknown.

        Args:
            receiver: the names of the object's type and of its bases.
        """
        visible = frozenset(self._seen_from(file, symbol))
        return [
            each
            for each in self._names.named(name)
            if each.file.language == "csharp"
            and each.symbol.kind == "method"
            and is_extension(each)
            and self._namespace(self._names.definition(each.file, each.symbol.parent)) in visible
            and _extends(each, receiver)
        ]


def is_extension(definition: Definition) -> bool:
    """Return whether a method extends the type of its first parameter."""
    return "(this " in definition.symbol.signature and definition.file.language == "csharp"


def _extends(method: Definition, receiver: Sequence[str]) -> bool:
    """Return whether a method extends one of some types, or a type parameter of its own."""
    signature, name = method.symbol.signature, method.symbol.name
    parameters = parameters_of(signature, name)
    if not parameters or not receiver:
        return bool(parameters)
    first = _ALIASES.get(simple_name(parameters[0]), simple_name(parameters[0]))
    return first in [_ALIASES.get(each, each) for each in receiver] or first in type_parameters(
        signature, name
    )


def _is_type(definition: Definition) -> bool:
    kind = definition.symbol.kind
    return kind == "type" or (kind in CONTAINERS and kind != "module")


def _with_outer(name: str) -> Iterator[str]:
    """Yield a dotted name, and the names before each of its dots, longest first."""
    while name:
        yield name
        name = name.rpartition(".")[0]
