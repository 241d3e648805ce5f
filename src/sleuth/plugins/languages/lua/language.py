"""Lua: its grammar, queries and imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sleuth.code.language import Import, Language


def read_imports(text: str) -> Iterator[Import]:
    """Read `require` and `dofile`, with the variable before it."""
    match = re.search(
        r"""(?:(?<!\w)(\w++)\s*+=\s*+)?(?:require|dofile)\s*+(?:\(\s*+)?['"]([^'"]+)['"]""", text
    )
    if match:
        yield Import(match[2], "", match[1] or match[2].rpartition(".")[2])


LANGUAGE = Language(
    "lua",
    package="tree_sitter_lua",
    extra="code",
    comment="--",
    queries=Path(__file__).parent,
    imports=read_imports,
    files="sleuth.plugins.languages.lua.files:imported_files",
)
