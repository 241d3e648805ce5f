"""Names in a file: what definitions are called, where names are used, and what gives them values."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from sleuth.code.parsing.kinds import CONTAINERS, KINDS

if TYPE_CHECKING:
    from sleuth.code.parsing.tables import DefinitionRow

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_METHOD_HOLDERS = CONTAINERS - {"module"}
_SEPARATORS = re.compile(r"\.|::|->|\\|\?\.")
_OPERATOR = re.compile(
    r"((?:\w+(?:<[^<>]*>)?::)*)operator\b\s*(?:(\(\s*\)|[^\w\s(][^\w(]*)|([^(]+?)\s*(?:\(.*)?$)", re.S
)
"""The part before `operator` in a name of C++, and the sign or the type after it."""
_REFERRING = re.compile(r"^(?:&\s*(?:'\w+\s+)?(?:mut\s+)?)+")
"""The signs before the type of `impl Trait for &'a mut Type`."""
_GENERIC = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_MAX_NAME: Final = 200
_MAX_QUALIFIED: Final = 300


class Name(NamedTuple):
    """What a definition is called: its kind, its name, and its name joined to its containers with dots."""

    kind: str
    name: str
    qualified: str


OUTSIDE: Final = Name("", "", "")
"""The container of definitions at a file's top."""


class Reference(NamedTuple):
    """A name that is used.

    Attributes:
        name: the last part, such as `charge`; `qualifier` is the part before it, such as `stripe` or `self`.
        role: call, instantiation, inheritance, import or reference.
        symbol: position of its enclosing definition, -1 at the file's top.
    """

    name: str
    qualifier: str
    role: str
    line: int
    symbol: int


class Binding(NamedTuple):
    """A name that gets a value.

    Attributes:
        name: as written, with the `$` or `@` of its language.
        kind: one of `BINDINGS`.
        type: its declared type or ""; `value` is what it is assigned. At most 200 bytes of each.
        symbol: position of the definition around it, -1 at the file's top.
        defines: whether it is the name of that definition.
    """

    name: str
    kind: str
    type: str
    value: str
    line: int
    symbol: int
    defines: bool


def grouped(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """Return values by their key, in their order."""
    groups: dict[K, list[V]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def name_of(source: bytes, language: str, row: DefinitionRow, outer: Name) -> Name:
    """Return what a definition inside `outer` is called."""
    kind = KINDS[row.kind]
    name = source[row.start + row.name : row.start + row.name + row.name_size].decode("utf-8", "replace")
    scope = ""
    if not name.isidentifier() or name in ("prototype", "self"):
        scope, name = _split_name(name, language)
    if row.scope_size:
        start = row.start + row.scope
        scope = source[start : start + row.scope_size].decode("utf-8", "replace")
    if kind == "function":
        in_module = outer.kind == "module" and language == "ruby"
        if outer.kind in _METHOD_HOLDERS or in_module or (scope and language == "cpp"):
            kind = "method"
    return Name(
        kind, name[:_MAX_NAME], ".".join([p for p in (outer.qualified, scope, name) if p])[:_MAX_QUALIFIED]
    )


def _split_name(name: str, language: str) -> tuple[str, str]:
    """Return the qualifiers before a name, joined with dots, and the name itself."""
    operator_match = _OPERATOR.match(name) if language == "cpp" and "operator" in name else None
    if operator_match is not None:
        parts = [part for part in _SEPARATORS.split(_GENERIC.sub("", operator_match[1])) if part]
        sign = operator_match[2].strip() if operator_match[2] else f" {operator_match[3]}"
        return ".".join(parts), f"operator{sign}"
    if language == "bash" or (language == "ruby" and name.startswith("[")):
        return "", name  # `log::info` is one word there, and `[]=` an operator
    if language == "rust":
        name = _REFERRING.sub("", name)
    plain_name = name.strip("\"'`@")
    steps = _SEPARATORS.split(_GENERIC.sub("", plain_name))
    parts = [step for step in steps if step and step not in ("prototype", "self")]
    return (".".join(parts[:-1]), parts[-1]) if parts else ("", plain_name)
