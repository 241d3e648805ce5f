"""Synthesizers: passages into an answer that cites them, with a model and without one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from sleuth.answer.citations import Citation, CitationReport, check_citations
from sleuth.answer.context import Order, Passage, assemble
from sleuth.answer.evidence import (
    WORDS_AND_MEANING,
    WORDS_ELSEWHERE,
    WORDS_ONLY,
    Rarity,
    question_names,
    terms_of,
    weigh_evidence,
)
from sleuth.answer.extract import Analyze, Sentence, Statement, choose, plain_words, score_sentences
from sleuth.answer.meaning import ask
from sleuth.answer.prompt import REFUSAL, build_prompt
from sleuth.answer.tokens import CountTokens, approximate_tokens, check_budget
from sleuth.arguments import check_count
from sleuth.errors import EmbeddingError
from sleuth.logs import logger_of
from sleuth.protocols import Embedder, Generator
from sleuth.remote import async_twin
from sleuth.results import SearchResult
from sleuth.text import LANGUAGES, clean_text, get_analyzer
from sleuth.types import RetrievedItem

logger = logger_of("answer")

EXTRACTIVE_NOTE = "No language model is configured. These sentences answer best:"

DISAGREEMENT = "The sources disagree:"
"""Stands above statements that differ in a number, a negation or a name, newest source first."""

DECLINE = 0.5
"""Probability of an answer below which a question is declined."""

KNOWN = 0.5
"""Share of a question's words that an embedder must know to take part."""

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

    asynthesize = async_twin(synthesize)


class ExtractiveSynthesizer:
    """No model: the parts of the passages that answer best, each with its citations.

    Args:
        sentences: parts to quote at most.
        analyze: text to terms; the analyzer that the passages were found with is best.
        embedder: adds what sentences mean to which words they hold; a local one, since it sees every
            sentence.
        rarity: idf of terms in the corpus; with it, questions that the passages do not cover are declined.
        by_language: whether a passage whose metadata names a `language` is read with the analyzer of that language.
    """

    def __init__(
        self,
        *,
        sentences: int = 3,
        analyze: Analyze = plain_words,
        embedder: Embedder | None = None,
        rarity: Rarity | None = None,
        by_language: bool = False,
    ) -> None:
        self.sentences = check_count(sentences, "sentences", least=1)
        self.analyze = analyze
        self.embedder = embedder
        self.rarity = rarity
        self.by_language = by_language

    def synthesize(
        self, question: str, items: Sequence[RetrievedItem], *, on_text: OnText | None = None
    ) -> SearchResult:
        """Return the parts that answer best; decline if the passages do not cover the question."""
        try:
            evidence, statements = self._choose(question, items, self._embedder(question))
        except (EmbeddingError, TimeoutError) as error:
            logger.warning("an answer is chosen by words alone: %s", error)
            evidence, statements = self._choose(question, items, None)
        if not statements:
            return _refuse("extractive", on_text, evidence=evidence)
        answer = _Quotation(items, statements)
        if on_text is not None:
            for piece in answer.pieces:
                on_text(piece)
        result = _result("extractive", "".join(answer.pieces), answer.passages, answer.report, answered=True)
        result.extra["disagreement"] = any(statement.differing for statement in statements)
        if evidence is not None:
            result.extra["evidence"] = round(evidence, 3)
        return result

    asynthesize = async_twin(synthesize)

    def _choose(
        self, question: str, items: Sequence[RetrievedItem], embedder: Embedder | None
    ) -> tuple[float | None, list[Statement]]:
        """Return the evidence for an answer and what to quote; nothing to quote where it is too weak.

        Raises:
            EmbeddingError, TimeoutError: the embedder failed.
        """
        analyze = self._analyzer(items)
        evidence = self._evidence(question, items, analyze, embedder)
        if evidence is not None and evidence < DECLINE:
            return evidence, []
        ranked = score_sentences(question, items, analyze=analyze, embedder=embedder)
        about = {
            place for place, item in enumerate(items) if _names_the_same(question, items[0], item, analyze)
        }
        ranked = [sentence for sentence in ranked if sentence.item in about]
        return evidence, choose(ranked, self.sentences, analyze=analyze)

    def _analyzer(self, items: Sequence[RetrievedItem]) -> Analyze:
        """Return the analyzer of the language of the best passage."""
        rules = LANGUAGES.get(_language(items[0])) if items and self.by_language else None
        return get_analyzer(rules.analyzer).words if rules else self.analyze

    def _embedder(self, question: str) -> Embedder | None:
        """Return the embedder if it knows most words of the question."""
        knowledge = getattr(self.embedder, "knowledge", None)
        if knowledge is None or ask(self.embedder, knowledge, question) >= KNOWN:
            return self.embedder
        return None

    def _evidence(
        self, question: str, items: Sequence[RetrievedItem], analyze: Analyze, embedder: Embedder | None
    ) -> float | None:
        """Return the probability that the passages answer the question; None if nothing tells how rare words are."""
        if self.rarity is None:
            return None
        threshold = WORDS_AND_MEANING if embedder is not None else WORDS_ONLY
        if items and _language(items[0]) in LANGUAGES:  # vectors of words are those of English
            threshold, embedder = WORDS_ELSEWHERE, None
        evidence = weigh_evidence(question, items, analyze=analyze, rarity=self.rarity, embedder=embedder)
        return threshold.probability(evidence)


