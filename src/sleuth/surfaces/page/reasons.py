"""Why a result is there: one sentence, and the figures below it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sleuth.types import Explanation

_SIGNALS: Final = {
    "chunks": "its words",
    "path": "its path",
    "title": "its title",
    "prose": "its comments",
    "folder": "its folder",
    "symbols": "its symbols",
}
"""What a reader calls the signals of a file of code."""
_MOST_SIGNALS: Final = 3
_LEAST_STEM: Final = 3
"""Letters that a word of the question and a term have in common at their beginning."""
_word = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of why a hit has its score, as text.

    Attributes:
        facts: names and values, in one line: a template that writes each takes as long as the search.
    """

    name: str
    value: str
    formula: str
    facts: str
    parts: list[Reason]


def reason_of(explanation: Explanation) -> Reason:
    """Return an explanation as text."""
    facts = (
        f"{name}\N{NO-BREAK SPACE}{f'{value:.4g}' if isinstance(value, int | float) else value}"
        for name, value in explanation.facts.items()
    )
    return Reason(
        explanation.name,
        f"{explanation.value:.4g}",
        explanation.formula,
        ", ".join(facts),
        [reason_of(part) for part in explanation.parts],
    )


def sentence_of(explanation: Explanation, query: str) -> str:
    """Return in one sentence which words matched, in which fields, and how close the meaning is; "" if unknown."""
    clauses, factors = [], []
    parts = list(_all(explanation))
    for part in parts:
        if "matched" in part.facts:
            clauses.append(_words(part, _word.findall(query)))
        elif part.name == "file":
            clauses.append(_signals(part))
        elif part.formula.startswith("cosine of"):
            clauses.append(f"meaning {part.value:.2f}")
        elif part.name == "boost" and "filter" in part.facts:
            factors.append(f"counted {part.facts['factor']:g} times for {part.facts['filter']}")
        elif part.name == "recency":
            factors.append(f"counted {part.facts['factor']:.2g} times for its {part.facts['key']}")
        elif part.name == "exact":
            clauses.append("the exact text")
        elif part.name == "metadata":
            clauses.append("its metadata")
    sentence = "; ".join(dict.fromkeys(filter(None, [*clauses, *factors])))
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def _all(explanation: Explanation) -> Iterator[Explanation]:
    yield explanation
    for part in explanation.parts:
        yield from _all(part)


def _words(part: Explanation, question_words: Sequence[str]) -> str:
    """Say how many words of the question matched, and in which fields.

    Args:
        question_words: those of the question, as they were asked.
    """
    total, n_matches = int(part.facts.get("terms", 0)), int(part.facts["matched"])
    if not n_matches:
        return "no word of the question"
    fields: dict[str, list[str]] = {}
    for term in part.parts:
        field, _, stem = term.name.partition(":")
        fields.setdefault(field.partition("@")[0], []).append(_as_asked(stem, question_words))
    places = ", ".join(f"{', '.join(dict.fromkeys(words))} in the {field}" for field, words in fields.items())
    if n_matches < total:
        count = f"{n_matches} of {total} words"
    else:
        count = "the word" if total == 1 else "both words" if total == 2 else f"all {total} words"
    return f"{count}: {places}" if places else count


def _as_asked(stem: str, question_words: Sequence[str]) -> str:
    """Return the word of the question that a term of the index stands for; the term itself if none resembles it."""
    lengths = {word: _letters_alike(word.casefold(), stem) for word in question_words}
    for word in sorted(lengths, key=lambda word: -lengths[word]):
        if stem in word.casefold() or lengths[word] >= _LEAST_STEM:
            return word
    return stem


def _letters_alike(word: str, stem: str) -> int:
    """Return how many letters of two words are the same from their beginning on."""
    pairs = enumerate(zip(word, stem, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(word), len(stem)))


def _signals(part: Explanation) -> str:
    """Name the parts of a file of code that ranked it, the strongest first."""
    strongest = sorted((each for each in part.parts if each.value > 0), key=lambda each: -each.value)
    names = [_SIGNALS[each.name] for each in strongest if each.name in _SIGNALS]
    return f"matches in {', '.join(names[:_MOST_SIGNALS])}" if names else ""
