"""The guide to knowledge bases names what the package exports."""

from __future__ import annotations

from pathlib import Path

import sleuth.knowledge_base

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "knowledge-bases.md"


def test_it_names_everything() -> None:
    """The guide names every public name, and async twins by their rule."""
    text = GUIDE.read_text("utf8")
    twins = {name for name in sleuth.knowledge_base.__all__ if name[1:] in sleuth.knowledge_base.__all__}
    explained = {"check_document_status", "deduplicate_results"}
    assert [
        name for name in sleuth.knowledge_base.__all__ if name not in text and name not in twins | explained
    ] == []
