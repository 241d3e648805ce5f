"""Summaries of documents, with a model and without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from sleuth.answer.citations import Citation, CitationReport, support
from sleuth.answer.context import Passage
from sleuth.answer.synthesis import BUDGET, OnText, extra_of, joined, told
from sleuth.answer.units import text_units
from sleuth.answer.words import plain_words
from sleuth.arguments import check_count
from sleuth.protocols import CutText
from sleuth.remote import async_twin
from sleuth.results import Grade, SearchResult
from sleuth.text import clean_text
from sleuth.text.borders import split_sentences
from sleuth.text.budget import CountTokens, approximate_tokens
from sleuth.types import Document, RetrievedItem

SUMMARY_NOTE = "No language model is configured. These sentences stand for the rest:"

_ROUNDS = 6


class Summarizer(Protocol):
    """Writes bullet points; `LLMGenerator` is one. With `stream_summary(docs)` it writes them in pieces, too."""

    def summarize_docs(self, docs: Sequence[Document]) -> str:
        """Return a summary of the documents."""


def summarize_docs(
    docs: Sequence[Document],
    writer: Summarizer | None = None,
    *,
    budget: int = BUDGET,
    count_tokens: CountTokens = approximate_tokens,
    on_text: OnText | None = None,
) -> str:
    """Return a summary in bullet points, of texts of any length.

    What does not fit into `budget` tokens is summarised in parts, and the summaries are summarised. Without a
    writer, the most typical sentences are taken, and the summary says so.

    Args:
        on_text: called with each piece of the last summary as it is written.

    Raises:
        ArgumentError: a budget below 1.
        GenerationError: the model did not answer.
    """
    check_count(budget, "budget", least=1)
    texts = [doc for doc in docs if doc.page_content.strip()]
    if not texts:
        return ""
    if writer is None:
        return told(extract_summary([doc.page_content for doc in texts]), on_text)
    stream = getattr(writer, "stream_summary", None)
    for _ in range(_ROUNDS):
        batches = _batches(texts, budget, count_tokens)
        if len(batches) == 1:
            pieces = stream(batches[0]) if stream and on_text else [writer.summarize_docs(batches[0])]
            return joined(pieces, on_text)
        parts = [writer.summarize_docs(batch) for batch in batches]
        size_before = sum(count_tokens(doc.page_content) for doc in texts)
        texts = [Document(part) for part in parts]
        if sum(map(count_tokens, parts)) >= size_before:
            break  # a writer that does not shorten would go on for ever
    return told("\n".join(doc.page_content for doc in texts), on_text)


def cite_summary(summary: str, docs: Sequence[Document]) -> list[Citation]:
    """Return one citation per line of a summary: the document that supports the line best.

    That is the document that holds the largest share of the line's numbers and longer words. `number` counts documents
    from 1. Check lines with low `support` by hand.
    """
    statements = [line.strip("-*• \t") for line in summary.splitlines() if line != SUMMARY_NOTE]
    citations = []
    for statement in filter(None, statements):
        shares = [support(statement, doc.page_content) for doc in docs]
        if shares:
            best = shares.index(max(shares))
            name = str(docs[best].id or docs[best].metadata.get("source") or "")
            citations.append(Citation(best + 1, (name,), statement, shares[best]))
    return citations


asummarize_docs = async_twin(summarize_docs)


class SummarySynthesizer:
    """Summarises the passages of a question instead of answering it: a `Synthesizer`.

    Args:
        writer: without one, the most typical sentences are taken.
        budget: tokens of one request; see `budget_of`.
    """

    def __init__(self, writer: Summarizer | None = None, *, budget: int = BUDGET) -> None:
        self.writer = writer
        self.budget = check_count(budget, "budget", least=1)

    def synthesize(
        self, question: str, items: Sequence[RetrievedItem], *, on_text: OnText | None = None
    ) -> SearchResult:
        """Return a summary in which each line cites the passage that holds most of it.

        Raises:
            GenerationError: the model did not answer.
        """
        docs = [Document(item.text, dict(item.metadata), id=item.id) for item in items]
        summary = summarize_docs(docs, self.writer, budget=self.budget, on_text=on_text)
        report = CitationReport(tuple(cite_summary(summary, docs)))
        passages = [Passage(number, item.text, (item,)) for number, item in enumerate(items, 1)]
        grade = Grade.MAY_HELP if report.unsupported else Grade.LIKELY
        kind = "extractive" if self.writer is None else "llm"
        is_cut = isinstance(summary, CutText)
        extra = extra_of(kind, grade if summary else Grade.NOTHING_CLOSE, passages, report, is_cut=is_cut)
        return SearchResult.success(response=summary, used_source_ids=report.used_ids, extra=extra)

    asynthesize = async_twin(synthesize)


def extract_summary(texts: Sequence[str], *, sentences: int = 5) -> str:
    """Return the sentences with the most frequent words, in the order of the texts, with a note that says so.

    A sentence scores the mean probability of its words; those of a chosen one count squared from then on, so that the
    next one says something else (SumBasic; Nenkova and Vanderwende, 2005).
    """
    candidates = [unit.text for text in texts for unit in text_units(text) if unit.is_answer]
    words_of = plain_words(candidates)
    counts = Counter(word for words in words_of for word in words if len(word) > 3)
    total = sum(counts.values()) or 1
    chance = {word: count / total for word, count in counts.items()}
    selection: list[int] = []

    def mean(words: Sequence[str]) -> float:
        chances = [chance[word] for word in words if word in chance]
        return sum(chances) / max(len(chances), 5)  # very short sentences would win with one frequent word

    for _ in range(min(sentences, len(candidates))):
        remaining = [place for place in range(len(candidates)) if place not in selection]
        best = max(remaining, key=lambda place: (mean(words_of[place]), -place))
        selection.append(best)
        for word in set(words_of[best]) & chance.keys():
            chance[word] **= 2
    lines = [f"- {clean_text(candidates[place])}" for place in sorted(selection)]
    return "\n".join([SUMMARY_NOTE, *lines])


def _batches(docs: Sequence[Document], budget: int, count_tokens: CountTokens) -> list[list[Document]]:
    """Pack documents into requests; a long one is cut between sentences, and a sentence stays whole."""
    batches: list[dict[int, list[str]]] = []
    room = 0
    for number, text in enumerate(doc.page_content for doc in docs):
        spans = [(0, len(text))] if count_tokens(text) <= budget else split_sentences(text)
        for start, end in spans:
            cost = count_tokens(text[start:end])
            if cost > room or not batches:
                batches.append({})
                room = budget
            batches[-1].setdefault(number, []).append(text[start:end])
            room -= cost
    return [[Document(" ".join(parts)) for parts in batch.values()] for batch in batches]
