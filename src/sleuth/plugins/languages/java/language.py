"""Java: its grammar, queries and imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sleuth.code.language import Container, Import, Language

_WHOLE_PATH = re.compile(r"import (?:static )?([\w.]+)\.(\w+);$")


def read_imports(text: str) -> Iterator[Import]:
    """Read `import a.b.C`, of Kotlin also with `as`, and `using A = B.C` of C#."""
    whole_match = _WHOLE_PATH.match(text)
    if whole_match is not None:
        module, name = whole_match.groups()
        yield Import(module, name, name)
        return
    body = re.sub(r"^\s*(?:global\s+)?(?:import|using)\s+(?:static\s+)?|;\s*$", "", text).strip()
    alias_match = re.match(r"(\w+)\s*=\s*([\w.]+)$", body)
    path, _, renamed = (alias_match[2], "", alias_match[1]) if alias_match else body.partition(" as ")
    module, _, name = path.strip().rpartition(".")
    yield Import(module, name, renamed.strip() or name)


def is_public(_name: str, head: bytes, outer: Container | None) -> bool:
    """Return whether other modules may use a definition."""
    return b"public" in head or (outer is not None and outer.kind == "interface")


LANGUAGE = Language(
    "java",
    package="tree_sitter_java",
    queries=Path(__file__).parent,
    imports=read_imports,
    is_public=is_public,
    traits=("bare members", "shared package", "closed", "calls apart", "types apart", "named constructors"),
    files="sleuth.plugins.languages.java.files:imported_files",
    rules="sleuth.plugins.languages.overloads:Overloading",
)
