"""Answers that a model writes from passages, with citations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from sleuth.answer.agreement import rivals_of
from sleuth.answer.citations import CitationReport, check_citations
from sleuth.answer.context import Order, Passage, assemble
from sleuth.answer.prompt import REFUSAL, build_prompt
from sleuth.answer.quotes import score_units
from sleuth.answer.words import plain_words
from sleuth.protocols import Generator
from sleuth.remote import async_twin
from sleuth.results import Grade, SearchResult
from sleuth.text.budget import CountTokens, approximate_tokens, check_budget
from sleuth.types import RetrievedItem

BUDGET: Final = 3000
"""Tokens of passages for a model that does not say how many it reads."""

CONTRADICTIONS: Final = 5
"""Sentences for which contradictions are looked for, at most."""

REST: Final = 1300
"""Tokens that the rules, the question and the answer need beside the passages."""

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
        budget: int = BUDGET,
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

    def sources(self, items: Sequence[RetrievedItem]) -> list[dict[str, Any]]:
        """Return the passages that the model will see, by number, with their text."""
        in_order = sorted(self.passages(items), key=lambda passage: passage.number)
        return [{**passage.to_dict(), "text": passage.text} for passage in in_order]

    def synthesize(
        self, question: str, items: Sequence[RetrievedItem], *, on_text: OnText | None = None
    ) -> SearchResult:
        """Return the model's answer; the model is not called without passages.

        Raises:
            GenerationError: the model did not answer.
        """
        passages = self.passages(items)
        if not passages:
            extra = extra_of("llm", Grade.NOTHING_CLOSE, (), CitationReport())
            return SearchResult.success(response=told(REFUSAL, on_text), extra=extra)
        prompt = build_prompt(question, passages, contradictions(question, passages))
        if on_text is None:
            response = self.generator.complete(prompt).strip()
        else:
            pieces = trim_pieces(self.generator.stream(prompt))
            response = "".join(told(piece, on_text) for piece in pieces)
        report = check_citations(response, passages)
        # A refusal has nothing to cite.
        report = replace(report, uncited=tuple(text for text in report.uncited if not _refuses(text)))
        grade = Grade.LIKELY if report.citations and not report.unsupported else Grade.MAY_HELP
        grade = Grade.NOTHING_CLOSE if not response or _refuses(response) else grade
        extra = extra_of("llm", grade, passages, report)
        return SearchResult.success(response=response, used_source_ids=report.used_ids, extra=extra)

    asynthesize = async_twin(synthesize)


def budget_of(generator: Generator | None) -> int:
    """Return how many tokens of passages fit into the window of a model; `BUDGET` if it does not say what it reads."""
    window = getattr(generator, "context_length", None)
    return max(1, window - REST) if isinstance(window, int) else BUDGET


def contradictions(question: str, passages: Sequence[Passage]) -> list[str]:
    """Return the sentences of passages that give different values of one thing, each pair in a line."""
    items = [
        passage.items[0].model_copy(update={"id": str(passage.number), "text": passage.text})
        for passage in passages
    ]
    candidates = score_units(question, items, analyze=plain_words)
    pairs: dict[frozenset[str], str] = {}
    for best in candidates[:CONTRADICTIONS]:
        sides = [best, *rivals_of(question, best, candidates, items, plain_words)]
        if len(sides) > 1:
            line = " / ".join(f'passage {items[side.item].id}: "{side.unit.text}"' for side in sides)
            pairs.setdefault(frozenset(side.unit.text for side in sides), line)
    return list(pairs.values())


def _refuses(text: str) -> bool:
    return REFUSAL.casefold() in text.casefold()


def told(piece: str, on_text: OnText | None) -> str:
    """Return a piece of a text, after it was given to its reader."""
    if on_text is not None:
        on_text(piece)
    return piece


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


def extra_of(kind: str, grade: Grade, passages: Sequence[Passage], report: CitationReport) -> dict[str, Any]:
    """Return what a result says of an answer: who wrote it, its grade, and what it stands on."""
    in_order = sorted(passages, key=lambda passage: passage.number)
    return {
        "synthesizer": kind,
        "grade": str(grade),
        "sources": [passage.to_dict() for passage in in_order],
        "citations": [citation.to_dict() for citation in report.citations],
        "unknown_citations": list(report.unknown),
        "unsupported": list(report.unsupported),
    }
