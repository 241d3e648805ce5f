"""Kotlin: its grammar, queries and imports."""

from __future__ import annotations

from pathlib import Path

from sleuth.code.language import Container, Language
from sleuth.plugins.languages.java.language import read_imports


def is_public(_name: str, head: bytes, _outer: Container | None) -> bool:
    """Return whether other modules may use a definition."""
    return b"private" not in head and b"internal" not in head


LANGUAGE = Language(
    "kotlin",
    package="tree_sitter_kotlin",
    extra="code",
    queries=Path(__file__).parent,
    imports=read_imports,
    is_public=is_public,
    family="java",
    traits=("bare members", "shared package", "types apart", "capitals"),
    passing=frozenset({"apply", "also", "takeIf", "takeUnless"}),
    own_object=frozenset({"apply"}),
    files="sleuth.plugins.languages.java.files:imported_files",
    rules="sleuth.plugins.languages.kotlin.rules:KotlinRules",
)
