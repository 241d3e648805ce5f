"""Whether two documents give different values of one thing.

Two units disagree if they give one number each of the same unit, the numbers differ, and all else agrees: their other
words mostly, or the words of the question that both hold. Markup, case and punctuation do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from sleuth.answer.context import time_of
from sleuth.answer.quotes import Candidate
from sleuth.answer.words import WORD, Analyze
from sleuth.types import RetrievedItem

_VALUE: Final = re.compile(
    r"(?<![\w.,:/-])([$€£]?)(\d++(?>(?:[.,:]\d++)*))(?![\w/-]*\d)[ -]?(%|[^\W\d_]{1,12}+)?"
)
"""A number, with the sign before it or the word after it."""

FRAME: Final = 0.75
"""Share of the other words of two units that both hold, from which on they speak of one thing."""
ASKED: Final = 2
"""Words of the question that two units hold, and no others, from which on they speak of one thing."""
RIVAL: Final = 0.5
"""Of the best unit's score that a unit needs to disagree with it."""


class Claim(NamedTuple):
    """A unit, read for comparison.

    Attributes:
        values: numbers, each with its unit in singular, in order.
        words: the terms of the rest.
        names: words inside it that begin with a capital.
    """

    values: tuple[tuple[str, str], ...]
    words: frozenset[str]
    names: frozenset[str]


def read_claim(text: str, analyze: Analyze) -> Claim:
    """Read a unit for comparison."""
    plain = text.replace("`", "").replace("*", "")
    values = [
        (number.replace(",", ""), unit.casefold().removesuffix("s") or sign)
        for sign, number, unit in _VALUE.findall(plain)
    ]
    wording = _VALUE.sub(" ", plain)
    (words,) = analyze([wording])
    names = frozenset(word for word in WORD.findall(wording)[1:] if word[0].isupper())
    return Claim(tuple(values), frozenset(words), names)


def disagree(one: Claim, other: Claim, *, is_same_question: bool = False) -> bool:
    """Return whether two units give different values of one thing.

    Args:
        is_same_question: whether both hold the same words of the question.
    """
    if len(one.values) != len(other.values) or one.names != other.names:
        return False
    pairs = zip(one.values, other.values, strict=True)
    units = [(mine, theirs) for (number, mine), (rival, theirs) in pairs if (number, mine) != (rival, theirs)]
    if len(units) != 1 or len(set(*units)) != 1:
        return False
    shared, all_words = one.words & other.words, one.words | other.words
    if all_words and len(shared) >= FRAME * len(all_words):
        return True
    has_unit = len(one.values) == 1 and any(*units)
    return has_unit and is_same_question and 3 * len(shared) >= len(all_words)


def rivals_of(
    question: str,
    best: Candidate,
    candidates: Sequence[Candidate],
    items: Sequence[RetrievedItem],
    analyze: Analyze,
) -> list[Candidate]:
    """Return the units of other documents that give another value of what the best unit says, one for each document.

    A number of the question, or of the name of a document, is a subject and no value: "base 64".
    """
    claim = read_claim(best.unit.text, analyze)
    rivals: dict[str, Candidate] = {source_of(items[best.item]): best}
    for candidate in candidates if claim.values else ():
        source = source_of(items[candidate.item])
        if source in rivals or candidate.score < RIVAL * best.score:
            continue
        candidate_claim = read_claim(candidate.unit.text, analyze)
        subjects = set(
            _numbers_of(" ".join([question, *map(_name_of, (source, source_of(items[best.item])))]))
        )
        is_same = candidate.held == best.held and len(best.held) >= ASKED
        if disagree(claim, candidate_claim, is_same_question=is_same) and subjects.isdisjoint(
            number for number, _ in {*claim.values} ^ {*candidate_claim.values}
        ):
            rivals[source] = candidate
    return list(rivals.values())[1:]


def _numbers_of(text: str) -> list[str]:
    return re.findall(r"\d+", text)


def _name_of(source: str) -> str:
    return source.replace("\\", "/").rpartition("/")[2]


def source_of(item: RetrievedItem) -> str:
    """Return the document of a passage."""
    return str(item.metadata.get("source") or item.metadata.get("path") or item.id.partition("#")[0])


def date_of(item: RetrievedItem) -> str:
    """Return the year that the name or the title of a document holds, else the day of its last change, or ""."""
    for text in (_name_of(source_of(item)), str(item.metadata.get("title") or "")):
        years = [number for number in _numbers_of(text) if len(number) == 4 and "1900" <= number <= "2100"]
        if years:
            return years[-1]
    time = time_of(item.metadata)
    return "" if time is None else time.date().isoformat()
