"""Answers questions from documents, summarises them and rates answers with a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sleuth.llm.ollama import DEFAULT_URL, Ollama
from sleuth.protocols import Generator
from sleuth.remote import async_pieces, async_twin
from sleuth.types import Document


def answer_prompt(question: str, context_docs: Sequence[Document]) -> str:
    """Return the prompt of an answer: each document with its metadata, then the question."""
    context = "\n\n".join(f"Source: {doc.metadata}\nContent: {doc.page_content}" for doc in context_docs)
    return f"Use the following context to answer the question:\n\n{context}\n\nQuestion: {question}\nAnswer:"


def summary_prompt(docs: Sequence[Document]) -> str:
    """Return the prompt of a summary: the texts of the documents."""
    context = "\n\n".join(doc.page_content for doc in docs)
    return f"Summarize the following text in concise bullet points:\n\n{context}\n\nSummary:"


def relevance_prompt(question: str, answer: str) -> str:
    """Return the prompt of a rating, 1 to 10 with a reason."""
    return (
        f"Question: {question}\nAnswer: {answer}\n\n"
        "Rate the relevance of the answer to the question on a scale of 1 to 10.\n"
        "Provide a brief explanation for your rating."
    )


class LLMGenerator:
    """Answers from documents, summarises them and judges answers, with any generator.

    Args:
        model: a model that Ollama runs.
        llm: any other generator; `model`, `base_url` and `timeout` are then ignored.
        base_url: where Ollama runs.
        timeout: seconds of silence after which a call fails.
    """

    def __init__(
        self,
        model: str = "llama3.1",
        *,
        llm: Generator | None = None,
        base_url: str = DEFAULT_URL,
        timeout: float = 300.0,
    ) -> None:
        self.llm: Generator = Ollama(model, base_url, timeout=timeout) if llm is None else llm

    def generate_answer(self, question: str, context_docs: Sequence[Document]) -> str:
        """Ask the model to answer a question from the documents.

        Raises:
            GenerationError: the model did not answer.
        """
        return self.llm.complete(answer_prompt(question, context_docs))

    agenerate_answer = async_twin(generate_answer)

    def stream_answer(self, question: str, context_docs: Sequence[Document]) -> Iterator[str]:
        """Yield the answer of `generate_answer` in pieces.

        Raises:
            GenerationError: the model did not answer or broke off; raised after the pieces that arrived.
        """
        return self.llm.stream(answer_prompt(question, context_docs))

    astream_answer = async_pieces(stream_answer)

    def summarize_docs(self, docs: Sequence[Document]) -> str:
        """Ask the model to summarise the documents in bullet points.

        Raises:
            GenerationError: the model did not answer.
        """
        return self.llm.complete(summary_prompt(docs))

    def stream_summary(self, docs: Sequence[Document]) -> Iterator[str]:
        """Yield the summary of `summarize_docs` in pieces.

        Raises:
            GenerationError: the model did not answer or broke off; raised after the pieces that arrived.
        """
        return self.llm.stream(summary_prompt(docs))

    astream_summary = async_pieces(stream_summary)
    asummarize_docs = async_twin(summarize_docs)

    def evaluate_relevance(self, question: str, answer: str) -> str:
        """Ask the model to rate an answer, 1 to 10 with a reason, in its own words.

        Raises:
            GenerationError: the model did not answer.
        """
        return self.llm.complete(relevance_prompt(question, answer))

    def stream_relevance(self, question: str, answer: str) -> Iterator[str]:
        """Yield the rating of `evaluate_relevance` in pieces.

        Raises:
            GenerationError: the model did not answer or broke off; raised after the pieces that arrived.
        """
        return self.llm.stream(relevance_prompt(question, answer))

    astream_relevance = async_pieces(stream_relevance)

    aevaluate_relevance = async_twin(evaluate_relevance)
