"""Whether two sentences say the same, or give different values of one thing.

Two sentences disagree if their words agree but for one value: an amount, a date, a name, a negation, or the word after
"is". Markup, case, punctuation and the spelling of units do not count, nor do words that many properties have, such as
"limit" and "at most". Sentences with a condition are never compared: they speak of different cases.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import ne
from typing import Final, NamedTuple

from sleuth.answer.words import Analyze, names_of
from sleuth.types import RetrievedItem

_RUN: Final = 5
_VERSION = re.compile(r"[\d.\s]+")
_MONTHS: Final = "january|february|march|april|may|june|july|august|september|october|november|december"
_NUMBERS: Final = {
    "zero": 0, "one": 1, "once": 1, "two": 2, "twice": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "hundred": 100,
}  # fmt: skip
_VALUE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTHS})|(?:{_MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?)\b|"
    rf"[$€£]?(?<![\w.,:-])[-+]?\d+(?:[.,:]\d+)*(?:[ -]?(?:%|[^\W\d_]{{1,12}}\b)|(?![\w-]))|"
    rf"\b(?:{'|'.join(_NUMBERS)})\b(?:[ -][^\W\d_]{{1,12}}\b)?",
    re.IGNORECASE,
)
"""A date, or a number with the word after it."""
_SCALES: Final = {  # in seconds and bytes; an answer that rounds kibibytes to kilobytes says the same
    "second": {
        "ms millisecond": 0.001, "s sec second": 1.0, "min minute": 60.0, "h hr hour": 3600.0, "d day": 86400.0,
        "week": 604800.0,
    },
    "byte": {
        "byte": 1.0, "k kb kib kilobyte": 1e3, "m mb mib meg megabyte": 1e6, "g gb gib gigabyte": 1e9,
        "tb tib terabyte": 1e12,
    },
}  # fmt: skip
"""Spellings of units in singular and lower case, with their worth."""
_UNITS: Final = {
    name: (worth, unit)
    for unit, scale in _SCALES.items()
    for names, worth in scale.items()
    for name in names.split()
}
_NEGATION = re.compile(r"\b(?:not|no|never|none|neither|nor|without|cannot|nothing)\b|n't\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|while|unless|until|otherwise|except|instead|for example|e\.g\.|such as|some|"
    r"before|after|other|another|previous|version|since|used to|formerly|first|next)\b",
    re.IGNORECASE,
)
"""Sentences that hold one of these speak of one case among several."""
_FULL_NAME = re.compile(r"\b[A-Z][\w'-]+(?:\s+[A-Z][\w'-]+)+|(?<![.!?:] )(?<!^)\b[A-Z][\w'-]+")
"""Names of several words, also where a sentence begins, and of one word inside it."""
FRAME: Final = 0.75
"""Share of the words of two sentences that both hold, from which on they say something of one thing."""

_NAME_ASKED = re.compile(r"\b(?:who|whom|whose|where|which)\b", re.IGNORECASE)
_COPULA: Final = frozenset(
    {"is", "are", "was", "were", "be", "as", "on", "in", "under", "by", "at", "to", "with", "run", "runs"}
)
"""Words before a word that may be a value."""
_BOUNDS: Final = {
    word: bound
    for bound, words in {
        "most": "most maximum max limit limited up exceed longer larger more upper",
        "least": "least minimum min fewer shorter smaller lower",
        "default": "default defaults",
    }.items()
    for word in words.split()
}
"""Words of properties that a thing has beside each other: none of these contradicts another one."""
_GENERAL: Final = frozenset(
    """
    size large long length limit maximum minimum most least default value number total allow allowed permitted set take
    takes last lasts hold holds have has be may can must will about exactly only per each every all use uses used time
    times amount count larger than more up to is are was were it this that the a an of for and or by in on at with from
    as""".split()  # noqa: SIM905 - a list would take 80 lines
)
"""Words that many sentences have, whatever they are about."""


class Value(NamedTuple):
    """A number, date or name, and its unit; "" for none."""

    value: str | float
    unit: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence, read for comparison.

    Attributes:
        rest: the text without values, names and negations.
        values: numbers and dates in order.
        names: in lower case.
        is_negated: whether it denies.
        bounds: which of the properties of `_BOUNDS` it speaks of.
        tokens: all its words in lower case.
        is_conditional: whether it speaks of one case among several.
    """

    rest: str
    values: tuple[Value, ...]
    names: frozenset[str]
    is_negated: bool
    bounds: frozenset[str]
    tokens: tuple[str, ...]
    is_conditional: bool
    analyze: Analyze = field(repr=False, compare=False)

    @cached_property
    def words(self) -> frozenset[str]:
        """The terms of the rest, without general words."""
        (terms,) = self.analyze([self.rest])
        return frozenset(terms) - _general_terms(self.analyze)


@lru_cache(maxsize=32)
def _general_terms(analyze: Analyze) -> frozenset[str]:
    """Return the words that say little, and their terms, which are the same for every sentence."""
    return _GENERAL.union(*analyze(list(_GENERAL)))


