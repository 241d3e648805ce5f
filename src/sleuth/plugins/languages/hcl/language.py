"""HCL, the language of Terraform: its grammar, queries and imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sleuth.code.language import Import, Language


def read_imports(text: str) -> Iterator[Import]:
    """Read the source of a module."""
    match = re.search(r'"([^"<>]+)"', text)
    if match:
        yield Import(match[1], "*", "*")


LANGUAGE = Language(
    "hcl",
    kinds=("terraform",),
    package="tree_sitter_hcl",
    extra="code",
    comment="#",
    queries=Path(__file__).parent,
    imports=read_imports,
)
