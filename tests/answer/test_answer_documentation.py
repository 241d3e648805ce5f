"""The examples of guides about answers, models and vector stores print what they show."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import sleuth.llm
import sleuth.vector_store
from sleuth.testing.ollama import FAULTS, OllamaServer

DOCS = Path(__file__).parents[2] / "docs" / "how-to"


def reply(prompt: str) -> str:
    """Return what the model of the guides answers."""
    if "bucket refilled" in prompt:
        return "Every second [1]."
    if prompt.startswith("Summarize"):
        return "- Buckets limit requests"
    return "Rating: 9" if "Rate the relevance" in prompt else "A language."


@pytest.mark.parametrize(
    ("guide", "examples"), [("ask-with-a-model", 15), ("hosted-models", 12), ("vector-stores", 15)]
)
def test_their_examples_run(
    guide: str, examples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every example prints the output below it, with a local server as the model."""
    if guide == "vector-stores":
        pytest.importorskip("langchain_chroma", reason="needs the extra `chroma`")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SLEUTH_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    with OllamaServer(reply=reply) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        monkeypatch.chdir(tmp_path)
        result = doctest.testfile(str(DOCS / f"{guide}.md"), module_relative=False)
    assert result.attempted >= examples
    assert result.failed == 0


def test_they_name_everything() -> None:
    """Every public name of these packages occurs in its guide."""
    models, stores, moving = (
        (DOCS / f"{name}.md").read_text("utf8") for name in ("hosted-models", "vector-stores", "moving-in")
    )
    explained = {"OllamaStatus"}  # what ollama_status gives
    assert [n for n in sleuth.llm.__all__ if n not in models and n not in explained] == []
    assert [name for name in sleuth.vector_store.__all__ if name not in stores + moving] == []
    assert "busy" in FAULTS
