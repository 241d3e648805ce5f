"""Scala: its grammar, queries and imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sleuth.code.language import Import, Language
from sleuth.plugins.languages.kotlin.language import is_public


def read_imports(text: str) -> Iterator[Import]:
    """Read `import a.b.C`, `import a.b._` and `import a.b.{C, D => E}`."""
    body = re.sub(r"^\s*import\s+", "", " ".join(text.split()))
    match = re.match(r"([\w.]+)\.\{(.*)\}", body)
    if match:
        for part in match[2].split(","):
            name, _, alias = part.replace(" as ", "=>").partition("=>")
            if name.strip():
                yield Import(match[1], name.strip(), alias.strip() or name.strip())
        return
    module, _, name = body.rpartition(".")
    yield Import(module, "*" if name in ("_", "*") else name, name)


LANGUAGE = Language(
    "scala",
    package="tree_sitter_scala",
    extra="code",
    queries=Path(__file__).parent,
    imports=read_imports,
    is_public=is_public,
    family="java",
    traits=("bare members", "shared package", "types apart", "capitals"),
    files="sleuth.plugins.languages.java.files:imported_files",
)
