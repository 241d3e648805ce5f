"""Answers are written with and without a model."""

import pytest

from sleuth.answer import LLMSynthesizer, budget_of
from sleuth.answer.extractive import INTRODUCTIONS, NEAREST, ExtractiveSynthesizer
from sleuth.answer.synthesis import REFUSAL, trim_pieces
from sleuth.errors import ArgumentError
from sleuth.llm import Ollama, OpenAIGenerator, open_generator
from sleuth.results import Grade
from sleuth.testing.ollama import OllamaServer
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


@pytest.mark.parametrize(("answer", "grade", "unknown", "unsupported"), [
    ("It is free [7].", Grade.MAY_HELP, [7], ["It is free."]), (REFUSAL, Grade.NOTHING_CLOSE, [], []),
])  # fmt: skip
def test_what_cites_no_passage(answer: str, grade: Grade, unknown: list[int], unsupported: list[str]) -> None:
    """A citation of a missing passage is reported and is not a used source; a refusal has nothing to cite."""
    result = LLMSynthesizer(Scripted(answer)).synthesize("q", ITEMS)
    assert (result.grade, result.used_source_ids) == (grade, [])
    assert (result.extra["unknown_citations"], result.extra["unsupported"]) == (unknown, unsupported)


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
    # Ollama cuts silently at `num_ctx`: of the options, else of the model's parameters, else 4,096.
    with OllamaServer(context=131_072) as server:
        assert budget_of(Ollama("llama3.1", server.url)) == 4096 - 1300
        assert budget_of(Ollama("llama3.1", server.url, options={"num_ctx": 3000})) == 3000 - 1300
    with OllamaServer(context=131_072, num_ctx=2500) as server:
        assert budget_of(Ollama("llama3.1", server.url)) == 2500 - 1300
        assert budget_of(open_generator("llama3.1", base_url=server.url, context=8192)) == 8192 - 1300
    with pytest.raises(ArgumentError, match="budget must be an int of 1 or more, got -5"):
        LLMSynthesizer(Scripted(), budget=-5)


def test_streaming() -> None:
    """The streamed pieces join to the response, without surrounding white space."""
    texts: list[str] = []
    result = LLMSynthesizer(Scripted("\n  One two [1].  \n")).synthesize("q", ITEMS, on_text=texts.append)
    assert "".join(texts) == result.response == "One two [1]."
    assert list(trim_pieces(["  ", " a", "  ", "", "b ", " "])) == ["a", "  b"]


def test_citations_of_the_source_are_not_ours() -> None:
    """Brackets in a quoted sentence stay and do not count as citations."""
    text = "The refill latency of bucket[2] lies in [10, 20] ms."
    result = ExtractiveSynthesizer().synthesize("What is the refill latency?", [item("z", text, 1.0)])
    assert result.response.endswith(f"z [1]\n> **{text}**")
    assert [(c["number"], c["ids"], c["statement"]) for c in result.extra["citations"]] == [(1, ["z"], text)]
    assert result.extra["unknown_citations"] == []


def test_extractive_refusal() -> None:
    """If no passage shares a word with the question, the answer says so and offers the nearest titles."""
    result = ExtractiveSynthesizer().synthesize("zebra", ITEMS)
    assert result.response.splitlines() == [
        INTRODUCTIONS[Grade.NOTHING_CLOSE], NEAREST, "- Limits (limits.md)", "- keys.md", "- other",
    ]  # fmt: skip
    assert (result.grade, result.used_source_ids) == (Grade.NOTHING_CLOSE, [])
