"""The examples of guides about documents, files, legs and searches print what they show."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.mark.parametrize(
    "guide",
    ["update-and-delete.md", "read-files.md", "add-a-leg.md", "search-documents.md", "sort-and-boost.md"],
)
def test_the_guides_are_true(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example prints what the guide shows, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(DOCS / guide), module_relative=False).failed == 0
