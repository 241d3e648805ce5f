"""The benchmark of answers by a model, over a local server."""

from pathlib import Path

import pytest

from benchmarks.answers import Question, by_model
from sleuth import Document, Engine
from sleuth.testing.ollama import OllamaServer


def reply(prompt: str) -> str:
    """Return a right answer with a wrong sentence, an answer from a passage that does not say so, or a refusal."""
    if "bucket" in prompt.rpartition("Question:")[2]:
        return "The bucket is refilled every second [1]. Elephants paint colourful pictures [1]."
    if "cats" in prompt.rpartition("Question:")[2]:
        return "They sleep."
    return "The passages do not answer this question."


def test_a_model_is_measured_without_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold answers, citation precision, supported sentences and refusals are counted from the answers alone."""
    questions = [
        Question("How often is the bucket refilled?", ("every second",)),
        Question("What do cats do?", ("most of the day",)),
        Question("Who paints the bridge?", ()),
    ]
    with OllamaServer(reply=reply) as server, Engine.open(tmp_path / "i", create=True) as engine:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        engine.add(
            [
                Document("The bucket is refilled every second.", {"source": "limits.md"}),
                Document(
                    "Cats sleep most of the day, below the bridge that Ann paints.", {"source": "cats.md"}
                ),
            ]
        )
        row = by_model("guides", engine, questions, "llama3.1", 3)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["guides", "2 + 1", "0.50", "0.50", "0.33", "0.00", "1.00"]
