"""The examples of docs/how-to/choose-a-model.md print what they show, with tiny models under the names of real ones."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from sleuth.neural import KNOWN
from tests.neural import tiny

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "choose-a-model.md"


def test_the_guide_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example prints what the guide shows, in an empty folder."""
    monkeypatch.setenv("SLEUTH_MODELS", str(tmp_path / "models"))
    length = {"max_seq_length": 256}
    tiny.write_encoder(tmp_path / "models" / "all-MiniLM-L6-v2", sentence_bert_config=length)
    tiny.write_cross_encoder(tmp_path / "models" / "ms-marco-MiniLM-L6-v2")
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(GUIDE), module_relative=False).failed == 0


def test_the_guide_lists_all_known_models() -> None:
    """The table of the guide has each model that can be pulled by name."""
    text = GUIDE.read_text("utf8")
    assert [name for name in KNOWN if f"`{name}`" not in text] == []
