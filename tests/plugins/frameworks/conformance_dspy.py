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
    """A program of DSPy reads the passages in its prompt."""
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


def test_an_agent_of_dspy_calls_the_retriever(engine: Engine) -> None:
    """ReAct calls it as a tool, and reads what is found."""
    rm = SleuthRM(engine, k=1)

    def search(question: str) -> list[str]:
        """Search the notes."""
        return [each.long_text for each in rm(question)]

    calls: list[dict[str, Any]] = [
        {"next_thought": "search", "next_tool_name": "search", "next_tool_args": {"question": "who logs in"}},
        {"next_thought": "enough", "next_tool_name": "finish", "next_tool_args": {}},
        {"reasoning": "as the note says", "answer": "a user"},
    ]
    with dspy.context(lm=dspy.utils.DummyLM(calls)):
        prediction = dspy.ReAct("question -> answer", tools=[search])(question="Who logs in?")
    assert (prediction.answer, prediction.trajectory["observation_0"]) == ("a user", [TEXTS["b"]])


def test_a_program_is_measured_and_compiled(engine: Engine) -> None:
    """The retriever stands in `dspy.context`, where `Retrieve` finds it; a compiled program keeps its passages."""

    class Answer(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.retrieve, self.respond = dspy.Retrieve(k=1), dspy.Predict("context, question -> answer")

        def forward(self, question: str) -> Any:
            return self.respond(context=self.retrieve(question).passages, question=question)

    def is_right(example: Any, prediction: Any, trace: Any = None) -> bool:
        return bool(example.answer == prediction.answer)

    examples = [dspy.Example(question="who logs in", answer="a user").with_inputs("question")]
    model = dspy.utils.DummyLM([{"answer": "a user"}] * 4)
    with dspy.context(lm=model, rm=SleuthRM(engine)):
        measure = dspy.Evaluate(devset=examples, metric=is_right, num_threads=1, display_progress=False)
        assert measure(Answer()).score == 100
        compiled = dspy.BootstrapFewShot(metric=is_right).compile(Answer(), trainset=examples)
    (demonstration,) = compiled.respond.demos
    assert demonstration.context == [TEXTS["b"]]
