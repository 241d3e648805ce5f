"""C#: its grammar, queries and imports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sleuth.code.language import Import, Language
from sleuth.plugins.languages.java import language as java


def read_imports(text: str) -> Iterator[Import]:
    """Read `using A.B` and `using C = A.B`."""
    for item in java.read_imports(text):
        path = f"{item.module}.{item.name}".strip(".")
        yield Import(path, "*" if item.alias == item.name else "", item.alias)


LANGUAGE = Language(
    "csharp",
    package="tree_sitter_c_sharp",
    extra="code",
    aliases=("c#",),
    queries=Path(__file__).parent,
    imports=read_imports,
    is_public=java.is_public,
    traits=("bare members", "closed", "types apart", "named constructors", "preprocessor"),
    own_object=frozenset({"base"}),
    rules="sleuth.plugins.languages.csharp.rules:CSharpRules",
)