def _language(item: RetrievedItem) -> str:
    """Return the ISO 639-1 code of a passage's language; "" if its metadata name none."""
    return str(item.metadata.get("language") or "")


def _names_the_same(question: str, best: RetrievedItem, item: RetrievedItem, analyze: Analyze) -> bool:
    """Return whether a passage has the names of the question that the best one has: else it is about others."""
    names = question_names(question, analyze, _language(best))
    return not names or names & terms_of(best, analyze) <= terms_of(item, analyze)


class _Quotation:
    """Statements written out, with the passages that they cite, numbered in order of first use."""

    def __init__(self, items: Sequence[RetrievedItem], statements: Sequence[Statement]) -> None:
        self._items = items
        self._numbers: dict[int, int] = {}
        self._citations: list[Citation] = []
        self.pieces = [EXTRACTIVE_NOTE]
        for statement in statements:
            self._add(statement)

    @property
    def passages(self) -> list[Passage]:
        """The cited passages."""
        items = self._items
        return [Passage(number, items[i].text, (items[i],)) for i, number in self._numbers.items()]

    @property
    def report(self) -> CitationReport:
        """The citations. They are not read out of the response: a source has numbers in brackets of its own."""
        return CitationReport(tuple(self._citations))

    def _add(self, statement: Statement) -> None:
        if not statement.differing:
            self.pieces.append(f"\n- {self._quote(statement.sentence, statement.agreeing)}")
            return
        self.pieces.append(f"\n- {DISAGREEMENT}")
        sides = [(statement.sentence, statement.agreeing), *((other, ()) for other in statement.differing)]
        for sentence, agreeing in sorted(sides, key=lambda side: _age(self._items[side[0].item])):
            self.pieces.append(f"\n  - {self._quote(sentence, agreeing, indent=4)}")

    def _quote(self, sentence: Sentence, agreeing: Sequence[Sentence] = (), *, indent: int = 2) -> str:
        """Return a part with its citations; what follows its first line stays in lines, as code must."""
        first, _, rest = clean_text(sentence.text).partition("\n")
        marks = []
        for source in (sentence, *agreeing):
            number = self._numbers.setdefault(source.item, len(self._numbers) + 1)
            marks.append(f"[{number}]")
            self._citations.append(Citation(number, (self._items[source.item].id,), source.text, 1.0))
        lines = "".join(f"\n{' ' * indent}{line}".rstrip() for line in rest.split("\n")) if rest else ""
        return f"{first} {''.join(dict.fromkeys(marks))}{lines}"


def _age(item: RetrievedItem) -> float:
    """Return a key that sorts the newest source first; those without a time come last.

    `modified` is a time in ISO 8601, as files have it, or seconds.
    """
    modified = item.metadata.get("modified")
    if isinstance(modified, str):
        try:
            time = datetime.fromisoformat(modified)
        except ValueError:
            return 0.0
        return -(time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return -float(modified) if isinstance(modified, int | float) else 0.0


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


def _refuse(kind: str, on_text: OnText | None, *, evidence: float | None = None) -> SearchResult:
    if on_text is not None:
        on_text(REFUSAL)
    extra = _extra(kind, False, (), CitationReport())
    if evidence is not None:
        extra["evidence"] = round(evidence, 3)
    return SearchResult.success(response=REFUSAL, extra=extra)


def _extra(kind: str, answered: bool, passages: Sequence[Passage], report: CitationReport) -> dict[str, Any]:
    ranked = sorted(passages, key=lambda passage: passage.number)
    return {
        "synthesizer": kind,
        "answered": answered,
        "sources": [passage.to_dict() for passage in ranked],
        "citations": [citation.to_dict() for citation in report.citations],
        "unknown_citations": list(report.unknown),
    }
