"""Chooses what to quote of passages: the unit that fits a question best, with the lines around it, and what disagrees.

Two units disagree if they give one number each of the same unit, the numbers differ, and all else agrees: their other
words mostly, or the words of the question that both hold. Markup, case and punctuation do not count.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final, NamedTuple

from sleuth.answer.context import time_of
from sleuth.answer.units import FENCES, Unit
from sleuth.answer.words import WORD, Analyze, in_words, page_of
from sleuth.protocols import Embedder
from sleuth.text.snippets import is_border
from sleuth.types import RetrievedItem

LINES: Final = 5
"""Lines of a quote, at most."""
WIDTH: Final = 100
"""Characters of a line; a longer one counts as several."""
READ: Final = 5
"""Passages, best first, that are read for the best unit. Three and ten answered fewer of the questions of
docs/measured/answers.md."""

K1: Final = 1.2  # how soon more of one term adds little
B: Final = 0.75
"""BM25's, over the units of the passages (Robertson and Zaragoza, 2009)."""
ABOVE: Final = 0.42
"""What a word of the question counts, in its idf, that only the headings above a unit hold. From .3 to .6 the same."""
PASSAGE: Final = 1.2
"""What the rank of the first passage is worth beside that of the last one, in scores of the best unit. With .8 and 2
fewer questions were answered."""
MEANING: Final = 0.5
"""What a cosine of 1 with the question is worth, in scores of the best unit. With 1 the same."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit of a passage as an answer to a question.

    Attributes:
        item: its passage, by place in the ranking, from 0.
        place: of the unit among those of its passage.
        unit: what it says.
        score: higher is better.
        held: terms of the question that it and the headings above it hold.
    """

    item: int
    place: int
    unit: Unit
    score: float
    held: frozenset[str]


@dataclass(frozen=True, slots=True)
class Quote:
    """The lines around the best unit of a passage.

    Attributes:
        lines: as they are shown: at most `LINES` and the fences of code, the best unit between two stars each side.
        heading: above them in the passage.
        text: the same without stars and code.
    """

    lines: tuple[str, ...] = ()
    heading: str = ""
    text: str = ""


def score_units(
    question: str,
    items: Sequence[RetrievedItem],
    units: Sequence[Sequence[Unit]],
    *,
    analyze: Analyze,
    embedder: Embedder | None = None,
) -> list[Candidate]:
    """Return the units of passages that may answer, best first; equal ones in their order.

    The score of a unit is BM25 over all units, with what the rank of the passage and the cosine are worth.

    Args:
        items: passages, best first.
        units: those of each passage.
        analyze: text to terms; the analyzer that the passages were found with is best.
        embedder: compares units with the question. It embeds every unit, so use a local one.
    """
    candidates = [
        Candidate(item, place, unit, 0.0, frozenset())
        for item, units_of_item in enumerate(units)
        for place, unit in enumerate(units_of_item)
        if unit.is_answer
    ]
    texts = [in_words(entry.unit.scored, items[entry.item]) for entry in candidates]
    pages = [in_words(page_of(item), item) for item in items]
    headings = [f"{pages[entry.item]} {entry.unit.heading} {entry.unit.owner}" for entry in candidates]
    asked, *bags = analyze([question, *texts, *headings])
    terms, above = bags[: len(texts)], bags[len(texts) :]
    numbers = [word for word in WORD.findall(question) if word.isdigit() and word not in asked]
    for bag, text in zip(terms, texts, strict=True) if numbers else ():
        bag += [word for word in WORD.findall(text) if word in numbers]  # an analyzer leaves out short ones
    words = score_words([*asked, *numbers], terms, above)
    best = max(words, default=0.0) or 1.0
    meaning = cosines(embedder, question, texts)
    scored = [
        replace(
            candidate,
            score=words[i] / best + PASSAGE * (1 - candidate.item / len(items)) + MEANING * meaning[i],
            held=frozenset(asked) & {*terms[i], *above[i]},
        )
        for i, candidate in enumerate(candidates)
    ]
    return sorted(scored, key=attrgetter("score"), reverse=True)


