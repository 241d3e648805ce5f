"""Swift: its grammar, queries and imports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sleuth.code.language import Import, Language
from sleuth.plugins.languages.kotlin.language import is_public


def read_imports(text: str) -> Iterator[Import]:
    """Read `import A.B`."""
    yield Import(text.rsplit(maxsplit=1)[-1], "*", "*")


LANGUAGE = Language(
    "swift",
    package="tree_sitter_swift",
    extra="code",
    queries=Path(__file__).parent,
    imports=read_imports,
    is_public=is_public,
    traits=("bare members", "types apart", "capitals", "preprocessor"),
)
