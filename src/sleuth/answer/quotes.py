"""Chooses what to quote: the best parts of passages, each with the sentences around it that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sleuth.answer.agreement import are_versions, disagree, read_claim, say_the_same
from sleuth.answer.context import place_of
from sleuth.answer.extract import REFERS, Sentence, parts_of
from sleuth.answer.parts import Part
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
    """Return up to `count` of the best parts as quotes; a part that repeats a better one joins it.

    Args:
        sentences: best first. Those below `SHARE` of the best score, or with less than half as many words of the
            question, are not quoted.
        items: the passages of the sentences.
    """
    best = sentences[0].score if sentences else 0.0
    fewest = len(sentences[0].matches) / 2 if sentences else 0.0
    chosen: list[Quote] = []
    for sentence in sentences:
        for place, quote in enumerate(chosen):
            joined = _joined(
                question, quote, sentence, items, analyze, is_strong=sentence.score >= CONFLICT * best
            )
            if joined is not None:
                chosen[place] = joined
                break
        else:
            if len(chosen) < count and sentence.score >= SHARE * best and len(sentence.matches) >= fewest:
                _add(chosen, Quote(sentence, _widened(sentence, items[sentence.item])))
    return sorted(chosen, key=lambda quote: not _opens_page(quote.sentence, items[quote.sentence.item]))


def _add(chosen: list[Quote], quote: Quote) -> None:
    """Add a quote; one that holds a chosen sentence of its passage takes the place of its text instead."""
    for place, other in enumerate(chosen):
        if other.sentence.item == quote.sentence.item and other.sentence.text in quote.text:
            chosen[place] = replace(other, text=quote.text)
            return
    chosen.append(quote)


def _joined(
    question: str,
    quote: Quote,
    sentence: Sentence,
    items: Sequence[RetrievedItem],
    analyze: Analyze,
    *,
    is_strong: bool,
) -> Quote | None:
    """Return a quote with a part that says the same or contradicts it; None if the part is about something else.

    What overlaps in one passage is dropped.

    Args:
        is_strong: whether the part fits the question well enough to contradict.
    """
    first = quote.sentence
    if sentence.text in quote.text and sentence.item != first.item:  # another page holds the same sentence
        return replace(quote, agreeing=(*quote.agreeing, sentence))
    repeats = _is_repeat(frozenset(analyze(sentence.text)), frozenset(analyze(first.text)))
    if sentence.item == first.item:
        return quote if repeats or sentence.text in quote.text else None
    mine, theirs = (read_claim(each.text, analyze, each.language) for each in (first, sentence))
    if repeats and say_the_same(mine, theirs):
        return replace(quote, agreeing=(*quote.agreeing, sentence))
    if (
        is_strong
        and _may_disagree(first, sentence, items)
        and disagree(mine, theirs, first.text, sentence.text, question)
    ):
        return replace(quote, differing=(*quote.differing, sentence))
    return None


def _may_disagree(one: Sentence, other: Sentence, items: Sequence[RetrievedItem]) -> bool:
    """Return whether two parts are about the same, as far as the question and their pages say."""
    if "definition" in (one.part.kind, other.part.kind):  # two definitions of one name are two things
        return False
    shares = 2 * len(one.matches & other.matches) >= max(len(one.matches), 1)
    return shares and not are_versions(items[one.item], items[other.item])


def _is_repeat(own: frozenset[str], other: frozenset[str]) -> bool:
    return len(own & other) > 0.7 * min(len(own), len(other))


def opening(items: Sequence[RetrievedItem]) -> list[Quote]:
    """Return the first sentences of the best passage as a quote."""
    parts = parts_of(items[0])[:1] if items else []
    sentences = [Sentence(0, part, 0.0, frozenset()) for part in parts]
    return [Quote(sentence, _widened(sentence, items[0])) for sentence in sentences]


def _opens_page(sentence: Sentence, item: RetrievedItem) -> bool:
    """Return whether a sentence is the first of its page, which says what the page is about."""
    place = place_of(item)
    if place is not None and place.number:
        return False
    parts = parts_of(item)
    return bool(parts) and parts[0].start == sentence.part.start and sentence.part.kind == "sentence"


def _widened(sentence: Sentence, item: RetrievedItem) -> str:
    """Return a part with the sentence before it, if it refers to that, and with those after it in its paragraph."""
    if sentence.part.kind not in ("sentence", "list"):
        return sentence.text
    parts = parts_of(item)
    place = next((i for i, part in enumerate(parts) if part.start == sentence.part.start), None)
    if place is None:
        return sentence.text
    texts = [sentence.text]
    if place and REFERS.match(sentence.text) and _are_together(parts[place - 1], parts[place], item.text):
        texts.insert(0, parts[place - 1].text)
    for before, part in zip(parts[place:], parts[place + 1 :], strict=False):
        room = LENGTH - sum(map(len, texts)) - len(part.text)
        if len(texts) == SENTENCES or room < 0 or not _are_together(before, part, item.text):
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
