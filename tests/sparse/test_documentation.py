"""The examples of the guide to sparse legs print what they show, with a tiny model under the name of a real one."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.neural import tiny

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "learned-sparse.md"


def test_the_guide_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example prints what the guide shows, in an empty folder."""
    monkeypatch.setenv("SLEUTH_MODELS", str(tmp_path / "models"))
    tiny.write_sparse_encoder(tmp_path / "models" / "Splade_PP_en_v1")
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(GUIDE), module_relative=False).failed == 0
