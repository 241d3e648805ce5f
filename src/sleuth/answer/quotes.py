"""Chooses what to quote: the best parts of passages, each with the sentences around it that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sleuth.answer.agreement import Claim, PagePassage, are_versions, disagree, read_claim, say_the_same
from sleuth.answer.context import place_of
from sleuth.answer.extract import REFERS, Sentence, parts_of
from sleuth.answer.parts import Part
from sleuth.answer.questions import question_type
from sleuth.answer.words import Analyze, plain_words
from sleuth.types import RetrievedItem

SHARE = 0.7
"""Of the best part's score that a further part needs to be quoted. On the questions about Python's reference, no answer
is lost from .6 to .9, and quotes get an eighth shorter at .7.
"""

CONFLICT = 0.2
"""Of the best part's score that a part needs to contradict a quote."""

SENTENCES = 3
"""Sentences of a quote, at most."""

LENGTH = 400
"""Characters from which on a quote takes no further sentence."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A chosen part, with the sentences around it.

    Attributes:
        sentence: the part that fits best.
        text: the part with the sentences around it that belong to it.
        agreeing: parts of other passages that say the same, down to every number, negation and name.
        differing: parts that give another value of the same thing.
    """

    sentence: Sentence
    text: str
    agreeing: tuple[Sentence, ...] = ()
    differing: tuple[Sentence, ...] = ()


def choose(
    question: str,
    sentences: Sequence[Sentence],
    items: Sequence[RetrievedItem],
    count: int,
    *,
    analyze: Analyze = plain_words,
) -> list[Quote]:
    """Return up to `count` of the best parts as quotes; a part that repeats or contradicts a better one joins it.

    Quotes are best first; for a definition, those that open their page come first.

    Args:
        sentences: best first. Those below `SHARE` of the best score, or with fewer than half as many of the question's
            words as the best one has, are not quoted.
        items: the passages of the sentences.
    """
    best = sentences[0].score if sentences else 0.0
    fewest = len(sentences[0].matches) / 2 if sentences else 0.0
    pages = [PagePassage(item) for item in items]
    selection: list[Quote] = []
    heads: list[_Comparable] = []
    for sentence in sentences:
        part = _Comparable(sentence, pages[sentence.item], analyze)
        is_strong = sentence.score >= CONFLICT * best
        for place, (quote, first) in enumerate(zip(selection, heads, strict=True)):
            union = _joined(question, quote, first, part, is_strong=is_strong)
            if union is not None:
                selection[place] = union
                break
        else:
            if len(selection) < count and sentence.score >= SHARE * best and len(sentence.matches) >= fewest:
                quote = Quote(sentence, _widened(sentence, items[sentence.item]))
                if not _extends(selection, quote):
                    selection.append(quote)
                    heads.append(part)
    if question_type(question) == "definition":
        selection.sort(key=lambda quote: not _opens_page(quote.sentence, items[quote.sentence.item]))
    return selection


def _extends(selection: list[Quote], quote: Quote) -> bool:
    """Return whether a quote holds a chosen sentence of its passage, and has given that quote its text."""
    for place, earlier_quote in enumerate(selection):
        if earlier_quote.sentence.item == quote.sentence.item and earlier_quote.sentence.text in quote.text:
            selection[place] = replace(earlier_quote, text=quote.text)
            return True
    return False


@dataclass(frozen=True)
class _Comparable:
    """A part, and what comparing it with others takes, read once.

    Attributes:
        page: its passage.
    """

    sentence: Sentence
    page: PagePassage
    analyze: Analyze

    @cached_property
    def text(self) -> str:
        return self.sentence.text

    @cached_property
    def terms(self) -> frozenset[str]:
        if self.sentence.part.kind != "code":
            return self.sentence.terms
        (terms,) = self.analyze([self.text])
        return frozenset(terms)

    @cached_property
    def claim(self) -> Claim:
        return read_claim(self.text, self.analyze, self.sentence.language)


def _joined(
    question: str, quote: Quote, first: _Comparable, part: _Comparable, *, is_strong: bool
) -> Quote | None:
    """Return a quote with a part that says the same or contradicts it; None if the part is about something else.

    What overlaps in one passage is dropped.

    Args:
        first: the part that is quoted.
        is_strong: whether the part fits the question well enough to contradict.
    """
    sentence = part.sentence
    is_within, is_near = part.text in quote.text, sentence.item == first.sentence.item
    if is_within and not is_near:  # another page holds the same sentence
        return replace(quote, agreeing=(*quote.agreeing, sentence))
    repeats = len(part.terms & first.terms) > 0.7 * min(len(part.terms), len(first.terms))
    if is_near:
        return quote if repeats or is_within else None
    if repeats and say_the_same(first.claim, part.claim):
        return replace(quote, agreeing=(*quote.agreeing, sentence))
    if is_strong and _may_disagree(first, part) and disagree(first.claim, part.claim, question):
        return replace(quote, differing=(*quote.differing, sentence))
    return None


def _may_disagree(one: _Comparable, other: _Comparable) -> bool:
    """Return whether two parts are about the same, as far as the question and their pages say."""
    first, second = one.sentence, other.sentence
    if "definition" in (first.part.kind, second.part.kind):  # two definitions of one name are two things
        return False
    shares = 2 * len(first.matches & second.matches) >= max(len(first.matches), 1)
    return shares and not are_versions(one.page, other.page)


def opening(items: Sequence[RetrievedItem]) -> list[Quote]:
    """Return the first sentences of the best passage as a quote."""
    parts = parts_of(items[0]) if items else ()
    sentences = [Sentence(0, part, 0.0, frozenset(), frozenset(), parts) for part in parts[:1]]
    return [Quote(sentence, _widened(sentence, items[0])) for sentence in sentences]


def _opens_page(sentence: Sentence, item: RetrievedItem) -> bool:
    """Return whether a sentence is the first of its page, which says what the page is about."""
    place = place_of(item)
    if place is not None and place.number:
        return False
    return sentence.parts[0].start == sentence.part.start and sentence.part.kind == "sentence"


def _widened(sentence: Sentence, item: RetrievedItem) -> str:
    """Return a part with the sentence before it, if it refers to that, and with those after it in its paragraph."""
    if sentence.part.kind not in ("sentence", "list"):
        return sentence.text
    parts = sentence.parts
    place = next((i for i, part in enumerate(parts) if part.start == sentence.part.start), None)
    if place is None:
        return sentence.text
    texts = [sentence.text]
    if place and REFERS.match(sentence.text) and _are_together(parts[place - 1], parts[place], item.text):
        texts.insert(0, parts[place - 1].text)
    for part_before, part in zip(parts[place:], parts[place + 1 :], strict=False):
        room = LENGTH - sum(map(len, texts)) - len(part.text)
        if len(texts) == SENTENCES or room < 0 or not _are_together(part_before, part, item.text):
            break
        texts.append(part.text)
    return " ".join(texts)


def _are_together(part: Part, after: Part, text: str) -> bool:
    """Return whether two parts are sentences of one paragraph, or of the description of one term."""
    return (
        part.kind == after.kind == "sentence"
        and part.heading == after.heading
        and not text[part.end : after.start].strip()
    )
