"""Answers are written with and without a model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sleuth import Engine
from sleuth.answer import LLMSynthesizer, budget_of
from sleuth.answer.extractive import DISAGREEMENT, INTRODUCTIONS, NEAREST, ExtractiveSynthesizer
from sleuth.answer.prompt import REFUSAL
from sleuth.answer.synthesis import trim_pieces
from sleuth.errors import ArgumentError
from sleuth.llm import Ollama, OpenAIGenerator, open_generator
from sleuth.results import Grade
from sleuth.testing.ollama import OllamaServer
from sleuth.text.analyzers import get_analyzer
from sleuth.types import RetrievedItem
from tests.answer.conftest import Scripted, item

ITEMS = [
    item(
        "limits.md#0",
        "The bucket is refilled every second. Refusals are logged.",
        3.0,
        source="limits.md",
        title="Limits",
    ),
    item("keys.md#0", "Keys are rotated every month.[4] A bucket belongs to a key.", 2.0, source="keys.md"),
    item("other", "Nothing about it.", 1.0),
]


def test_model_answers_and_cites() -> None:
    """The answer of the model is returned unchanged, and its citations refer to items."""
    generator = Scripted(" The bucket is refilled every second [1], and belongs to a key [2].\n")
    result = LLMSynthesizer(generator).synthesize("How often is it refilled?", ITEMS)
    assert result.response == "The bucket is refilled every second [1], and belongs to a key [2]."
    assert result.used_source_ids == ["limits.md#0", "keys.md#0"]
    assert result.extra["synthesizer"] == "llm"
    assert result.grade is Grade.LIKELY
    assert [source["number"] for source in result.extra["sources"]] == [1, 2, 3]
    assert result.extra["sources"][0] == {
        "number": 1,
        "ids": ["limits.md#0"],
        "source": "limits.md",
        "title": "Limits",
        "heading": "",
    }
    assert generator.prompts[0].count("begins ===") == 3


def test_unknown_citations_are_reported() -> None:
    """A citation of a missing passage is reported and is not a used source."""
    result = LLMSynthesizer(Scripted("It is free [7].")).synthesize("q", ITEMS)
    assert result.used_source_ids == []
    assert result.extra["unknown_citations"] == [7]


def test_refusal_is_reported() -> None:
    """If the model says that the passages do not answer the question, the result says so."""
    result = LLMSynthesizer(Scripted(REFUSAL)).synthesize("q", ITEMS)
    assert result.grade is Grade.NOTHING_CLOSE
    assert result.extra["unsupported"] == []
    assert result.used_source_ids == []


def test_no_passages_no_question_to_the_model() -> None:
    """Without passages there is no request to the model."""
    generator = Scripted()
    texts: list[str] = []
    result = LLMSynthesizer(generator).synthesize("q", [], on_text=texts.append)
    assert (result.response, texts, generator.prompts) == (REFUSAL, [REFUSAL], [])


def test_contradictions_are_given_to_the_model() -> None:
    """The prompt names title and date of each passage, and lists sentences that give different values."""
    items = [
        item("old", "The upload limit is 10 MB.", 2.0, title="Uploads", modified="2024-05-01T00:00:00Z"),
        item("new", "The upload limit is 50 MB.", 1.5, modified=1_800_000_000),
    ]
    generator = Scripted("The limit is 50 MB [2].")
    LLMSynthesizer(generator).synthesize("What is the upload limit?", items)
    (prompt,) = generator.prompts
    assert "Source: old\nTitle: Uploads\nDate: 2024-05-01\nThe upload limit is 10 MB." in prompt
    assert "Date: 2027-01-15" in prompt
    assert 'passage 1: "The upload limit is 10 MB." / passage 2: "The upload limit is 50 MB."' in prompt
    agreeing = Scripted("Ten [1].")
    LLMSynthesizer(agreeing).synthesize("What is the upload limit?", items[:1])
    assert "contradict" not in agreeing.prompts[0]


def test_unsupported_sentences_are_marked() -> None:
    """Sentences that cite nothing, or a passage that does not say so, are listed, and lower the grade."""
    answer = "The bucket is refilled every second [1]. Elephants paint pictures [1]. Nobody knows."
    result = LLMSynthesizer(Scripted(answer)).synthesize("q", ITEMS)
    assert result.extra["unsupported"] == ["Elephants paint pictures.", "Nobody knows."]
    assert result.grade is Grade.MAY_HELP


def test_the_budget_is_that_of_the_model() -> None:
    """A model gets as many tokens of passages as it reads, without those of the rules; one that does not say, 3,000."""
    with OllamaServer(context=2048) as server:
        model = Ollama("llama3.1", server.url)
        assert budget_of(model) == 2048 - 1300
        assert server.payloads("/api/show") == [{"model": "llama3.1"}]
    with OllamaServer() as server:
        assert budget_of(Ollama("llama3.1", server.url, options={"num_ctx": 8192})) == 8192 - 1300
    assert budget_of(OpenAIGenerator("m", "http://127.0.0.1:9/v1", context=32_768)) == 32_768 - 1300
    assert budget_of(OpenAIGenerator("m", "http://127.0.0.1:9/v1")) == budget_of(Scripted()) == 3000
    assert budget_of(None) == 3000


def test_the_budget_is_what_ollama_runs_a_model_with() -> None:
    """A model that can read more is cut silently at `num_ctx`: of the options, else of its parameters, else 4,096."""
    with OllamaServer(context=131_072) as server:
        assert budget_of(Ollama("llama3.1", server.url)) == 4096 - 1300
        assert budget_of(Ollama("llama3.1", server.url, options={"num_ctx": 3000})) == 3000 - 1300
    with OllamaServer(context=131_072, num_ctx=2500) as server:
        assert budget_of(Ollama("llama3.1", server.url)) == 2500 - 1300
        assert budget_of(open_generator("llama3.1", base_url=server.url, context=8192)) == 8192 - 1300


def test_streaming() -> None:
    """The streamed pieces join to the response, without surrounding white space."""
    texts: list[str] = []
    result = LLMSynthesizer(Scripted("\n  One two [1].  \n")).synthesize("q", ITEMS, on_text=texts.append)
    assert "".join(texts) == result.response == "One two [1]."
    assert list(trim_pieces(["  ", " a", "  ", "", "b ", " "])) == ["a", "  b"]


def test_extractive_answer() -> None:
    """Without a model, the best sentences are quoted with citations, and the answer says so."""
    texts: list[str] = []
    result = ExtractiveSynthesizer().synthesize("What belongs to the bucket?", ITEMS, on_text=texts.append)
    assert result.response == "\n".join(
        [
            INTRODUCTIONS[Grade.MAY_HELP],
            "- The bucket is refilled every second. Refusals are logged. [1]",
            "- A bucket belongs to a key. [2]",
        ]
    )
    assert "".join(texts) == result.response
    assert result.used_source_ids == ["limits.md#0", "keys.md#0"]
    assert result.extra["synthesizer"] == "extractive"
    assert [source["source"] for source in result.extra["sources"]] == ["limits.md", "keys.md"]
    assert all(citation["support"] == 1.0 for citation in result.extra["citations"])


def test_citations_of_the_source_are_not_ours() -> None:
    """Brackets in a quoted sentence stay and do not count as citations."""
    text = "The refill latency of bucket[2] lies in [10, 20] ms."
    item = RetrievedItem(id="z", text=text, score=1.0)
    result = ExtractiveSynthesizer(sentences=1).synthesize("refill latency", [item])
    assert result.response.endswith(f"- {text} [1]")
    assert [(c["number"], c["ids"], c["statement"]) for c in result.extra["citations"]] == [(1, ["z"], text)]
    assert result.extra["unknown_citations"] == []


def test_extractive_refusal() -> None:
    """If no sentence shares a word with the question, the answer says so and offers the nearest titles."""
    result = ExtractiveSynthesizer().synthesize("zebra", ITEMS)
    assert result.response.splitlines() == [
        INTRODUCTIONS[Grade.NOTHING_CLOSE],
        NEAREST,
        "- Limits (limits.md)",
        "- keys.md",
        "- other",
    ]
    assert (result.grade, result.used_source_ids) == (Grade.NOTHING_CLOSE, [])


def test_parts_about_other_names_are_not_quoted() -> None:
    """A passage without the names of the question that the best passage has is about something else."""
    best = item("a", "France has a capital. It is Paris.", 2.0)
    other = item("b", "A capital letter costs more.", 1.9)
    result = ExtractiveSynthesizer().synthesize("What is the capital of France?", [best, other])
    assert result.used_source_ids == ["a"]
    question_item = item("a", "Ask it anything:\n\n```\nask('the capital of France')\n```\n", 2.0)
    result = ExtractiveSynthesizer().synthesize("What is the capital of France?", [question_item, other])
    assert result.grade is Grade.NOTHING_CLOSE
    assert result.extra["unsupported"] == []


def test_arguments() -> None:
    """Invalid settings raise an error when the synthesizer is created."""
    with pytest.raises(ArgumentError, match="sentences must be an int of 1 or more, got 0"):
        ExtractiveSynthesizer(sentences=0)
    with pytest.raises(ArgumentError, match="budget must be an int of 1 or more, got -5"):
        LLMSynthesizer(Scripted(), budget=-5)


@pytest.mark.parametrize("k", [1, 5, 10, 15])
def test_sentences_are_embedded_once(k: int) -> None:
    """For any number of passages the first ten are read once: their grade is one, and quotes are of those shown."""
    pages = [item(f"p{n}", f"Bucket {n} is refilled every {n + 1} seconds.", 20.0 - n) for n in range(15)]
    embedder = Counting()
    writer = ExtractiveSynthesizer(embedder=embedder).grading(pages[k:])
    result = writer.synthesize("How often is a bucket refilled?", pages[:k])
    assert result.grade is ExtractiveSynthesizer().assess("How often is a bucket refilled?", pages).grade
    sentences = [text for text in embedder.texts if text.startswith("Bucket")]
    assert sentences == [each.text for each in pages[:10]]
    assert set(result.used_source_ids) <= {each.id for each in pages[: min(k, 10)]}


class Counting:
    """An embedder of one direction, with the sentences that it was given."""

    fingerprint = "counting"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [[0.0, 1.0] for _ in texts]


def test_sources_that_disagree() -> None:
    """Statements that differ in a number are quoted together, newest first, and the result says so."""
    items = [
        item("old", "The upload limit is 10 MB per file.", 2.0, modified=100.0),
        item("new", "The upload limit is 50 MB per file.", 1.5, modified=200.0),
        item("same", "The upload limit is 10 MB for each file.", 1.0, modified=50.0),
    ]
    result = ExtractiveSynthesizer().synthesize("What is the upload limit?", items)
    assert result.response.splitlines()[1:4] == [
        f"- {DISAGREEMENT}",
        "  - The upload limit is 50 MB per file. [1]",
        "  - The upload limit is 10 MB per file. [2][3]",
    ]
    assert result.extra["disagreement"] is True


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("How large may an upload be?", "Uploads may be at most 10 MB large.", "The upload limit is 50 MB."),
        (
            "What is the upload limit?",
            "| limit | value |\n|---|---|\n| upload | 10 MB |",
            "The upload limit is 50 MB.",
        ),
        ("Which port does it listen on?", "It listens on port 80.", "It does not listen on port 80."),
        ("Who leads the project?", "Ann Lee leads the project.", "Bo Kim leads the project."),
    ],
)
def test_files_that_disagree(tmp_path: Path, question: str, old: str, new: str) -> None:
    """Files that differ in a measure, a negation or a name are quoted as such in any words, the newer one first."""
    for name, text, seconds in (("b.md", old, 1e9), ("a.md", new, 1.5e9)):
        (tmp_path / name).write_text(text + "\n\nThe rest of this page is about cats.\n")
        os.utime(tmp_path / name, (seconds, seconds))
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.index([tmp_path / "a.md", tmp_path / "b.md"])
        result = engine.search(question)
    assert result.extra["disagreement"] is True
    assert result.response.splitlines()[1:3] == [f"- {DISAGREEMENT}", f"  - {new} [1]"]
    assert [Path(source["source"]).name.partition(":")[0] for source in result.extra["sources"]] == [
        "a.md",
        "b.md",
    ]


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (
            "When was oxygen named?",
            "Oxygen was named in 1777 by Lavoisier.",
            "Oxygen was sold in 1895 by Linde.",
        ),
        (
            "What does raise do?",
            "An unbound name raises an error.",
            "A name that is not found at all is an error too.",
        ),
    ],
)
def test_what_is_no_disagreement(question: str, one: str, other: str) -> None:
    """Years, and sentences about something else, do not contradict each other."""
    items = [item("a", one, 2.0), item("b", other, 1.9)]
    result = ExtractiveSynthesizer(analyze=get_analyzer("english").words_of_each).synthesize(question, items)
    assert result.extra["disagreement"] is False


def test_code_stays_code() -> None:
    """Code after a colon is quoted below the sentence, on its own lines."""
    passage = item("a", "To install it, run:\n\n```console\n$ pip install sleuth\n```\n", 1.0)
    result = ExtractiveSynthesizer().synthesize("how do I install it", [passage])
    assert result.response.splitlines()[1:] == [
        "- To install it, run: [1]",
        "  ```console",
        "  $ pip install sleuth",
        "  ```",
    ]
