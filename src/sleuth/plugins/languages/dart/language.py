"""Dart: its grammar, queries and imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sleuth.code.language import Import, Language, aliases_in


def read_imports(text: str) -> Iterator[Import]:
    """Read `import` and `export`, with `as` and `show`."""
    match = re.search(r"""['"]([^'"]+)['"]([^;]*)""", text)
    if match is None:
        return
    module, clauses = match.groups()
    alias_match = re.search(r"\bas\s+(\w+)", clauses)
    shown_match = re.search(r"\bshow\s+([\w\s,]+)", re.split(r"\bhide\b", clauses)[0])
    if alias_match:
        yield Import(module, "", alias_match[1])
    elif shown_match:
        for name, alias in aliases_in(shown_match[1]):
            yield Import(module, name, alias)
    else:
        yield Import(module, "*", "*")


LANGUAGE = Language(
    "dart",
    package="tree_sitter_dart",
    extra="code",
    queries=Path(__file__).parent,
    imports=read_imports,
    traits=("bare members", "types apart", "capitals"),
    files="sleuth.plugins.languages.dart.files:imported_files",
)