def read_claim(text: str, analyze: Analyze, language: str = "") -> Claim:
    """Read a sentence for comparison, without its markup.

    Args:
        language: ISO 639-1 code; "" for English.
    """
    plain = re.sub(r"[`*_\"]", "", text)
    valueless = _VALUE.sub(" ", plain)
    tokens = tuple(re.findall(r"\w+", plain.casefold()))
    unnegated_text = _NEGATION.sub(" ", _FULL_NAME.sub(" ", valueless))
    return Claim(
        rest=unnegated_text,
        values=tuple(map(_value, map(str.casefold, _VALUE.findall(plain)))),
        names=frozenset(map(str.casefold, (*_FULL_NAME.findall(valueless), *names_of(valueless, language)))),
        is_negated=_NEGATION.search(plain) is not None,
        bounds=frozenset([_BOUNDS[token] for token in _BOUNDS.keys() & tokens]),
        tokens=tokens,
        is_conditional=_CONDITION.search(text) is not None,
        analyze=analyze,
    )


def _value(text: str) -> Value:
    month = re.search(_MONTHS, text)
    number = re.search(r"\d+(?:[.,:]\d+)*|[a-z]+", text)
    if number is None:
        return Value(text)
    if month is not None:
        return Value(re.sub(r"\D", "", text), month[0])
    digits, unit_text = number[0], text[number.end() :].strip(" -")
    unit = unit_text.removesuffix("s") if len(unit_text) > 3 else unit_text
    plain = re.sub(r",(?=\d{3}\b)", "", digits)
    if digits not in _NUMBERS and not re.fullmatch(r"\d+(?:\.\d+)?", plain):  # a time of day, a version
        return Value(digits, unit)
    amount = float(_NUMBERS.get(digits, plain))
    scale, base = _UNITS.get(unit, (1.0, unit or (text[0] if text[0] in "$€£" else "")))
    return Value(amount * scale, base)


def say_the_same(one: Claim, other: Claim) -> bool:
    """Return whether two sentences of mostly the same words agree in every value, name and negation."""
    return (
        set(one.values) == set(other.values)
        and one.names == other.names
        and one.is_negated == other.is_negated
    )


def disagree(one: Claim, other: Claim, question: str) -> bool:
    """Return whether two sentences give different values of one property of one thing.

    Args:
        question: a name is a value only if it asks for one; else it is a subject.
    """
    if not _are_comparable(one, other):
        return False
    shared, all_words = one.words & other.words, one.words | other.words
    if not shared:
        return False
    alike = len(shared) / len(all_words)
    has_one_frame = alike >= FRAME
    if one.is_negated != other.is_negated:
        return has_one_frame and len(shared) > 1
    if one.values != other.values:
        return has_one_frame or (len(one.values) == 1 and bool(one.values[0].unit) and alike >= 0.5)
    asks_for_name = _NAME_ASKED.search(question) is not None
    return has_one_frame and (
        _differ_in_a_word(one, other) or (asks_for_name and _differ_in_a_name(one, other))
    )


def _are_comparable(one: Claim, other: Claim) -> bool:
    """Return whether two sentences may be of one property, whatever their words: they differ in at most one value."""
    if one.is_conditional or other.is_conditional or len(one.values) != len(other.values):
        return False
    if one.bounds and other.bounds and not one.bounds & other.bounds:
        return False
    differing = [pair for pair in zip(one.values, other.values, strict=True) if ne(*pair)]
    differences = len(differing) + (one.is_negated != other.is_negated)
    if differences == 1 and one.names == other.names:
        return all(mine.unit == theirs.unit for mine, theirs in differing)
    return not differences


def _differ_in_a_name(one: Claim, other: Claim) -> bool:
    mine, theirs = _longest(one.names - other.names), _longest(other.names - one.names)
    return len(mine) == len(theirs) == 1 and len(one.words & other.words) >= 1 and one.words == other.words


def _longest(names: Set[str]) -> list[str]:
    """Return the names that are no part of another one."""
    return [name for name in names if not any(name != rival and name in rival for rival in names)]


def _differ_in_a_word(one: Claim, other: Claim) -> bool:
    """Return whether two sentences of one length differ in one word, which follows "is" or the like."""
    if len(one.tokens) != len(other.tokens) or one.names != other.names:
        return False
    tokens = enumerate(zip(one.tokens, other.tokens, strict=True))
    places = [place for place, (mine, theirs) in tokens if mine != theirs]
    if len(places) != 1 or not places[0]:
        return False
    is_value = one.tokens[places[0] - 1] in _COPULA
    return is_value and len(one.words & other.words) >= 2


@dataclass(frozen=True)
class PagePassage:
    """A passage, read for comparing its page with others.

    Attributes:
        item: the passage.
    """

    item: RetrievedItem

    @cached_property
    def source(self) -> str:
        """The source of its page; "" if it is unknown."""
        return str(self.item.metadata.get("source") or "")

    @cached_property
    def names(self) -> frozenset[str]:
        """Title and file name of its page without the numbers that tell versions apart."""
        file = str(self.item.metadata.get("path") or self.source).replace("\\", "/").rpartition("/")[2]
        title = str(self.item.metadata.get("title") or "")
        return frozenset([_VERSION.sub("", title), _VERSION.sub("", file)]) - {""}

    @cached_property
    def runs(self) -> frozenset[tuple[str, ...]]:
        """Its runs of five words; all its words in one run if there are fewer, none without words."""
        words = re.findall(r"\w+", self.item.text.casefold())
        if len(words) < _RUN:
            return frozenset([tuple(words)] if words else ())
        return frozenset(zip(*[words[i:] for i in range(_RUN)], strict=False))


def are_versions(one: PagePassage, other: PagePassage) -> bool:
    """Return whether two passages are of one page, of copies of it, or of two versions of it."""
    if one.source and one.source == other.source:
        return True
    if not one.names & other.names:
        return False
    return len(one.runs & other.runs) >= 0.3 * min(len(one.runs), len(other.runs))
