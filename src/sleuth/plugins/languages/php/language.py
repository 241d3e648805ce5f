"""PHP: its grammar, queries and imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sleuth.code.language import Container, Import, Language, aliases_in


def read_imports(text: str) -> Iterator[Import]:
    r"""Read `use A\B as C` and `use A\{B, C}`."""
    body = re.sub(r"^\s*use\s+(?:function\s+|const\s+)?|;\s*$", "", " ".join(text.split()))
    prefix, brace, group = body.partition("{")
    for name, alias in aliases_in(group.rstrip("} ") if brace else body):
        module, _, base_name = (prefix.strip() + name if brace else name).rpartition("\\")
        yield Import(module, base_name, alias.rpartition("\\")[2])


def is_public(_name: str, head: bytes, _outer: Container | None) -> bool:
    """Return whether other modules may use a definition."""
    return b"private" not in head and b"protected" not in head


LANGUAGE = Language(
    "php",
    package="tree_sitter_php",
    extra="code",
    entry="language_php",
    queries=Path(__file__).parent,
    imports=read_imports,
    is_public=is_public,
    own_object=frozenset({"static"}),
    traits=("bare members", "calls apart", "types apart"),
    files="sleuth.plugins.languages.php.files:imported_files",
)
