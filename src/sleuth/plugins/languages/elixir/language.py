"""Elixir: its grammar, queries and imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sleuth.code.language import Container, Import, Language


def read_imports(text: str) -> Iterator[Import]:
    """Read `alias A.{B, C}`, `alias A.B, as: C`, `import A` and `use A`."""
    match = re.match(
        r"(\w++)\s*+(?:\(\s*+)?(\w++(?>(?:\.\w++)*))(?:\.\{([^}]*)\})?(?:\s*+,(?:.*\bas:\s*([\w.]+))?.*|\W*)$",
        text,
        re.S,
    )
    if match is None:
        return
    keyword, module, several, alias = match.groups()
    if several:
        for name in several.split(","):
            yield Import(f"{module}.{name.strip()}", "", name.strip())
    elif keyword == "import":
        yield Import(module, "*", "*")
    else:
        yield Import(module, "", alias or module.rpartition(".")[2])


def is_public(_name: str, head: bytes, _outer: Container | None) -> bool:
    """Return whether other modules may use a definition."""
    return re.match(rb"\s*def(?:macro|guard)?p\b", head) is None


LANGUAGE = Language(
    "elixir",
    package="tree_sitter_elixir",
    extra="code",
    comment="#",
    queries=Path(__file__).parent,
    imports=read_imports,
    is_public=is_public,
    traits=("calls apart",),
)
