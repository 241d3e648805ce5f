"""Answers without a model: the best passage cut to a few lines, with a grade that says how well it fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Final

from sleuth.answer.citations import Citation, CitationReport
from sleuth.answer.context import Passage, describe_source, drop_repeats
from sleuth.answer.quotes import (
    READ,
    WIDTH,
    Candidate,
    Quote,
    best_of,
    cosines,
    date_of,
    quote_of,
    rivals_of,
    score_units,
    shortened,
    source_of,
    weight_share,
)
from sleuth.answer.synthesis import OnText, extra_of, told
from sleuth.answer.units import QUESTION_MARKS, units_of
from sleuth.answer.words import WORD, Analyze, Rarity, in_words, page_of, plain_words
from sleuth.errors import EmbeddingError
from sleuth.logs import logger_of
from sleuth.protocols import Embedder
from sleuth.remote import async_twin
from sleuth.results import Grade, SearchResult
from sleuth.text import clean_text
from sleuth.text.analyzers import get_analyzer
from sleuth.text.languages import LANGUAGES
from sleuth.text.words import WORD as SPACED_WORD
from sleuth.types import RetrievedItem

logger = logger_of("answer")

INTRODUCTIONS: Final = {
    Grade.LIKELY: "Likely answers, quoted, since no language model is configured:",
    Grade.MAY_HELP: "May help, quoted, since no language model is configured:",
    Grade.NOTHING_CLOSE: "Nothing close: no passage shares a word or the meaning of this question.",
}
"""First line of an answer, by its grade."""
NEAREST: Final = "The nearest titles:"
"""Heading of the titles if nothing is close."""
TOPIC: Final = "Pages on this topic, since no question is asked and no language model is configured:"
"""First line above the pages for a query that asks nothing."""
DISAGREEMENT: Final = "The sources disagree:"
"""Heading of units that give different values of one thing, newest source first."""

MORE: Final = 2
"""Sources below a quote, one line each."""
PAGES: Final = 5
"""Pages of a topic."""
TITLES: Final = 3
"""Titles that are offered, at most."""
TOPIC_WORDS: Final = 4
"""Words of a query up to which it is a topic, if it has no question mark and no word that only a sentence needs."""

LIKELY: Final = 0.8
"""Least mean of the two numbers of a likely answer, chosen on three corpora and judged on three others
(docs/measured/answers.md)."""
RELATED: Final = 0.15
"""Cosine from which on a passage without a word of a question shares its meaning: words that only the vectors know are
still found at .15, and no longer at .25 (search.md at 885da4c9)."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How well the best passage fits a question; no other one matters, so neither does how many there are.

    Attributes:
        covered: share of the question's words, each weighed by how much it says, that the lines quoted of it hold with
            the headings above them.
        held: share of the question's words, each counted alike, that the whole passage and its headings hold.
        is_related: whether it shares a word or the meaning.
    """

    covered: float = 0.0
    held: float = 0.0
    is_related: bool = False

    @property
    def grade(self) -> Grade:
        """The grade of an answer from this passage."""
        if self.covered + self.held >= 2 * LIKELY:
            return Grade.LIKELY
        return Grade.MAY_HELP if self.is_related else Grade.NOTHING_CLOSE


@dataclass(frozen=True, kw_only=True)
class ExtractiveSynthesizer:
    """No model: the best passage under its heading, cut to five lines around its best sentence, and two more sources.

    Attributes:
        analyze: text to terms; the analyzer that the passages were found with is best.
        embedder: adds the meaning of sentences to their words; a local one, since it sees every sentence.
        rarity: idf of terms in the corpus, for languages whose words the embedder does not weigh; without it, words
            weigh alike.
        by_language: whether a passage whose metadata names a `language` is read with the analyzer of that language.
    """

    analyze: Analyze = plain_words
    embedder: Embedder | None = None
    rarity: Rarity | None = None
    by_language: bool = False

    def synthesize(
        self, question: str, items: Sequence[RetrievedItem], *, on_text: OnText | None = None
    ) -> SearchResult:
        """Return the quote with its grade; where nothing is close, the nearest titles."""
        answer = self._answer(question, items)
        response = clean_text("\n".join(answer.lines()))
        for piece in response.splitlines(keepends=True):
            told(piece, on_text)
        report = CitationReport(tuple(answer.citations))
        extra = {
            **extra_of("extractive", answer.fit.grade, answer.passages, report),
            "covered": round(answer.fit.covered, 3),
            "held": round(answer.fit.held, 3),
            "disagreement": answer.is_disagreement,
        }
        return SearchResult(response=response, used_source_ids=report.used_ids, extra=extra)

    asynthesize = async_twin(synthesize)

    def grade(self, question: str, items: Sequence[RetrievedItem]) -> Grade:
        """Return how well the best passage answers a question."""
        return self._answer(question, items[:1]).fit.grade

    def _answer(self, question: str, items: Sequence[RetrievedItem]) -> _Draft:
        """Read the passages, by words alone if the embedder fails."""
        rules = LANGUAGES.get(str(items[0].metadata.get("language"))) if items and self.by_language else None
        analyze = get_analyzer(rules.analyzer).words_of_each if rules else self.analyze
        words = SPACED_WORD.findall(question)  # pairs of neighbours in scripts without spaces are terms
        word_of = {
            term: word.lower() for word, terms in zip(words, analyze(words), strict=True) for term in terms
        }
        weights = dict(self.rarity(word_of)) if self.rarity else dict.fromkeys(word_of, 1.0)
        try:
            if self.embedder is not None and word_of:
                from sleuth.vectors import ask_if_able

                # Words that say little in any text, as "often", say so only in English.
                values = None if rules else ask_if_able(self.embedder, "salience", list(word_of.values()))
                weights = weights if values is None else dict(zip(word_of, map(float, values), strict=True))
            return _Draft(question, items, analyze, weights, self.embedder)
        except (EmbeddingError, TimeoutError) as error:
            logger.warning("an answer is chosen by words alone: %s", error)
            return _Draft(question, items, analyze, weights, None)


class _Draft:
    """An answer that is being written.

    Attributes:
        fit: of the first passage.
        citations: of what is quoted so far.
    """

    def __init__(
        self,
        question: str,
        items: Sequence[RetrievedItem],
        analyze: Analyze,
        weights: dict[str, float],
        embedder: Embedder | None,
    ) -> None:
        self._question, self._items, self._analyze, self._weights = question, items, analyze, weights
        self._units = [units_of(item) for item in items[:READ]]
        self._candidates = score_units(
            question, items[:READ], self._units, analyze=analyze, embedder=embedder
        )
        self._numbers: dict[int, int] = {}
        self.fit = self._fit(items[0], embedder) if items else Fit()
        self.citations: list[Citation] = []
        self.is_disagreement = False

    def _fit(self, first: RetrievedItem, embedder: Embedder | None) -> Fit:
        """Measure how well the first passage fits, read alone."""
        units = self._units[:1]
        candidates = score_units(self._question, [first], units, analyze=self._analyze, embedder=embedder)
        best = best_of(candidates, self._weights)
        quote = quote_of(first, units[0], best.place) if best else Quote()
        shown = "\n".join([*quote.lines, quote.heading, page_of(first)])
        texts = [in_words(text, first) for text in (shown, f"{first.text}\n{page_of(first)}")]
        quoted, passage = self._analyze(texts)
        held = weight_share(passage, dict.fromkeys(self._weights, 1.0))
        is_related = held > 0 or cosines(embedder, self._question, [first.text])[0] >= RELATED
        return Fit(weight_share(quoted, self._weights), held, is_related)

    @property
    def passages(self) -> list[Passage]:
        """The cited passages, numbered in order of first use."""
        items = self._items
        return [Passage(number, items[i].text, (items[i],)) for i, number in self._numbers.items()]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the answer."""
        grade = self.fit.grade
        best = best_of(self._candidates, self._weights)
        # A few words to search, without a question mark, ask nothing if pages hold one of them.
        words = WORD.findall(self._question)
        is_short = 0 < len(words) <= TOPIC_WORDS and self._question.rstrip()[-1:] not in QUESTION_MARKS
        is_there = any(candidate.held for candidate in self._candidates)
        if grade is Grade.NOTHING_CLOSE:
            yield INTRODUCTIONS[grade]
            if self._items:
                yield from [NEAREST, *(f"- {title}" for title in nearest_titles(drop_repeats(self._items)))]
        elif is_short and is_there and all(self._analyze(words)):
            yield TOPIC
            yield from self._further(sorted(self._candidates, key=attrgetter("item")), PAGES, with_page=True)
        elif best and (
            rivals := rivals_of(self._question, best, self._candidates, self._items, self._analyze)
        ):
            yield from [INTRODUCTIONS[grade], "", DISAGREEMENT]
            self.is_disagreement = True
            sides = [(date_of(self._items[side.item]), side) for side in (best, *rivals)]
            for date, side in sorted(sides, key=itemgetter(0), reverse=True):
                text = side.unit.text
                yield f"- {f'{date}: ' if date else ''}{text} {self._cite(side.item, text)}"
        else:
            yield from [INTRODUCTIONS[grade], ""]
            item = best.item if best else 0
            quote = quote_of(self._items[item], self._units[item], best.place if best else 0)
            yield f"{self._name(item, quote.heading)} {self._cite(item, quote.text)}"
            yield from (f"> {line}".rstrip() for line in quote.lines)
            further = list(self._further(self._candidates, MORE))
            yield from ["", *further] if further else []

    def _further(
        self, candidates: Sequence[Candidate], count: int, *, with_page: bool = False
    ) -> Iterator[str]:
        """Yield the best units of more passages in one line each; copies of what is shown are left out.

        Args:
            with_page: whether each page has one line, which begins with its title.
        """
        distinct, sources = {item.id for item in drop_repeats(self._items[:READ])}, set[str]()
        for candidate in candidates:
            item, text = self._items[candidate.item], candidate.unit.text
            is_shown = any(text in citation.statement for citation in self.citations)
            is_known = is_shown or candidate.item in self._numbers or item.id not in distinct
            if len(sources) == count or is_known or not candidate.held:
                continue
            key = source_of(item) if with_page else item.id
            if text and key not in sources:
                sources.add(key)
                page = f"{self._name(candidate.item, candidate.unit.heading)}: " if with_page else ""
                code = f" {candidate.unit.code[0]}" if text.endswith(":") and candidate.unit.code else ""
                yield f"- {shortened(page + text + code, WIDTH)} {self._cite(candidate.item, text)}"

    def _cite(self, item: int, text: str) -> str:
        number = self._numbers.setdefault(item, len(self._numbers) + 1)
        self.citations.append(Citation(number, (self._items[item].id,), text, 1.0))
        return f"[{number}]"

    def _name(self, item: int, heading: str) -> str:
        """Return what a quote stands under: title and headings of its page, or the name of its file."""
        page = page_of(self._items[item])
        if heading not in page:
            page = f"{page} > {heading}" if page else heading
        return " ".join((page or nearest_titles([self._items[item]])[0]).split())


def nearest_titles(items: Sequence[RetrievedItem]) -> list[str]:
    """Return titles of the best passages with the names of their files, each page once."""
    pages: dict[str, str] = {}
    for item in items:
        place = describe_source([item]).replace("\\", "/").rpartition("/")[2]
        title = str(item.metadata.get("title") or "")
        pages.setdefault(source_of(item), f"{title} ({place})" if title else place)
    return [" ".join(title.split()) for title in list(pages.values())[:TITLES]]
