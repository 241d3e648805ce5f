"""Chooses among the overloads of a method by the number and the types of a call's arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from sleuth.code.graph.expressions import after_bracket, split_outside, type_name

OVERLOADING: Final = frozenset({"java", "csharp", "kotlin"})
"""Languages whose overloads differ by their parameters."""
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|\'(?:[^\'\\\n]|\\.)*+\'?')
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
_NEW: Final = re.compile(r"new\s+(?:\w+\.)*+(\w++)[^\[{;]*\)$")
_BOXES: Final = {
    "int": "Integer", "char": "Character", "long": "Long", "float": "Float", "double": "Double", "boolean": "Boolean",
    "byte": "Byte", "short": "Short",
}  # fmt: skip
_TYPE_ARGUMENTS: Final = r"(?:<[^()<>]*+(?:<[^()<>]*+>[^()<>]*+)*+>\s*+)?+"
_WIDER: Final = ("byte", "short", "int", "long", "float", "double")
_ANYTHING: Final = re.compile(r"[A-Z]|Object|Any|Serializable|Comparable")
_NAMED: Final = re.compile(r"(\w++)\s*+=(?!=)\s*+")
_KOTLIN_HEAD: Final = re.compile(
    r"(?:@\w++\s++)*+(?:(?:vararg|crossinline|noinline|val|var|private|override)\s++)*+(\w++)\s*+:"
)


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


def has_parameters(signature: str, name: str, arguments: Sequence[str]) -> bool:
    """Return whether a method of Kotlin has the parameters that arguments name: `width` of `width = 3`."""
    head = _head(signature, name)
    text = signature[head.end() :] if head is not None else ""
    names = [match[1] for argument in arguments if (match := _NAMED.match(argument))]
    return all(_declares(text, name) for name in names)


def _declares(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\s*+:", text) is not None


def value_of(argument: str) -> str:
    """Return an argument without the name of its parameter."""
    match = _NAMED.match(argument)
    return argument if match is None else argument[match.end() :]


def literal_type(argument: str) -> str:
    """Return the type of a literal, a cast or a new object, "" for other expressions."""
    cast_match = _CAST.match(argument) or _NEW.match(argument)
    if cast_match is not None:
        return cast_match[1]
    return next((name for pattern, name in _LITERALS if pattern.fullmatch(argument)), "")


def takes(parameters: Sequence[str], count: int) -> bool:
    """Return whether a method takes a number of arguments."""
    is_variable = any(each.endswith("...") for each in parameters)
    least = sum(not each.endswith(("...", " =")) for each in parameters)
    return least <= count and (is_variable or count <= len(parameters))


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


def simple_name(text: str) -> str:
    """Return the last part of the class that a type names, with `[]` for an array; `Function` for `(A) -> B`."""
    if "->" in text:
        return "Function"
    return re.split(r"\.|::", type_name(text.replace("[]", "")))[-1] + "[]" * text.rstrip().endswith("[]")
