"""GraphQL: its grammar, queries and imports."""

from __future__ import annotations

from pathlib import Path

from sleuth.code.language import Language

LANGUAGE = Language(
    "graphql",
    package="tree_sitter_graphql",
    extra="code",
    comment="#",
    queries=Path(__file__).parent,
)
