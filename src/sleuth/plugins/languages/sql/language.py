"""SQL: its grammar, queries and imports."""

from __future__ import annotations

from pathlib import Path

from sleuth.code.language import Language

LANGUAGE = Language(
    "sql",
    package="tree_sitter_sql",
    extra="code",
    comment="--",
    queries=Path(__file__).parent,
)
