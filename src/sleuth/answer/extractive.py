"""Answers without a model: quotes from the passages, with a grade that says how well they fit."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Final

from sleuth.answer.citations import Citation, CitationReport
from sleuth.answer.context import Passage, describe_source, time_of
from sleuth.answer.evidence import (
    NO_EVIDENCE,
    WORDS_AND_MEANING,
    WORDS_ONLY,
    Evidence,
    Rarity,
    question_names,
    question_words,
    weigh_evidence,
)
from sleuth.answer.extract import cosines, score_sentences
from sleuth.answer.quotes import Quote, choose, opening
from sleuth.answer.synthesis import OnText, extra_of
from sleuth.answer.words import Analyze, language_of, plain_words, readable, terms_of_each
from sleuth.arguments import check_count
from sleuth.errors import EmbeddingError
from sleuth.logs import logger_of
from sleuth.protocols import Embedder
from sleuth.remote import async_twin
from sleuth.results import Grade, SearchResult
from sleuth.text import clean_text
from sleuth.text.analyzers import get_analyzer
from sleuth.text.detection import detect_language, language_of_query
from sleuth.text.languages import ENGLISH, LANGUAGES, UNKNOWN
from sleuth.types import RetrievedItem
from sleuth.types.request import DEFAULT_K

logger = logger_of("answer")

INTRODUCTIONS: Final = {
    Grade.LIKELY: "Likely answers, quoted, since no language model is configured:",
    Grade.MAY_HELP: "May help: none of these quotes is sure to answer.",
    Grade.NOTHING_CLOSE: "Nothing close: no passage fits this question.",
}
"""First line of an answer, by its grade."""

IN_DOUBT: Final = "May help, in the order of the search: the passages do not word it as the question does."
"""The same if the words of the question are in doubt."""

NEAREST: Final = "The nearest titles:"
"""Heading of the titles if nothing is close."""

DISAGREEMENT: Final = "The sources disagree:"
"""Heading of sentences that give different values of one thing, newest source first."""

TITLES: Final = 3
"""Titles that are offered, at most."""

_WORDS: Final = re.compile(r"[^\W\d_]+")

MISTYPED: Final = 6
"""Letters from which on a word may count as mistyped; shorter ones have too many neighbours."""

RELATED: Final = 0.15
"""Cosine from which on a passage without a word of a question shares its meaning: words that only the vectors know are
still found at .15, and no longer at .25 (search.md at 885da4c9)."""

_JUDGED: Final = 50
"""Words of a question that are looked at for typing mistakes: each takes some hundred spellings."""

KNOWN: Final = 0.5
"""Share of a question's words that an embedder must know to take part."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is quoted for a question, and how well it fits.

    Attributes:
        quotes: to show.
        evidence: for the best of them.
        grade: of all of them.
        probability: that they answer, 0 to 1.
        is_in_doubt: whether the quotes follow the order of the search, since the question is worded otherwise than the
            passages.
    """

    quotes: tuple[Quote, ...] = ()
    evidence: Evidence = NO_EVIDENCE
    grade: Grade = Grade.NOTHING_CLOSE
    probability: float = 0.0
    is_in_doubt: bool = False


class ExtractiveSynthesizer:
    """No model: the parts of the passages that fit best, each with its citations, and a grade.

    Args:
        sentences: parts to quote at most.
        analyze: text to terms; the analyzer that the passages were found with is best.
        embedder: adds the meaning of sentences to their words; a local one, since it sees every sentence.
        rarity: idf of terms in the corpus; without it, words weigh as the embedder says, or alike.
        by_language: whether a passage whose metadata names a `language` is read with the analyzer of that language.
        is_cautious: whether the words of questions are in doubt. Quotes that are not likely answers then begin with the
            first passage, as they do for a question in another language.
    """

    def __init__(
        self,
        *,
        sentences: int = 3,
        analyze: Analyze = plain_words,
        embedder: Embedder | None = None,
        rarity: Rarity | None = None,
        by_language: bool = False,
        is_cautious: bool = False,
    ) -> None:
        self.sentences = check_count(sentences, "sentences", least=1)
        self.analyze = analyze
        self.embedder = embedder
        self.rarity = rarity
        self.by_language = by_language
        self.is_cautious = is_cautious
        self.further: Sequence[RetrievedItem] = ()

    def cautious(self) -> ExtractiveSynthesizer:
        """Return the same for a question whose words are in doubt, since they were corrected."""
        writer = copy(self)
        writer.is_cautious = True
        return writer

    def grading(self, further: Sequence[RetrievedItem]) -> ExtractiveSynthesizer:
        """Return the same for a question that these passages fit, too, after those that may be quoted."""
        writer = copy(self)
        writer.further = further
        return writer

    def synthesize(
        self, question: str, items: Sequence[RetrievedItem], *, on_text: OnText | None = None
    ) -> SearchResult:
        """Return the parts that fit best with their grade; where nothing is close, the nearest titles."""
        assessment = self.assess(question, items)
        answer = _Quotation(items, assessment)
        if on_text is not None:
            for piece in answer.pieces:
                on_text(piece)
        extra = {
            **extra_of("extractive", assessment.grade, answer.passages, answer.report),
            "probability": round(assessment.probability, 3),
            "disagreement": any(quote.differing for quote in answer.quotes),
        }
        response, report = "".join(answer.pieces), answer.report
        return SearchResult(response=response, used_source_ids=report.used_ids, extra=extra)

    asynthesize = async_twin(synthesize)

    def assess(self, question: str, items: Sequence[RetrievedItem]) -> Assessment:
        """Choose what to quote from passages, best first, and say how well the first `DEFAULT_K` of all fit.

        Quotes are chosen from those passages too, and no further ones; by words alone if the embedder fails.
        """
        shown, items = len(items), [*items, *self.further][:DEFAULT_K] if items else []
        try:
            assessment = self._assess(question, items, shown, self._embedder_for(question))
        except (EmbeddingError, TimeoutError) as error:
            logger.warning("an answer is chosen by words alone: %s", error)
            assessment = self._assess(question, items, shown, None)
        if assessment.grade is Grade.LIKELY or not items:
            return assessment
        is_in_doubt = (
            self.is_cautious
            or _is_foreign(question, items[0])
            or self._is_mistyped(question, items)
            or (assessment.grade is Grade.NOTHING_CLOSE and self._is_related(question, items[0]))
        )
        return self._in_order(assessment, items) if is_in_doubt else assessment

    def _in_order(self, assessment: Assessment, items: Sequence[RetrievedItem]) -> Assessment:
        """Return quotes of which the first is of the first passage: what the search found first may help."""
        quotes = assessment.quotes if assessment.grade is Grade.MAY_HELP else ()
        first = [quote for quote in quotes if quote.sentence.item == 0] or opening(items)
        later_quotes = [quote for quote in quotes if quote.sentence.item]
        if not first:
            return assessment
        in_order = tuple([*first, *later_quotes][: self.sentences])
        return replace(assessment, quotes=in_order, grade=Grade.MAY_HELP, is_in_doubt=True)

    def _assess(
        self, question: str, items: Sequence[RetrievedItem], shown: int, embedder: Embedder | None
    ) -> Assessment:
        """Grade the best quotes of `items`, and return with the grade those of the first `shown`."""
        analyze = self._analyzer(items)
        sentences = score_sentences(question, items, analyze=analyze, embedder=embedder)
        about = passages_about(question, items, analyze)
        sentences = [sentence for sentence in sentences if sentence.item in about]
        quotes = choose(question, sentences, items, self.sentences, analyze=analyze)
        if not quotes:
            return Assessment()
        best = max(quotes, key=lambda quote: quote.sentence.score)
        grader = WORDS_AND_MEANING if embedder is not None else WORDS_ONLY
        if language_of(items[best.sentence.item]) in LANGUAGES:  # vectors of words are those of English
            grader, embedder = WORDS_ONLY, None
        evidence = weigh_evidence(
            question, items, best, analyze=analyze, rarity=self.rarity, embedder=embedder
        )
        if shown < len(items):
            sentences = [sentence for sentence in sentences if sentence.item < shown]
            quotes = choose(question, sentences, items, self.sentences, analyze=analyze) or opening(items)
        return Assessment(tuple(quotes), evidence, grader.grade(evidence), grader.probability(evidence))

    def _is_related(self, question: str, item: RetrievedItem) -> bool:
        """Return whether a passage shares the meaning of a question and none of its words, for all the embedder tells.

        Vectors do not tell names apart, and vectors of words are those of English.
        """
        embedder = self._embedder_for(question)
        if embedder is None or language_of(item) in LANGUAGES or question_names(question, self.analyze):
            return False
        words = question_words(question, self.analyze).keys()
        if not words or not words.isdisjoint(*self.analyze([" ".join(readable(item))])):
            return False
        try:
            return cosines(embedder, question, [item.text])[0] >= RELATED
        except (EmbeddingError, TimeoutError):
            return False

    def _is_mistyped(self, question: str, items: Sequence[RetrievedItem]) -> bool:
        """Return whether a word of the question that no passage holds is mistyped, as far as the embedder tells.

        A word with a capital may be a name, which nobody mistyped.
        """
        if self.embedder is None:
            return False
        from sleuth.vectors import ask_if_able

        of_passages = {word for item in items for word in _WORDS.findall(" ".join(readable(item)).lower())}
        words = [word for word in _WORDS.findall(question) if len(word) >= MISTYPED and word.islower()]
        return any(
            ask_if_able(self.embedder, "is_mistyped", word)
            for word in words[:_JUDGED]
            if word not in of_passages
        )

    def _analyzer(self, items: Sequence[RetrievedItem]) -> Analyze:
        """Return the analyzer of the language of the best passage."""
        rules = LANGUAGES.get(language_of(items[0])) if items and self.by_language else None
        return get_analyzer(rules.analyzer).words_of_each if rules else self.analyze

    def _embedder_for(self, question: str) -> Embedder | None:
        """Return the embedder, unless it says (`knowledge`) that it knows less than `KNOWN` of the question's words.

        One that cannot say is used. None stands for no embedder.
        """
        if self.embedder is None:
            return None
        from sleuth.vectors import ask_if_able

        share = ask_if_able(self.embedder, "knowledge", question)
        return self.embedder if share is None or share >= KNOWN else None


def _is_foreign(question: str, item: RetrievedItem) -> bool:
    """Return whether a question is in another language than a passage, so that its words do not tell what is close."""
    words = _WORDS.findall(question)
    language = detect_language(question) or language_of_query(words).code
    code = language_of(item) or ENGLISH
    if language != UNKNOWN:
        return language != code
    # A short question may hold no common word of any language.
    return code == ENGLISH and any(not word.isascii() for word in words if word.islower() or word == words[0])


def passages_about(question: str, items: Sequence[RetrievedItem], analyze: Analyze) -> Container[int]:
    """Return the places of passages that have those names of the question which the best one has."""
    names = question_names(question, analyze, language_of(items[0])) if items else None
    if not names:
        return range(len(items))
    terms_of_items = terms_of_each(items, analyze)
    names &= terms_of_items[0]
    return {place for place, terms in enumerate(terms_of_items) if names <= terms}


class _Quotation:
    """Quotes written out, with the passages that they cite, numbered in order of first use."""

    def __init__(self, items: Sequence[RetrievedItem], assessment: Assessment) -> None:
        self._items = items
        self._numbers: dict[int, int] = {}
        self._citations: list[Citation] = []
        self.quotes = () if assessment.grade is Grade.NOTHING_CLOSE else assessment.quotes
        self.pieces = [IN_DOUBT if assessment.is_in_doubt else INTRODUCTIONS[assessment.grade]]
        for quote in self.quotes:
            self._add(quote)
        if not self.quotes and (titles := nearest_titles(items)):
            self.pieces += [f"\n{NEAREST}", *(f"\n- {title}" for title in titles)]

    @property
    def passages(self) -> list[Passage]:
        """The cited passages."""
        items = self._items
        return [Passage(number, items[i].text, (items[i],)) for i, number in self._numbers.items()]

    @property
    def report(self) -> CitationReport:
        """The citations. They are not read out of the response: a source has numbers in brackets of its own."""
        return CitationReport(tuple(self._citations))

    def _add(self, quote: Quote) -> None:
        sources = [quote.sentence.item, *(sentence.item for sentence in quote.agreeing)]
        if not quote.differing:
            self.pieces.append(f"\n- {self._cited(quote.text, sources)}")
            return
        self.pieces.append(f"\n- {DISAGREEMENT}")
        sides = sorted((quote.sentence, *quote.differing), key=lambda side: _age(self._items[side.item]))
        for side in sides:
            places = sources if side is quote.sentence else [side.item]
            self.pieces.append(f"\n  - {self._cited(side.text, places, indent=4)}")

    def _cited(self, text: str, places: Iterable[int], *, indent: int = 2) -> str:
        """Return a quote with its citations; what follows its first line stays in lines, as code must."""
        first, _, tail = clean_text(text).partition("\n")
        marks = []
        for place in places:
            number = self._numbers.setdefault(place, len(self._numbers) + 1)
            marks.append(f"[{number}]")
            self._citations.append(Citation(number, (self._items[place].id,), text, 1.0))
        lines = "".join(f"\n{' ' * indent}{line}".rstrip() for line in tail.split("\n")) if tail else ""
        return f"{first} {''.join(dict.fromkeys(marks))}{lines}"


def nearest_titles(items: Sequence[RetrievedItem]) -> list[str]:
    """Return titles of the best passages with their sources, each page once."""
    pages: dict[str, str] = {}
    for item in items:
        source = describe_source([item])
        title = str(item.metadata.get("title") or "")
        name = str(item.metadata.get("path") or item.metadata.get("source") or item.id)
        pages.setdefault(name, f"{title} ({source})" if title else source)
    return [" ".join(clean_text(title).split()) for title in list(pages.values())[:TITLES]]


def _age(item: RetrievedItem) -> float:
    """Return a key that sorts the newest source first; those without a time come last."""
    time = time_of(item.metadata)
    return 0.0 if time is None else -time.timestamp()
