"""What is a definition called, and what does a used text name? Where `naming.h` finds that a name is not plain."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sleuth.code.parsing.queries import CONTAINERS, KINDS

_METHOD_HOLDERS = CONTAINERS - {"module"}
_SEPARATORS = re.compile(r"\.|::|->|\\|\?\.")
_OPERATOR = re.compile(
    r"((?:\w+(?:<[^<>]*>)?::)*)operator\b\s*(?:(\(\s*\)|[^\w\s(][^\w(]*)|([^(]+?)\s*(?:\(.*)?$)", re.S
)
"""What stands before `operator` in a name of C++, and the sign or the type after it."""
_TEST = re.compile(r"(\w+)\s*,\s*(\w+)")
"""What stands between the brackets of `TEST(Suite, Name)`."""
_GENERIC = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_MAX_QUALIFIER = 80


def name_of(
    source: bytes, language: str, row: Sequence[int], outer: tuple[str, str, str]
) -> tuple[str, str, str]:
    """Kind, name and qualified name of a definition inside `outer`, which is told by the same.

    Args:
        row: of the table of definitions.
    """
    kind = KINDS[row[0]]
    at = row[2] + row[4]
    name = source[at : at + row[5]].decode("utf-8", "replace")
    scope = ""
    operator = _OPERATOR.match(name) if language == "cpp" and "operator" in name else None
    test = _TEST.fullmatch(name) if language == "cpp" and "," in name else None
    if operator is not None:
        scope = ".".join(p for p in _SEPARATORS.split(_GENERIC.sub("", operator[1])) if p)
        name = f"operator{operator[2].strip() if operator[2] else f' {operator[3]}'}"
    elif language == "bash":
        pass  # `log::info` is one word there
    elif test is not None:
        kind, scope, name = "method", test[1], test[2]
    elif not name.isidentifier() or name in ("prototype", "self"):
        whole = name.strip("\"'`@")
        parts = [
            p for p in _SEPARATORS.split(_GENERIC.sub("", whole)) if p and p not in ("prototype", "self")
        ]
        name = parts[-1] if parts else whole
        scope = ".".join(parts[:-1])
    if kind == "function":
        in_module = outer[0] == "module" and language == "ruby"
        if outer[0] in _METHOD_HOLDERS or in_module or (scope and language == "cpp"):
            kind = "method"
    if row[14]:
        at = row[2] + row[13]
        words = re.findall(rb"\w+", source[at : at + row[14]].split(b"[")[0])
        scope = words[-1].decode() if words else ""
    return kind, name[:120], ".".join([p for p in (outer[2], scope, name) if p])[:300]


_MARKS = re.compile(r"^\s*(?:/\*\*?|\*/|\*|///?!?|#|--)?\s?|\*/\s*$")


def clean_comment(text: list[str]) -> str:
    """Comment lines without their marks; attributes and decorators left out."""
    kept = [_MARKS.sub("", line).strip() for line in text if not line.startswith(("#[", "@"))]
    return "\n".join(kept).strip()


def clean_doc(text: bytes) -> str:
    """A string literal's text, without quotes and common indentation."""
    import inspect

    doc = text.decode("utf-8", "replace").lstrip("rRuUbBfF").strip("\"'")
    return inspect.cleandoc(doc).strip()


def used_name(text: bytes) -> tuple[str, str]:
    """The last part of a used name and what stands before it; "" where the text names nothing."""
    whole = short_text(text) if len(text) <= _MAX_QUALIFIER else short_text(text[-_MAX_QUALIFIER:])
    whole = _GENERIC.sub("", whole) if "<" in whole else whole
    separators = list(_SEPARATORS.finditer(whole))
    last = separators[-1] if separators else None
    if last is None:
        return (whole, "") if whole.isidentifier() or (whole.isprintable() and " " not in whole) else ("", "")
    name = whole[last.end() :].strip()
    return (name, whole[: last.start()].strip()) if name.replace("_", "a").isalnum() else ("", "")


def short_text(text: bytes) -> str:
    """The end of a text, on one line."""
    return " ".join(text[-_MAX_QUALIFIER:].decode("utf-8", "replace").split())
