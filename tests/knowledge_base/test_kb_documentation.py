"""The examples of docs/how-to/knowledge-bases.md are true."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import sleuth.knowledge_base

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "knowledge-bases.md"


def test_its_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of the guide prints the output below it, on the local index."""
    monkeypatch.chdir(tmp_path)
    letters = tmp_path / "letters"
    letters.mkdir()
    (letters / "judy.txt").write_text("Pictures of Judy at the lake")
    (letters / "judy.txt.metadata.json").write_text('{"metadataAttributes": {"topic": "genealogy"}}')
    (letters / "lake.txt").write_text("Pictures of a lake and of boats")
    result = doctest.testfile(str(GUIDE), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0


def test_it_names_everything() -> None:
    """The guide names every public name, and async twins by their rule."""
    text = GUIDE.read_text("utf8")
    twins = {name for name in sleuth.knowledge_base.__all__ if name[1:] in sleuth.knowledge_base.__all__}
    explained = {"check_document_status", "deduplicate_results"}
    assert [
        name for name in sleuth.knowledge_base.__all__ if name not in text and name not in twins | explained
    ] == []
