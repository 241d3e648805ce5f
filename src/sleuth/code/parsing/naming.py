"""What definitions are called, and text cleaned for people."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from sleuth.code.parsing.kinds import CONTAINERS, KINDS
from sleuth.code.parsing.tables import DefinitionRow

_METHOD_HOLDERS = CONTAINERS - {"module"}
_SEPARATORS = re.compile(r"\.|::|->|\\|\?\.")
_OPERATOR = re.compile(
    r"((?:\w+(?:<[^<>]*>)?::)*)operator\b\s*(?:(\(\s*\)|[^\w\s(][^\w(]*)|([^(]+?)\s*(?:\(.*)?$)", re.S
)
"""The part before `operator` in a name of C++, and the sign or the type after it."""
_REFERRING = re.compile(r"^(?:&\s*(?:'\w+\s+)?(?:mut\s+)?)+")
"""The signs before the type of `impl Trait for &'a mut Type`."""
_GENERIC = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_LONG: Final = 80
_LONGEST: Final = 200
_QUOTED = re.compile(r"\"[^\"\\]*+(?>(?:\\.[^\"\\]*+)*)\"?|'(?:[^'\\]|\\.)'")
_INNERMOST = re.compile(r"\([^()\[\]{}]*+\)|\[[^()\[\]{}]*+\]|\{[^()\[\]{}]*+\}")
_BRACKETS: Final = {"(": "\1", "[": "\2", "{": "\3"}
_EMPTY: Final = {1: "()", 2: "[0]", 3: "{}"}
_MOST_NESTED: Final = 40


_MAX_NAME: Final = 120
_MAX_QUALIFIED: Final = 300


class Name(NamedTuple):
    """What a definition is called: its kind, its name, and its name joined to its containers with dots."""

    kind: str
    name: str
    qualified: str


OUTSIDE: Final = Name("", "", "")
"""The container of definitions at a file's top."""


def name_of(source: bytes, language: str, row: DefinitionRow, outer: Name) -> Name:
    """Return what a definition inside `outer` is called."""
    kind = KINDS[row.kind]
    name = source[row.start + row.name : row.start + row.name + row.name_size].decode("utf-8", "replace")
    scope = ""
    if not name.isidentifier() or name in ("prototype", "self"):
        scope, name = _split_name(name, language)
    if row.scope_size:
        scope = source[row.start + row.scope : row.start + row.scope + row.scope_size].decode(
            "utf-8", "replace"
        )
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
    if language == "bash":
        return "", name  # `log::info` is one word there
    if language == "rust":
        name = _REFERRING.sub("", name)
    plain_name = name.strip("\"'`@")
    parts = [
        part
        for part in _SEPARATORS.split(_GENERIC.sub("", plain_name))
        if part and part not in ("prototype", "self")
    ]
    return (".".join(parts[:-1]), parts[-1]) if parts else ("", plain_name)


_MARKS = re.compile(r"^\s*(?:/\*\*?|\*/|\*|///?!?|#|--)?\s?|\*/\s*$")


def clean_comment(text: list[str]) -> str:
    """Return comment lines without their marks; attributes, decorators and cell marks are left out."""
    lines = [_MARKS.sub("", line).strip() for line in text if not line.startswith(("#[", "@", "# %%"))]
    return "\n".join(lines).strip()


def short_text(text: bytes) -> str:
    """Return an expression on one line; of a long one the last 200 characters, without what brackets hold."""
    line = " ".join(text.decode("utf-8", "replace").split())
    if len(line) <= _LONG:
        return line
    line, count = _QUOTED.sub('""', line), 1
    for _ in range(_MOST_NESTED):
        line, count = _INNERMOST.subn(lambda match: _BRACKETS[match[0][0]], line)
        if not count:
            break
    return line.translate(_EMPTY)[-_LONGEST:]
