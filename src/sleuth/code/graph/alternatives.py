"""Chooses the definition that a use means, where a scope has several of one name: overloads, and a type and a value."""

from __future__ import annotations

import re

from sleuth.code.graph.csharp import is_extension
from sleuth.code.graph.inference import Inference
from sleuth.code.graph.kotlin import extended_type
from sleuth.code.graph.modules import package_folder
from sleuth.code.graph.overloads import (
    OVERLOADING,
    arguments_in,
    has_parameters,
    literal_type,
    parameters_of,
    score,
    simple_name,
    takes,
    value_of,
)
from sleuth.code.graph.types import NameResolver, Site
from sleuth.code.parsing.detail import Reference
from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.snapshots.record import FileRow
from sleuth.code.snapshots.snapshot import Definition, Snapshot

_OVERLOAD = re.compile(r"^\s*@(?:\w+\.)?overload\b", re.MULTILINE)
_OVERLOADED = frozenset({"typescript", "tsx"})
"""Languages in which functions of one name and scope are declarations of the last one."""
_TYPES = frozenset({"interface", "type", "module"})
"""Kinds of definitions that are no values."""
_OF_VALUES = frozenset({"call", "instantiation", "value"})
"""Roles in which a name that is a type and a value means the value."""
_LONGEST_CALL = 20
"""How many lines of a call are looked at."""


class Alternatives:
    """Chooses among the definitions of a name at one snapshot."""

    def __init__(self, snapshot: Snapshot, inference: Inference, names: NameResolver) -> None:
        self._snapshot = snapshot
        self._inference = inference
        self._names = names

    def meant(self, definition: Definition, use: Reference, role: str, file: FileRow) -> Definition:
        """Return what a use means: of overloads the one that fits or has a body; a type or the value of its name.

        Args:
            definition: one of the definitions of the name in its scope.
            role: of the use, as far as types and values differ.
            file: of the use.
        """
        language, symbol = definition.file.language, definition.symbol
        symbols = self._snapshot.detail(definition.file).symbols
        is_function = symbol.kind in ("function", "method")
        if role == "call" and language in OVERLOADING:
            return self._overload(definition, use, file)
        if language in _OVERLOADED:
            in_interface = symbol.parent >= 0 and symbols[symbol.parent].kind == "interface"
            return definition if in_interface else self._type_or_value(definition, role, is_function)
        if language != "python" or not is_function:
            return definition
        *others, last = self._twins(definition)
        head = self._snapshot.lines(definition.file, symbol.start, symbol.line) if others else ""
        return last if _OVERLOAD.search(head) else definition

    def _type_or_value(self, definition: Definition, role: str, is_function: bool) -> Definition:
        """Return the type of a definition's name, or the value: of overloads the function with a body."""
        symbol = definition.symbol
        is_type = symbol.kind in _TYPES
        selection: list[Definition] = []
        if role == "type":
            selection = [
                each
                for each in self._twins(definition)
                if each.symbol.kind in CONTAINERS or each.symbol.kind == "type"
            ]
        elif (is_type and role in _OF_VALUES) or (is_function and not symbol.has_body):
            values = [each for each in self._twins(definition) if each.symbol.kind not in _TYPES]
            later = [each for each in values if each.index > definition.index and each.symbol.has_body]
            selection = later or values[-1:]
        return selection[0] if selection else definition

    def _twins(self, definition: Definition) -> list[Definition]:
        """Return the definitions of a name in its scope, in order of place."""
        file, symbol = definition.file, definition.symbol
        symbols = self._snapshot.detail(file).symbols_named(symbol.name)
        return [Definition(file, i, each) for i, each in symbols if each.parent == symbol.parent]

    def _overload(self, first: Definition, use: Reference, file: FileRow) -> Definition:
        """Return the overload that the arguments of a call fit, of the class of the first one and of its bases."""
        symbol, is_kotlin = first.symbol, file.language == "kotlin"
        overloads = self._overloads(first)
        if len(overloads) < 2:
            return first
        text = self._snapshot.lines(file, use.line, use.line + _LONGEST_CALL)
        arguments = arguments_in(text, use.name, lambda_follows=is_kotlin)
        if arguments is None:
            return first
        parameters = [parameters_of(each.symbol.signature, symbol.name) for each in overloads]
        if use.qualifier and is_extension(first) and not use.qualifier.endswith(self._owner_name(first)):
            arguments.insert(0, use.qualifier)
        fitting = [i for i, each in enumerate(parameters) if takes(each, len(arguments))]
        if is_kotlin:
            fitting = [
                i for i in fitting if has_parameters(overloads[i].symbol.signature, symbol.name, arguments)
            ]
        if len(fitting) > 1:
            site = Site(file, use.symbol, use.line)
            values = [value_of(argument) if is_kotlin else argument for argument in arguments]
            types = [self._types_of(value, site) for value in values]
            scores = {i: score(parameters[i], types, simple_name) for i in fitting}
            fitting = [i for i in fitting if scores[i] == max(scores.values())]
        return overloads[fitting[0]] if fitting else first

    def _owner_name(self, member: Definition) -> str:
        """Return the name of the class around a member."""
        return self._snapshot.detail(member.file).symbols[member.symbol.parent].name

    def _overloads(self, first: Definition) -> list[Definition]:
        """Return the methods of a name in a class and its bases; the functions of a package that extend one type."""
        symbol, file = first.symbol, first.file
        if symbol.parent >= 0:
            owner = Definition(file, symbol.parent, self._snapshot.detail(file).symbols[symbol.parent])
            return [
                Definition(level.file, i, each)
                for level in self._inference.levels(owner)
                for i, each in self._snapshot.detail(level.file).symbols_named(symbol.name)
                if each.parent == level.index and each.kind == symbol.kind
            ]
        if file.language != "kotlin":
            return [first]
        extended = extended_type(symbol.signature, symbol.name)
        return [
            each
            for each in self._snapshot.definitions(symbol.name)
            if each.symbol.parent < 0
            and each.symbol.kind == symbol.kind
            and package_folder(each.file) == package_folder(file)
            and extended_type(each.symbol.signature, symbol.name) == extended
        ]

    def _types_of(self, argument: str, site: Site) -> list[str]:
        """Return the names of an argument's type and of its bases, [] where it is unknown."""
        literal = literal_type(argument)
        if literal:
            return [literal]
        return self._inference.type_names(self._inference.type_of(argument, site))
