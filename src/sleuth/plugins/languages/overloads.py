"""Chooses among the overloads of a method, in Java, C# and Kotlin, by the arguments of a call."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sleuth.code.language import (
    Definition,
    FileRow,
    NameResolver,
    NameRules,
    Reference,
    Site,
    after_bracket,
    simple_name,
    split_outside,
)

if TYPE_CHECKING:
    from sleuth.code import Snapshot

MOST_NAMES: Final = 20_000
"""Names whose definitions are remembered."""
_LONGEST_CALL: Final = 20
"""How many lines of a call are looked at."""
_STRING: Final = re.compile(r'"[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)"?|\'[^\'\\\n]*+(?>(?:\\.[^\'\\\n]*+)*)\'?')
"""A string or a character, also one without its end: each quote is looked at once."""
_ANNOTATION: Final = re.compile(r"@[\w.]+(?:\([^()]*\))?\s*|\b(?:final|ref|out|in|this|params)\s+")
_LITERALS: Final = (
    (re.compile(r'".*"', re.DOTALL), "String"),
    (re.compile(r"'.*'"), "char"),
    (re.compile(r"[-+]?\d[\d_]*|0x[\da-fA-F_]+"), "int"),
    (re.compile(r"[-+]?\d[\d_]*[lL]"), "long"),
    (re.compile(r"[-+]?(?:[\d_]++(?:\.[\d_]++)?|\.[\d_]++)(?:[eE][-+]?\d++)?[fF]"), "float"),
    (re.compile(r"[-+]?(?:[\d_]++(?:\.[\d_]++)?|\.[\d_]++)(?:[eE][-+]?\d++)?[dD]?"), "double"),
    (re.compile(r"true|false|!.*", re.DOTALL), "boolean"),
    (re.compile(r"[\w.\[\]]+\.class|[\w.]+::class\.java"), "Class"),
    (re.compile(r"[\w.]+::class"), "KClass"),
    (re.compile(r"\{.*", re.DOTALL), "Function"),
)
_CAST: Final = re.compile(r"\((\w+)\)\s*[\w(\"\'-]")
_NEW: Final = re.compile(r"new\s+(?>(?:\w+\.)*)(\w++)[^\[{;]*\)$")
_BOXES: Final = {
    "int": "Integer", "char": "Character", "long": "Long", "float": "Float", "double": "Double", "boolean": "Boolean",
    "byte": "Byte", "short": "Short",
}  # fmt: skip
_TYPE_ARGUMENTS: Final = r"(?>(?:<[^()<>]*+(?>(?:<[^()<>]*+>[^()<>]*+)*)>\s*+)?)"
_WIDER: Final = ("byte", "short", "int", "long", "float", "double")
_ANYTHING: Final = re.compile(r"[A-Z]|Object|Any|Serializable|Comparable")
_KOTLIN_HEAD: Final = re.compile(
    r"(?>(?:@\w++\s++)*)(?>(?:(?:vararg|crossinline|noinline|val|var|private|override)\s++)*)(\w++)\s*+:"
)


class Overloading(NameRules):
    """NameRules of a language whose overloads differ by their parameters."""

    def __init__(self, snapshot: Snapshot, resolver: NameResolver) -> None:
        super().__init__(snapshot, resolver)
        self.extending = lru_cache(MOST_NAMES)(self._extending)

    def extends(self, function: Definition) -> str:
        """Return the type that a function extends, or ""."""
        return ""

    def _extending(self, name: str) -> list[tuple[Definition, str]]:
        """Return the functions of a name that extend a type, with the type."""
        functions = [d for d in self.resolver.named(name) if d.symbol.kind in ("function", "method")]
        return [(function, text) for function in functions if (text := self.extends(function))]

    def overload(self, definition: Definition, use: Reference, file: FileRow) -> Definition:
        """Return the overload that the arguments of a call fit, of the class of one of them and of its bases."""
        overloads = self.overloads(definition)
        if len(overloads) < 2:
            return definition
        arguments = self.arguments(
            self.snapshot.lines(file, use.line, use.line + _LONGEST_CALL), use, definition
        )
        if arguments is None:
            return definition
        name = definition.symbol.name
        parameters = [parameters_of(candidate.symbol.signature, name) for candidate in overloads]
        fitting = [
            i
            for i, parameter_list in enumerate(parameters)
            if takes(parameter_list, len(arguments)) and self.fits(overloads[i], arguments)
        ]
        if len(fitting) > 1:
            site = Site(file, use.symbol, use.line)
            inference = self.resolver.inference
            types = [
                [literal]
                if (literal := literal_type(value))
                else inference.type_names(inference.type_of(value, site))
                for value in map(self.value, arguments)
            ]
            scores = {i: score(parameters[i], types, simple_name) for i in fitting}
            fitting = [i for i in fitting if scores[i] == max(scores.values())]
        return overloads[fitting[0]] if fitting else definition

    def overloads(self, definition: Definition) -> list[Definition]:
        """Return the methods of a name in a class and its bases."""
        symbol, file = definition.symbol, definition.file
        if symbol.parent < 0:
            return [definition]
        owner = Definition(file, symbol.parent, self.snapshot.detail(file).symbols[symbol.parent])
        members = list[Definition]()
        for level in self.resolver.inference.levels(owner):
            detail = self.snapshot.detail(level.file)
            places = detail.members_named.get((symbol.name, level.index), ())
            members += (Definition(level.file, at, detail.symbols[at]) for at in places)
        return [member for member in members if member.symbol.kind == symbol.kind]

    def arguments(self, text: str, use: Reference, definition: Definition) -> list[str] | None:
        """Return the arguments of a call in the text that begins with it; None where the call is not there."""
        return arguments_in(text, use.name)

    def fits(self, overload: Definition, arguments: Sequence[str]) -> bool:
        """Return whether an overload has the parameters that arguments name."""
        return True

    def value(self, argument: str) -> str:
        """Return an argument without the name of its parameter."""
        return argument


def _masked(match: re.Match[str]) -> str:
    """Return a string with its quotes and without its text; one without its end may be an apostrophe, and stays."""
    text = match[0]
    is_closed = len(text) > 1 and text[0] == text[-1]
    return f"{text[0]}{'_' * (len(text) - 2)}{text[-1]}" if is_closed else text


def _head(text: str, name: str) -> re.Match[str] | None:
    """Find a name with its type arguments and the bracket that follows."""
    return re.search(rf"(?<![\w$]){re.escape(name)}\s*+{_TYPE_ARGUMENTS}\(", text)


def arguments_in(text: str, name: str, *, lambda_follows: bool = False) -> list[str] | None:
    """Return the arguments of the first call of a name in a text, None where there is no call of it.

    Args:
        lambda_follows: whether a block after the brackets is an argument, as in Kotlin.
    """
    masked = _STRING.sub(_masked, text)
    masked = masked.replace("->", "⇒ ").replace("=>", "⇒ ")
    match = _head(masked, name)
    if match is None:
        return None
    end = after_bracket(masked, match.end() - 1)
    inside = masked[match.end() : end - 1]
    arguments, at = [], match.end()
    for part in split_outside(inside, ",") if inside.strip() else ():
        arguments.append(text[at : at + len(part)].strip())
        at += len(part) + 1
    if lambda_follows and masked[end:].lstrip(" ").startswith("{"):
        arguments.append("{}")
    return arguments


def parameters_of(signature: str, name: str) -> list[str]:
    """Return the types of the parameters in the head of a method.

    `...` ends that of a variable number, and ` =` that of a parameter that may be left out.
    """
    match = _head(signature, name)
    if match is None:
        return []
    parts = split_outside(signature[match.end() : after_bracket(signature, match.end() - 1) - 1], ",")
    return [_parameter(part.strip()) for part in parts if part.strip()]


def _parameter(text: str) -> str:
    declared, default, _ = text.partition("=")
    head = _KOTLIN_HEAD.match(declared)
    if head is not None:
        parameter, is_variable = declared[head.end() :].strip(), "vararg " in head[0]
    else:
        parameter = _ANNOTATION.sub("", declared).strip().rpartition(" ")[0].strip()
        is_variable = text.startswith("params ")
    if is_variable:
        return f"{parameter.removesuffix('[]')}..."
    return f"{parameter} =" if default else parameter


def literal_type(argument: str) -> str:
    """Return the type of a literal, a cast or a new object, "" for other expressions."""
    cast_match = _CAST.match(argument) or _NEW.match(argument)
    if cast_match is not None:
        return cast_match[1]
    return next((name for pattern, name in _LITERALS if pattern.fullmatch(argument)), "")


def takes(parameters: Sequence[str], count: int) -> bool:
    """Return whether a method takes a number of arguments."""
    is_variable = any(parameter.endswith("...") for parameter in parameters)
    required_count = sum(not parameter.endswith(("...", " =")) for parameter in parameters)
    return required_count <= count and (is_variable or count <= len(parameters))


def score(parameters: Sequence[str], types: Sequence[Sequence[str]], lookup: Callable[[str], str]) -> int:
    """Return how well arguments fit parameters; more is better.

    Args:
        types: the names of each argument's type and of its bases, nothing where it is unknown.
        lookup: returns the class that a written type names.
    """
    total = 0
    for at, names in enumerate(types):
        type_text = parameters[min(at, len(parameters) - 1)]
        is_list = type_text.endswith("...")
        parameter = lookup(type_text.removesuffix("...").removesuffix(" =").strip())
        total += _fit(parameter, names) - is_list
    return total


def _fit(parameter: str, names: Sequence[str]) -> int:
    if not names or not parameter:
        return 0
    first = names[0]
    is_wider = first in _WIDER and parameter in _WIDER[_WIDER.index(first) :]
    is_boxed = parameter == _BOXES.get(first) or first == _BOXES.get(parameter)
    is_base = (parameter == "CharSequence" and first == "String") or (
        parameter == "Number" and first in _WIDER
    )
    points = (
        (6, first in (parameter, parameter.lower())),
        (4, parameter in names or is_wider),
        (3, is_boxed),
        (2, is_base),
        (1, _ANYTHING.fullmatch(parameter)),
        (-4, True),
    )
    return next(count for count, is_so in points if is_so)
