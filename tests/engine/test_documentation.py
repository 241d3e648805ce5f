"""What docs/documents.md shows is what happens."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "documents.md"


def test_the_guide_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example, run in an empty folder, prints what the guide says."""
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(GUIDE), module_relative=False).failed == 0
