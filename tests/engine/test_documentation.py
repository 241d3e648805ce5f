"""The examples of docs/documents.md, docs/formats.md, docs/legs.md and docs/search.md print what they show."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("guide", ["documents.md", "formats.md", "legs.md", "search.md"])
def test_the_guides_are_true(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example prints what the guide shows, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(DOCS / guide), module_relative=False).failed == 0
