"""What docs/documents.md and docs/search.md show is what happens."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("guide", ["documents.md", "search.md"])
def test_the_guides_are_true(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example, run in an empty folder, prints what the guide says."""
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(DOCS / guide), module_relative=False).failed == 0