def score_words(
    asked: Sequence[str], terms: Sequence[Sequence[str]], above: Sequence[Sequence[str]]
) -> list[float]:
    """Return BM25 of each unit over all of them, with what the words above it are worth.

    Args:
        asked: terms of the question.
        terms: of each unit.
        above: terms of the headings over each unit.
    """
    df: Counter[str] = Counter()
    for unit_terms in terms:
        df.update({*asked}.intersection(unit_terms))
    idf = {term: math.log(1 + (len(terms) - df[term] + 0.5) / (df[term] + 0.5)) for term in sorted({*asked})}
    mean = (sum(map(len, terms)) / len(terms) if terms else 0.0) or 1.0
    scores = []
    for unit_terms, over in zip(terms, above, strict=True):
        norm = K1 * (1 - B + B * len(unit_terms) / mean)
        counts, score = Counter(unit_terms), 0.0
        for term, weight in idf.items():
            if count := counts[term]:
                score += weight * (K1 + 1) * count / (count + norm)
            elif term in over:
                score += ABOVE * weight
        scores.append(score)
    return scores


def cosines(embedder: Embedder | None, question: str, texts: Sequence[str]) -> list[float]:
    """Cosine of each text's vector with the question's, -1 to 1; 0 for an empty text or without an embedder."""
    from sleuth.vectors import unit_query, unit_vectors

    if embedder is None or not texts:
        return [0.0] * len(texts)
    values: list[float] = (unit_vectors(embedder, list(texts)) @ unit_query(embedder, question)).tolist()
    return values


def weight_share(terms: Iterable[str], weights: Mapping[str, float]) -> float:
    """Return the share of the weight of a question's terms that some of them have; 0 if it has no terms."""
    total = sum(weights.values())
    return sum(map(weights.__getitem__, sorted(weights.keys() & set(terms)))) / total if total else 0.0


def best_of(candidates: Sequence[Candidate], weights: Mapping[str, float]) -> Candidate | None:
    """Return the best unit that holds no less of the question than the best one of the first passage.

    Args:
        candidates: best first.
        weights: of the question's terms.
    """
    first = next((candidate for candidate in candidates if not candidate.item), None)
    floor = weight_share(first.held, weights) if first else 0.0
    # Sums of floats may differ in the last digit.
    return next((entry for entry in candidates if weight_share(entry.held, weights) >= floor - 1e-9), None)


def quote_of(passage: RetrievedItem, units: Sequence[Unit], place: int) -> Quote:
    """Return a unit of a passage with one above it, those below and more above, under its heading, while they fit.

    Args:
        units: those of the passage. One without units is quoted by its first words.
        place: of the unit.
    """
    units = units or [Unit(" ".join(passage.text[: LINES * WIDTH].split()), is_answer=False)]
    first, stop = place, place + 1
    has_grown = True
    while has_grown:
        has_grown = False
        above, below = (first - 1, stop), (first, stop + 1)
        for start, end in (above, below) if first == place else (below, above):
            is_near = (
                start >= 0 and end <= len(units) and len({unit.heading for unit in units[start:end]}) == 1
            )
            if is_near and sum(map(_height, _written(units[start:end], place - start))) <= LINES:
                first, stop, has_grown = start, end, True
                break
    lines = _cut(_written(units[first:stop], place - first))
    text = " ".join(unit.text for unit in units[first:stop] if unit.text)
    return Quote(tuple(lines), units[place].heading, text)


