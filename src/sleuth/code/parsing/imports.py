"""Reads import statements of the core's languages: what each brings into a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from sleuth.code.parsing.language import Import


def split_outside(text: str, separator: str) -> list[str]:
    """Return the parts between the separators that stand outside of brackets."""
    parts, start, depth = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "[<({") - (sign in "]>)}")
        if sign == separator and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def aliases_in(text: str) -> Iterator[tuple[str, str]]:
    """Parse `a, b as c` into (a, a), (b, c)."""
    for part in text.split(","):
        match part.split():
            case [name, *_, "as", alias]:
                yield name, alias
            case ["type", *_, alias]:
                yield alias, alias
            case [name, *rest]:
                yield name, rest[-1] if rest else name


def python_imports(text: str) -> Iterator[Import]:
    """Read `import a.b as c, d` and `from a import (b as c)`."""
    text = re.sub(r"#[^\n]*|\\\n", " ", text)
    match = re.match(
        r"\s*+from\s++(\.*+(?>(?:\s++(?!import\b))?)[\w.]*+)\s++import\s++\(?([^)]*)", text, re.S
    )
    if match:
        module = match[1].replace(" ", "")
        for name, alias in aliases_in(match[2]):
            yield Import(module, name, alias)
        return
    for name, alias in aliases_in(re.sub(r"^\s*import\s+", "", text)):
        yield Import(name, "", alias)


def javascript_imports(text: str) -> Iterator[Import]:
    """Read `import` and `export` with `from`, and `require`."""
    source_match = re.search(r"""(?:from|require\s*\(|import)\s*['"`]([^'"`]+)['"`]""", text)
    if source_match is None:
        return
    module = source_match[1]
    head = text[: source_match.start()].replace("\n", " ")
    required_match = re.search(r"(\{[^{}]*+\}|(?<![\w$])[\w$]++)\s*+=\s*+$", head)
    if "require" in source_match[0]:
        head = required_match[1].replace(":", " as ") if required_match else ""
    head = re.sub(r"^\s*(?:import|export|const|let|var)\b", "", head)
    head = re.sub(r"^\s*type\s+(?=[\w{])", "", head)
    named_match = re.search(r"\{([^{}]*)\}", head)
    names = aliases_in(named_match[1]) if named_match else ()
    items = [Import(module, name, alias) for name, alias in names]
    unbraced_head = re.sub(r"\{[^{}]*\}", "", head)
    star_match = re.search(r"\*(?:\s*as\s+([\w$]+))?", unbraced_head)
    if star_match:
        items.append(Import(module, "" if star_match[1] else "*", star_match[1] or "*"))
    default_match = re.match(r"\s*([\w$]+)", re.sub(r"\*(?:\s*as\s+[\w$]+)?", "", unbraced_head))
    if default_match:
        items.append(Import(module, "default", default_match[1]))
    yield from items or [Import(module, "", "")]


def go_imports(text: str) -> Iterator[Import]:
    """Read one path, with the name before it."""
    match = re.search(r'(?:(?<![\w.])([\w.]++)\s++)?["`]([^"`]+)["`]', text)
    if match:
        yield Import(match[2], "", match[1] or re.sub(r"/v\d+$", "", match[2]).rpartition("/")[2])


def rust_imports(text: str) -> Iterator[Import]:
    """Read `use a::{b, c::d as e}`."""
    body = re.sub(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+|;\s*$", "", text)
    yield from _rust_tree("", " ".join(body.split()))


def _rust_tree(prefix: str, text: str) -> Iterator[Import]:
    head, brace, braced_text = text.partition("{")
    if brace:
        path = "::".join(p for p in (prefix, head.strip().strip(":")) if p)
        for part in split_outside(braced_text[: braced_text.rfind("}")], ","):
            yield from _rust_tree(path, part.strip())
        return
    path, _, alias = text.partition(" as ")
    parts = [p for p in path.strip().split("::") if p]
    if parts == ["self"] and prefix:
        prefix, _, name = prefix.rpartition("::")
        parts = [name]
    if parts:
        module = "::".join(p for p in (prefix, *parts[:-1]) if p)
        yield Import(module, parts[-1], alias.strip() or parts[-1])


def _whole_file(path: re.Pattern[str], text: str) -> Iterator[Import]:
    """Read a statement that brings in everything of a file, given a pattern whose group is the path."""
    match = path.search(text)
    if match:
        yield Import(match[match.lastindex or 0], "*", "*")


include_imports = partial(_whole_file, re.compile(r"""["<]([^"<>]+)[">]"""))
"""Reads `#include` of C."""


def ruby_imports(text: str) -> Iterator[Import]:
    """Read `require`, `require_relative` and `autoload`."""
    match = re.match(r"""\s*(\w+)[\s(]+(?::(\w+)\s*,\s*)?['"]([^'"]+)['"]""", text)
    if match:
        yield Import(
            ("./" if match[1] == "require_relative" else "") + match[3], match[2] or "*", match[2] or "*"
        )


_SOURCED = re.compile(
    r"""(?:(?<=\s)|(?<=\s["'])|(?<=[)}])|(?:(?<=\s\$)|(?<=\s["']\$))\w++)/?+((?<![\w$])[^\s"'$(){}`]++)["']*+$"""
)
"""The path in `source path`, without the folder that a variable or a command gives."""


bash_imports = partial(_whole_file, _SOURCED)
"""Reads `source` and `.`."""
css_imports = partial(_whole_file, re.compile(r"""["']([^"']+)["']|url\(\s*([^"')\s]+)"""))
"""Reads `@import`."""
_REMOTE = re.compile(r"\w+:|//|#|.*[{<]")


def markup_imports(text: str) -> Iterator[Import]:
    """HTML, Vue, Svelte: the attribute that names a file, or a statement of a script or a style."""
    attribute_match = re.match(r"""(?:src|href)\s*=\s*["']?([^"'?#]+)""", text)
    if attribute_match is None:
        yield from css_imports(text) if text.startswith("@") else javascript_imports(text)
    elif not _REMOTE.match(path := attribute_match[1].strip()):
        yield Import(path if path.startswith((".", "/")) else f"./{path}", "*", "*")


def lines_before(item: Import, statement: str) -> int:
    """Return how many lines of an import statement stand before the name that it brings in."""
    if "\n" not in statement:
        return 0
    name, module = (re.escape(text) for text in (item.name or item.module, item.module))
    if item.name and (module_match := re.search(rf"(?<!\w){module}(?!\w)", statement)):
        start, end = module_match.span()  # it may hold the name, too
        statement = statement[:start] + "\0" * (end - start) + statement[end:]
    name_match = re.search(rf"(?<!\w){name}(?!\w)", statement)
    return statement.count("\n", 0, name_match.start()) if name_match else 0
