"""Dockerfiles: its grammar, queries and imports."""

from __future__ import annotations

from pathlib import Path

from sleuth.code.language import Language

LANGUAGE = Language(
    "docker",
    kinds=("dockerfile",),
    package="tree_sitter_containerfile",
    extra="code",
    comment="#",
    queries=Path(__file__).parent,
)