def _written(units: Sequence[Unit], best: int) -> list[str]:
    """Return units as lines: sentences of a paragraph in one, each item and row in its own, the best one in stars."""
    lines: list[str] = []
    unit_before: Unit | None = None
    for place, unit in enumerate(units):
        text = shortened(unit.text, LINES * WIDTH)
        text = f"**{text}**" if place == best and text and unit.is_answer else text
        goes_on = unit_before is not None and unit_before.paragraph == unit.paragraph and not unit_before.code
        if unit.kind in ("item", "row"):
            lines.append(f"- {text}")
        elif goes_on and lines and unit_before is not None and unit_before.kind != "row":
            lines[-1] = f"{lines[-1]} {text}"
        elif text:
            is_below_list = bool(lines) and lines[-1].startswith("- ")
            lines += ["", text] if is_below_list else [text]
        if unit.code:
            lines += [FENCES[0], *(shortened(line or " ", LINES * WIDTH) for line in unit.code), FENCES[0]]
        unit_before = unit
    return lines


def _height(line: str) -> int:
    return 0 if line == FENCES[0] else math.ceil(len(line) / WIDTH)


def _cut(lines: Sequence[str]) -> list[str]:
    """Return the lines that fit; code that goes on ends with dots."""
    room, shown = LINES, list[str]()
    for line in lines:
        room -= _height(line)
        if room < 0:
            return [*shown, "…", FENCES[0]] if shown.count(FENCES[0]) % 2 else shown or [line]
        shown.append(line)
    return shown


def shortened(text: str, width: int) -> str:
    """Return the first words of a text that fit, with dots where it goes on; a word of half the width is cut."""
    if len(text) <= width:
        return text
    end = next((end for end in range(width, width // 2, -1) if is_border(text, end)), width)
    return f"{text[:end].rstrip()} …"


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


def read_claims(texts: Sequence[str], analyze: Analyze) -> list[Claim]:
    """Read units for comparison."""
    plain = [text.replace("`", "").replace("*", "") for text in texts]
    wordings = [_VALUE.sub(" ", text) for text in plain]
    claims = []
    for text, wording, words in zip(plain, wordings, analyze(wordings), strict=True):
        values = [
            (number.replace(",", ""), unit.casefold().removesuffix("s") or sign)
            for sign, number, unit in _VALUE.findall(text)
        ]
        names = frozenset(word for word in WORD.findall(wording)[1:] if word[0].isupper())
        claims.append(Claim(tuple(values), frozenset(words), names))
    return claims


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
    contenders = [entry for entry in candidates if entry.score >= RIVAL * best.score]
    claim, *claims = read_claims([entry.unit.text for entry in (best, *contenders)], analyze)
    rivals: dict[str, Candidate] = {source_of(items[best.item]): best}
    for candidate, other_claim in zip(contenders, claims, strict=True) if claim.values else ():
        source = source_of(items[candidate.item])
        names = map(_name_of, (source, source_of(items[best.item])))
        subjects = set(re.findall(r"\d+", " ".join([question, *names])))
        is_same = candidate.held == best.held and len(best.held) >= ASKED
        is_rival = source not in rivals and disagree(claim, other_claim, is_same_question=is_same)
        if is_rival and subjects.isdisjoint(number for number, _ in {*claim.values} ^ {*other_claim.values}):
            rivals[source] = candidate
    return list(rivals.values())[1:]


def _name_of(source: str) -> str:
    return source.replace("\\", "/").rpartition("/")[2]


def source_of(item: RetrievedItem) -> str:
    """Return the document of a passage."""
    return str(item.metadata.get("source") or item.metadata.get("path") or item.id.partition("#")[0])


def date_of(item: RetrievedItem) -> str:
    """Return the year that the name or the title of a document holds, else the day of its last change, or ""."""
    for text in (_name_of(source_of(item)), str(item.metadata.get("title") or "")):
        numbers: list[str] = re.findall(r"\d+", text)
        years = [number for number in numbers if len(number) == 4 and "1900" <= number <= "2100"]
        if years:
            return years[-1]
    time = time_of(item.metadata)
    return "" if time is None else time.date().isoformat()
