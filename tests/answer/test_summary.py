"""Summaries of texts of any length, with and without a model."""

from collections.abc import Sequence

import pytest

from sleuth.answer import summarize_docs
from sleuth.answer.summary import SUMMARY_NOTE, cite_summary, extract_summary
from sleuth.errors import ArgumentError
from sleuth.llm import LLMGenerator
from sleuth.testing.ollama import OllamaServer
from sleuth.text.budget import approximate_tokens
from sleuth.types import Document


class First:
    """A generator that returns the first three words of each document."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def summarize_docs(self, docs: Sequence[Document]) -> str:
        self.sizes.append(sum(approximate_tokens(doc.page_content) for doc in docs))
        return "- " + " ".join(word for doc in docs for word in doc.page_content.split()[:3])


def test_short_texts_go_in_one_request() -> None:
    """A text within the budget is summarized in one request."""
    writer = First()
    assert summarize_docs([Document("a b c d"), Document("e f")], writer) == "- a b c e f"
    assert len(writer.sizes) == 1


def test_long_texts_go_in_parts() -> None:
    """A longer text is summarized in parts within the budget, and then the summaries are summarized."""
    writer = First()
    long = " ".join(f"Sentence number {i} says something new." for i in range(300))
    summary = summarize_docs([Document(long), Document(long)], writer, budget=200)
    assert len(writer.sizes) > 10
    assert max(writer.sizes) <= 200
    assert summary.startswith("- ")


def test_a_writer_that_does_not_shorten_ends() -> None:
    """Summarizing ends even if the model repeats its input."""

    class Parrot:
        def summarize_docs(self, docs: Sequence[Document]) -> str:
            return "\n\n".join(doc.page_content for doc in docs)

    docs = [Document("Some words here. " * 50) for _ in range(4)]
    assert "Some words here." in summarize_docs(docs, Parrot(), budget=100)


def test_extractive_summary() -> None:
    """Without a model, the most typical sentences are returned in document order, with a note that says so."""
    text = (
        "Buckets limit requests. The weather was nice. Requests beyond the limit wait for buckets. "
        "Somebody laughed. Buckets are refilled with tokens, and requests take tokens from buckets."
    )
    lines = summarize_docs([Document(text)]).split("\n")
    assert lines[0] == SUMMARY_NOTE
    assert len(extract_summary([text], sentences=2).split("\n")) == 3
    assert "- Somebody laughed." not in extract_summary([text], sentences=3).split("\n")


def test_nothing_to_summarise() -> None:
    """An empty text gives an empty summary without a request to the model."""
    assert summarize_docs([Document(" ")], First()) == ""
    assert extract_summary([]) == SUMMARY_NOTE
    with pytest.raises(ArgumentError, match="budget must be"):
        summarize_docs([], budget=0)


def test_a_summary_is_told_in_pieces() -> None:
    """The pieces of the last summary join to it, with a model that streams and without a model."""
    docs = [Document("Buckets hold tokens."), Document("Cats sleep.")]
    with OllamaServer(reply=lambda prompt: "- Buckets hold tokens") as server:
        pieces: list[str] = []
        writer = LLMGenerator("llama3.1", base_url=server.url)
        summary = summarize_docs(docs, writer, on_text=pieces.append)
        assert "".join(pieces) == summary == "- Buckets hold tokens"
        assert len(pieces) > 1
        assert [payload["stream"] for payload in server.payloads("/api/generate")] == [True]
    pieces.clear()
    assert summarize_docs(docs, on_text=pieces.append) == "".join(pieces)


def test_lines_of_a_summary_cite_documents() -> None:
    """Each line cites the document that holds most of its words; support says how many."""
    docs = [Document("Buckets hold fifty tokens.", id="a"), Document("Cats sleep most of the day.", id="b")]
    summary = f"{SUMMARY_NOTE}\n- Cats sleep most of the day\n- Buckets hold fifty tokens\n- Elephants paint"
    citations = cite_summary(summary, docs)
    assert [(each.number, each.ids) for each in citations[:2]] == [(2, ("b",)), (1, ("a",))]
    assert [each.support for each in citations] == [1.0, 1.0, 0.0]
    assert cite_summary(summary, []) == []
