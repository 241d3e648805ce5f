"""Synthesizers: passages into an answer that cites them, with a model and without one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sleuth.answer.citations import Citation, CitationReport, check_citations
from sleuth.answer.context import Order, Passage, assemble
from sleuth.answer.extract import Analyze, choose, plain_words, score_sentences
from sleuth.answer.prompt import REFUSAL, build_prompt
from sleuth.answer.tokens import CountTokens, approximate_tokens, check_budget
from sleuth.arguments import check_count
from sleuth.protocols import Embedder, Generator
from sleuth.results import SearchResult
from sleuth.text.clean import clean_text
from sleuth.types import RetrievedItem

EXTRACTIVE_NOTE = "No language model is configured. These sentences answer best:"

OnText = Callable[[str], None]


class LLMSynthesizer:
    """A model writes the answer, from passages that fit into its context.

    Args:
        generator: the model.
        budget: tokens for the passages; leave room for the answer and about 300 tokens of rules.
        order: how the passages are laid out, as of `assemble`.
        count_tokens: the model's own counter, where you have it.
    """

    def __init__(
        self,
        generator: Generator,
        *,
        budget: int = 3000,
        order: Order = "ends",
        count_tokens: CountTokens = approximate_tokens,
    ) -> None:
        self.generator = generator
        self.budget = check_budget(budget)
        self.order: Order = order
        self.count_tokens = count_tokens

    def passages(self, items: Sequence[RetrievedItem]) -> list[Passage]:
        """Return the passages that the model will see, in that order."""
        return assemble(items, budget=self.budget, order=self.order, count_tokens=self.count_tokens)

    def synthesize(
        self, question: str, items: Sequence[RetrievedItem], *, on_text: OnText | None = None
    ) -> SearchResult:
        """Return the model's answer; the model is not called without passages.

        Raises:
            GenerationError: the model did not answer.
        """
        passages = self.passages(items)
        if not passages:
            return _refuse("llm", on_text)
        prompt = build_prompt(question, passages)
        if on_text is None:
            response = self.generator.complete(prompt).strip()
        else:
            pieces = []
            for piece in trim_pieces(self.generator.stream(prompt)):
                pieces.append(piece)
                on_text(piece)
            response = "".join(pieces)
        answered = bool(response) and REFUSAL.casefold() not in response.casefold()
        return _result("llm", response, passages, check_citations(response, passages), answered=answered)


class ExtractiveSynthesizer:
    """No model: the sentences of the passages that answer best, each with its citation.

    Args:
        sentences: at most so many.
        analyze: text to terms; the analyzer that the passages were found with is best.
        embedder: adds what sentences mean to which words they hold; a local one, since it sees every
            sentence.
    """

    def __init__(
        self, *, sentences: int = 3, analyze: Analyze = plain_words, embedder: Embedder | None = None
    ) -> None:
        self.sentences = check_count(sentences, "sentences", least=1)
        self.analyze = analyze
        self.embedder = embedder

    def synthesize(
        self, question: str, items: Sequence[RetrievedItem], *, on_text: OnText | None = None
    ) -> SearchResult:
        """Return the sentences that answer best; say so if none shares a word with the question."""
        ranked = score_sentences(question, items, analyze=self.analyze, embedder=self.embedder)
        chosen = choose(ranked, self.sentences, analyze=self.analyze)
        if not chosen:
            return _refuse("extractive", on_text)
        places = list(dict.fromkeys(sentence.item for sentence in chosen))
        numbers = {place: number for number, place in enumerate(places, 1)}
        passages = [Passage(numbers[place], items[place].text, (items[place],)) for place in places]
        quoted = [(" ".join(clean_text(sentence.text).split()), sentence.item) for sentence in chosen]
        lines = [f"- {text} [{numbers[place]}]" for text, place in quoted]
        pieces = [EXTRACTIVE_NOTE, *(f"\n{line}" for line in lines)]
        if on_text is not None:
            for piece in pieces:
                on_text(piece)
        # Not read out of the response: a source has numbers in brackets of its own.
        report = CitationReport(
            tuple(Citation(numbers[place], (items[place].id,), text, 1.0) for text, place in quoted)
        )
        return _result("extractive", "".join(pieces), passages, report, answered=True)


def trim_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """`pieces` without white space before the first word and after the last, as soon as that is known."""
    pending, begun = "", False
    for piece in pieces:
        text = pending + piece if begun else piece.lstrip()
        body = text.rstrip()
        pending = text[len(body) :]
        if body:
            begun = True
            yield body


def _result(
    kind: str, response: str, passages: Sequence[Passage], report: CitationReport, *, answered: bool
) -> SearchResult:
    return SearchResult.success(
        response=response,
        used_source_ids=report.used_ids,
        extra=_extra(kind, answered, passages, report),
    )


def _refuse(kind: str, on_text: OnText | None) -> SearchResult:
    if on_text is not None:
        on_text(REFUSAL)
    return SearchResult.success(response=REFUSAL, extra=_extra(kind, False, (), CitationReport()))


def _extra(kind: str, answered: bool, passages: Sequence[Passage], report: CitationReport) -> dict[str, Any]:
    ranked = sorted(passages, key=lambda passage: passage.number)
    return {
        "synthesizer": kind,
        "answered": answered,
        "sources": [passage.to_dict() for passage in ranked],
        "citations": [citation.to_dict() for citation in report.citations],
        "unknown_citations": list(report.unknown),
    }
