"""Citations of an answer, and whether the cited passages say so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from sleuth.answer.context import Passage
from sleuth.text.borders import split_sentences

_NUMBER: Final = r"(?:\^|(?i:source|passage)s?\s++)?\d{1,3}+"
_CITED: Final = re.compile(
    rf"(?<!\s)\s*+([\[【]\s*+({_NUMBER}(?>(?:\s*+(?:,|;|-|–|and|\^)\s*+{_NUMBER})*))\s*+(?:†[^\]】]{{0,80}}+)?[\]】])"
)
_SPAN: Final = re.compile(r"(\d++)(?:\s*+[-–]\D*+(\d+))?")
_AFTER: Final = re.compile(rf"(?<![.!?。！？])([.!?。！？]++[\"')\]”’»*_]*+)((?>(?:{_CITED.pattern})+))")
"""Citations behind the full stop of the sentence that they belong to."""
_WORD: Final = re.compile(r"\d+(?:[.,]\d+)*|[\u3400-\u9fff]|[^\W\d_\u3040-\u309f\u3400-\u9fff]{4,}")
"""A number, a word of four letters, or a Chinese character: texts with these have no spaces between words."""
_RANGE: Final = 50
"""Numbers of a range such as [4-6], at most."""

SUPPORTED = 0.5
"""Share of a statement's numbers and longer words that a cited passage must hold to support it."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A statement and a passage that it cites.

    Attributes:
        number: the passage's.
        ids: the retrieved items that the passage was made of.
        statement: the sentence, without its citations.
        support: share of the statement's numbers and longer words that the passage holds, 0 to 1. A low value
            is a reason to look, not proof of an error: a passage may say it in other words.
    """

    number: int
    ids: tuple[str, ...]
    statement: str
    support: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return {**asdict(self), "ids": list(self.ids), "support": round(self.support, 3)}


@dataclass(frozen=True, slots=True)
class CitationReport:
    """What an answer cites.

    Attributes:
        citations: in order of the answer.
        unknown: numbers that it cites and no passage has.
        uncited: sentences that cite no passage.
    """

    citations: tuple[Citation, ...] = ()
    unknown: tuple[int, ...] = ()
    uncited: tuple[str, ...] = ()

    @property
    def unsupported(self) -> tuple[str, ...]:
        """Sentences that cite no passage, or only ones that hold less than half of their numbers and longer words."""
        best: dict[str, float] = {}
        for citation in self.citations:
            best[citation.statement] = max(best.get(citation.statement, 0.0), citation.support)
        return (*(text for text, support in best.items() if support < SUPPORTED), *self.uncited)

    @property
    def used_ids(self) -> list[str]:
        """Ids of the cited items, in order of first use."""
        return list(dict.fromkeys(id for citation in self.citations for id in citation.ids))


class CitationMark(NamedTuple):
    """A citation as it is written: the characters from `start` to `end` of a text, and the numbers that they cite."""

    start: int
    end: int
    numbers: list[int]


def citation_marks(text: str, *, is_quoted: bool = False) -> list[CitationMark]:
    """Return the citations in `text`, such as [1], [2, 3], [4-6], [^7], 【8†source】 and [Source 9], in order;
    code is ignored.

    Args:
        is_quoted: passages are quoted, so only the end of a line outside of `>` cites; other marks are theirs.
    """
    marks: list[CitationMark] = []
    for match in _CITED.finditer(_without_code(text)):
        numbers: list[int] = []
        for low, high in _SPAN.findall(match[2]):
            numbers += range(int(low), min(int(high or low), int(low) + _RANGE) + 1)
        start, end = match.span(1)
        is_last = text[end : end + 1] in ("", "\n") and text[text.rfind("\n", 0, start) + 1] != ">"
        if is_last or not is_quoted:
            marks.append(CitationMark(start, end, numbers))
    return marks


def _without_code(text: str) -> str:
    """Return a text with spaces in place of code in backticks; a fence that nothing closes is code."""
    pieces = text.split("```")
    for i, piece in enumerate(pieces):
        spans = piece.split("`")
        for j in range(1, len(spans) - 1, 2):
            spans[j] = spans[j] if "\n" in spans[j] else " " * len(spans[j])
        pieces[i] = " " * len(piece) if i % 2 else " ".join(spans)
    return "   ".join(pieces)


def check_citations(answer: str, passages: Sequence[Passage]) -> CitationReport:
    """Match every citation of `answer` with the passages it had."""
    by_number = {passage.number: passage for passage in passages}
    citations: list[Citation] = []
    unknown: list[int] = []
    uncited: list[str] = []
    text = _AFTER.sub(r"\2\1", _without_code(answer))
    for start, end in split_sentences(text):
        sentence = text[start:end]
        numbers = dict.fromkeys(number for mark in citation_marks(sentence) for number in mark.numbers)
        statement = " ".join(_CITED.sub("", sentence).split())
        cited = [by_number[number] for number in numbers if number in by_number]
        unknown += [number for number in numbers if number not in by_number]
        citations += [
            Citation(passage.number, passage.ids, statement, support(statement, passage.text))
            for passage in cited
        ]
        if not cited and _WORD.search(statement):
            uncited.append(statement)
    return CitationReport(tuple(citations), tuple(dict.fromkeys(unknown)), tuple(uncited))


def support(statement: str, passage: str) -> float:
    """Share of the numbers and longer words of a statement that a passage holds; 1 without such words."""
    words = {word.casefold() for word in _WORD.findall(statement)}
    passage_words = {word.casefold() for word in _WORD.findall(passage)}
    stems = {word[:5] for word in passage_words if not word[0].isdigit()}
    matches = sum(word in passage_words or (not word[0].isdigit() and word[:5] in stems) for word in words)
    return matches / len(words) if words else 1.0
