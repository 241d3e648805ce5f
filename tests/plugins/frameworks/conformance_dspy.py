"""A retriever of DSPy, with a scripted model: `make conformance`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pytest

from sleuth import Document, Engine
from sleuth.plugins.frameworks.dspy import SleuthRM
from tests.documents import guide_line, meaning

TEXTS = {"a": "A bucket is refilled every second.", "b": "A user logs in.", "c": "A bucket holds tokens."}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An index of three documents."""
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add(Document(text, {"letter": id}, id=id) for id, text in TEXTS.items())
        yield engine


def test_passages_are_those_of_the_source(engine: Engine) -> None:
    """Text, id, score and order are those of the engine; k and options of a call replace those of the object."""
    rm = SleuthRM(engine, k=2)
    expected = [(item.text, item.id, item.score) for item in engine.retrieve("refilled bucket", 2)]
    passages = rm("refilled bucket")
    assert [(each.long_text, each.id, each.score) for each in passages] == expected != []
    assert [each.id for each in asyncio.run(rm.acall("refilled bucket"))] == [each.id for each in passages]
    assert [each.metadata["letter"] for each in rm("bucket", 1, filter={"letter": "c"})] == ["c"]


def test_embeddings_of_dspy_find_the_same(engine: Engine) -> None:
    """Passages are those of DSPy's own retriever over the same vectors; a wrong argument is named."""

    def embed(texts: list[str]) -> Any:
        return np.array([*map(meaning, texts)], np.float32)

    corpus = [*TEXTS.values()]
    search = dspy.retrievers.Embeddings(embedder=embed, corpus=corpus, k=2, normalize=True)
    rm = SleuthRM(engine, 2, legs=["dense"])
    for question in ("who can log in", "what fills a bucket"):
        assert guide_line("DSPy", rm=rm, question=question) == search(question).passages
    with pytest.raises(TypeError, match="no argument 'top_k'; did you mean 'k'"):
        SleuthRM(engine, top_k=2)("bucket")


def test_a_program_gets_the_passages(engine: Engine) -> None:
    """A program of DSPy reads the passages in its prompt, and may call the retriever as a tool."""
    rm = SleuthRM(engine, k=1)

    class Answer(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.respond = dspy.Predict("context, question -> answer")

        def forward(self, question: str) -> Any:
            return self.respond(context=[each.long_text for each in rm(question)], question=question)

    model = dspy.utils.DummyLM([{"answer": "every second"}])
    with dspy.context(lm=model):
        assert Answer()(question="when is a bucket refilled").answer == "every second"
    assert TEXTS["a"] in str(model.history[-1]["messages"])
