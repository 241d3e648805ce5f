"""The guide to knowledge bases names what the package exports."""

from __future__ import annotations

from pathlib import Path

import sleuth.knowledge_base

GUIDES = Path(__file__).parents[2] / "docs" / "how-to"


def test_it_names_everything() -> None:
    """The guides name every public name, and async twins by their rule."""
    text = "".join(
        (GUIDES / f"{name}.md").read_text("utf8") for name in ("knowledge-bases", "fill-knowledge-bases")
    )
    twins = {name for name in sleuth.knowledge_base.__all__ if name[1:] in sleuth.knowledge_base.__all__}
    explained = {"check_document_status", "deduplicate_results"}
    assert [
        name for name in sleuth.knowledge_base.__all__ if name not in text and name not in twins | explained
    ] == []
