"""Answers questions from documents, summarises them and rates answers with a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from sleuth.arguments import check_kind, check_method
from sleuth.llm.ollama import DEFAULT_URL, Ollama
from sleuth.logs import logger_of
from sleuth.protocols import Generator
from sleuth.remote import async_twin
from sleuth.remote.twins import async_pieces
from sleuth.text.budget import approximate_tokens, longest_prefix, pack
from sleuth.types import Document

logger = logger_of("llm")

ANSWER: Final = 1000
"""Tokens of a model's window that its answer may take, half the window at most."""

SHORT: Final = 1024
"""Tokens of a prompt that every window holds, so that no model is asked what it reads: half of 2,048, the least."""


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

    Documents that the model's window does not hold are left out, as a warning in the log says by their sources.

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
        timeout: float = 300.0,  # a local model may load before its first word
    ) -> None:
        self.llm: Generator = Ollama(model, base_url, timeout=timeout) if llm is None else llm
        check_method(self.llm, "complete", "llm", "an Ollama")

    def _prompt(self, write: Callable[[Sequence[Document]], str], documents: Iterable[Document]) -> str:
        """Return the prompt of the documents that fit whole into the model's window, best first; log the others.

        Where none fits, it has the beginning of the first. All are in it where the model does not say what it reads.
        """
        docs = list(check_kind(documents, Iterable, "documents", "a list of Document"))
        for doc in docs:
            check_kind(getattr(doc, "page_content", None), str, f"page_content of {doc!r}", "a string")
        prompt = write(docs)
        size = approximate_tokens(prompt)
        window = getattr(self.llm, "context_length", None) if docs and size > SHORT else None
        budget = window - min(ANSWER, window // 2) if isinstance(window, int) else size
        if size <= budget:
            return prompt
        frame = approximate_tokens(write([]))
        # Two line breaks between documents.
        costs = [approximate_tokens(write([doc])) - frame + 2 for doc in docs]
        places = pack(costs, budget - frame)
        names = [str(doc.metadata.get("source") or doc.id or f"number {n}") for n, doc in enumerate(docs, 1)]
        omitted = [name for place, name in enumerate(names) if place not in places]
        prompt_docs = [docs[place] for place in places]
        if not places:
            text = docs[0].page_content
            beginning = longest_prefix(text, budget - frame - costs[0] + approximate_tokens(text))
            omitted[0] += f" after {len(beginning):,} characters"
            prompt_docs = [Document(beginning, docs[0].metadata, id=docs[0].id)]
        logger.warning("left out, since the model reads %d tokens: %s", window, ", ".join(omitted))
        return write(prompt_docs)

    def generate_answer(self, question: str, context_docs: Sequence[Document]) -> str:
        """Ask the model to answer a question from the documents.

        Raises:
            GenerationError: the model did not answer.
        """
        return self.llm.complete(self._prompt(partial(answer_prompt, question), context_docs))

    agenerate_answer = async_twin(generate_answer)

    def stream_answer(self, question: str, context_docs: Sequence[Document]) -> Iterator[str]:
        """Yield the answer of `generate_answer` in pieces.

        Raises:
            GenerationError: the model did not answer or broke off; raised after the pieces that arrived.
        """
        return self.llm.stream(self._prompt(partial(answer_prompt, question), context_docs))

    astream_answer = async_pieces(stream_answer)

    def summarize_docs(self, docs: Sequence[Document]) -> str:
        """Ask the model to summarise the documents in bullet points.

        Raises:
            GenerationError: the model did not answer.
        """
        return self.llm.complete(self._prompt(summary_prompt, docs))

    def stream_summary(self, docs: Sequence[Document]) -> Iterator[str]:
        """Yield the summary of `summarize_docs` in pieces.

        Raises:
            GenerationError: the model did not answer or broke off; raised after the pieces that arrived.
        """
        return self.llm.stream(self._prompt(summary_prompt, docs))

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
