"""Why a result is there, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sleuth.types import Explanation

_SIGNALS: Final = {
    "chunks": "its words",
    "path": "its path",
    "title": "its title",
    "prose": "its comments",
}
"""What a reader calls the signals of a file of code."""
_MOST_SIGNALS: Final = 3
_LEAST_STEM: Final = 3
"""Letters that a word of the question and a term have in common at their beginning."""
_word = re.compile(r"\w+")


def sentence_of(explanation: Explanation, query: str) -> str:
    """Return in one sentence which words matched, in which fields, and how close the meaning is; "" if unknown."""
    clauses, factors = [], []
    for part in _all(explanation):
        if "matched" in part.facts:
            clauses.append(_words(part, _word.findall(query)))
        elif part.name == "file":
            signals = [signal for signal in part.parts if signal.value > 0 and signal.name in _SIGNALS]
            names = [_SIGNALS[signal.name] for signal in sorted(signals, key=lambda signal: -signal.value)]
            clauses.append(f"matches in {', '.join(names[:_MOST_SIGNALS])}" if names else "")
        elif part.formula.startswith("cosine of"):
            clauses.append(f"meaning {part.value:.2f}")
        elif part.name == "boost" and "filter" in part.facts:
            factors.append(f"counted {part.facts['factor']:g} times for {part.facts['filter']}")
        elif part.name == "recency":
            factors.append(f"counted {part.facts['factor']:.2g} times for its {part.facts['key']}")
        elif part.name in ("exact", "metadata"):
            clauses.append("the exact text" if part.name == "exact" else "its metadata")
    sentence = "; ".join(dict.fromkeys(filter(None, [*clauses, *factors])))
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def _all(explanation: Explanation) -> Iterator[Explanation]:
    yield explanation
    for part in explanation.parts:
        yield from _all(part)


def _words(part: Explanation, question_words: Sequence[str]) -> str:
    """Say which words of the question matched, as they were asked, and in which fields.

    They are not counted: an index cuts a word into several terms, and leaves out others.
    """
    fields: dict[str, list[str]] = {}
    for term in part.parts:
        field, _, stem = term.name.partition(":")

        def alike(word: str, stem: str = stem) -> int:
            equal = (letter == char for letter, char in zip(word.casefold(), stem, strict=False))
            return len(stem if stem in word.casefold() else [*takewhile(bool, equal)])

        word = max(question_words, key=alike, default=stem)
        fields.setdefault(field.partition("@")[0], []).append(word if alike(word) >= _LEAST_STEM else stem)
    return ", ".join(f"{', '.join(dict.fromkeys(words))} in the {field}" for field, words in fields.items())
