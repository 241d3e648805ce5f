"""Chooses the definition that a use means, where a scope of Python or TypeScript has several of one name."""

from __future__ import annotations

import re

from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.snapshots.snapshot import Definition, Snapshot

_OVERLOAD = re.compile(r"^\s*@(?:\w+\.)?overload\b", re.MULTILINE)
_OVERLOADED = frozenset({"typescript", "tsx"})
"""Languages in which functions of one name and scope are declarations of the last one."""
_TYPES = frozenset({"interface", "type", "module"})
"""Kinds of definitions that are no values."""
_OF_VALUES = frozenset({"call", "instantiation", "value"})
"""Roles in which a name that is a type and a value means the value."""


class Alternatives:
    """Chooses among the definitions of a name at one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def meant(self, definition: Definition, role: str) -> Definition:
        """Return what a use means: of overloads the one that has a body; a type or the value of its name.

        Args:
            definition: one of the definitions of the name in its scope.
            role: of the use, as far as types and values differ.
        """
        language, symbol = definition.file.language, definition.symbol
        symbols = self._snapshot.detail(definition.file).symbols
        is_function = symbol.kind in ("function", "method")
        if language in _OVERLOADED:
            in_interface = symbol.parent >= 0 and symbols[symbol.parent].kind == "interface"
            return definition if in_interface else self._type_or_value(definition, role, is_function)
        if language != "python" or not is_function:
            return definition
        *overloads, implementation = self._twins(definition)
        head = self._snapshot.lines(definition.file, symbol.start, symbol.line) if overloads else ""
        return implementation if _OVERLOAD.search(head) else definition

    def _type_or_value(self, definition: Definition, role: str, is_function: bool) -> Definition:
        """Return the type of a definition's name, or the value: of overloads the function with a body."""
        symbol = definition.symbol
        is_type = symbol.kind in _TYPES
        selection: list[Definition] = []
        if role == "type":
            selection = [
                twin
                for twin in self._twins(definition)
                if twin.symbol.kind in CONTAINERS or twin.symbol.kind == "type"
            ]
        elif (is_type and role in _OF_VALUES) or (is_function and not symbol.has_body):
            values = [twin for twin in self._twins(definition) if twin.symbol.kind not in _TYPES]
            later = [twin for twin in values if twin.index > definition.index and twin.symbol.has_body]
            selection = later or values[-1:]
        return selection[0] if selection else definition

    def _twins(self, definition: Definition) -> list[Definition]:
        """Return the definitions of a name in its scope, in order of place."""
        file, symbol = definition.file, definition.symbol
        symbols = self._snapshot.detail(file).symbols_named(symbol.name)
        return [Definition(file, i, twin) for i, twin in symbols if twin.parent == symbol.parent]
