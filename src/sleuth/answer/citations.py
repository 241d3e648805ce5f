"""Citations of an answer, and whether the cited passages say so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sleuth.answer.context import Passage
from sleuth.answer.sentences import split_sentences

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_CITED = re.compile(r"[\[【]\s*\^?(\d{1,3}(?:\s*(?:,|;|-|–|and|\^)\s*\^?\d{1,3})*)\s*[\]】]")
_RANGE = re.compile(r"(\d{1,3}+)\s*+[-–]\s*+(\d{1,3})")
_CITED_AFTER_SPACE = re.compile(rf"(?<!\s)\s*+{_CITED.pattern}")
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]{4,}")


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
        return {
            "number": self.number,
            "ids": list(self.ids),
            "statement": self.statement,
            "support": round(self.support, 3),
        }


@dataclass(frozen=True, slots=True)
class CitationReport:
    """What an answer cites.

    Attributes:
        citations: in order of the answer.
        unknown: numbers that it cites and no passage has.
        uncited: sentences that cite nothing.
    """

    citations: tuple[Citation, ...] = ()
    unknown: tuple[int, ...] = ()
    uncited: tuple[str, ...] = ()

    @property
    def unsupported(self) -> tuple[str, ...]:
        """Sentences that cite nothing, or only passages that hold less than half of their numbers and longer words."""
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


def citation_marks(text: str) -> list[CitationMark]:
    """Return the citations in `text`, such as [1], [2, 3], [4-6], [^7] and 【8】, in order; code is ignored."""
    marks: list[CitationMark] = []
    for match in _CITED.finditer(_CODE.sub(lambda code: " " * len(code[0]), text)):
        numbers: list[int] = []
        for low, high in _RANGE.findall(match[1]):
            numbers.extend(range(int(low), min(int(high), int(low) + 50) + 1))
        numbers.extend(int(number) for number in re.findall(r"\d+", _RANGE.sub(" ", match[1])))
        marks.append(CitationMark(match.start(), match.end(), numbers))
    return marks


def cited_numbers(text: str) -> list[int]:
    """Return the numbers that `text` cites, in order."""
    return [number for mark in citation_marks(text) for number in mark.numbers]


def without_citations(text: str) -> str:
    """Return `text` in one line, without the numbers that it cites: a source has numbers of its own."""
    return " ".join(_CITED_AFTER_SPACE.sub("", text).split())


def check_citations(answer: str, passages: Sequence[Passage]) -> CitationReport:
    """Match every citation of `answer` with the passages it had."""
    by_number = {passage.number: passage for passage in passages}
    citations: list[Citation] = []
    unknown: list[int] = []
    uncited: list[str] = []
    for sentence in _with_citations(_CODE.sub(" ", answer)):
        numbers = list(dict.fromkeys(cited_numbers(sentence)))
        statement = without_citations(sentence)
        if not numbers and _WORD.search(statement):
            uncited.append(statement)
        for number in numbers:
            passage = by_number.get(number)
            if passage is None:
                unknown.append(number)
            else:
                citations.append(Citation(number, passage.ids, statement, support(statement, passage.text)))
    return CitationReport(tuple(citations), tuple(dict.fromkeys(unknown)), tuple(uncited))


def support(statement: str, passage: str) -> float:
    """Share of the numbers and longer words of a statement that a passage holds; 1 without such words."""
    words = {word.casefold() for word in _WORD.findall(statement)}
    passage_words = {word.casefold() for word in _WORD.findall(passage)}
    stems = {word[:5] for word in passage_words if not word[0].isdigit()}
    matches = sum(word in passage_words or (not word[0].isdigit() and word[:5] in stems) for word in words)
    return matches / len(words) if words else 1.0


def _with_citations(answer: str) -> list[str]:
    """Sentences, with citations that follow a full stop kept with the sentence before them."""
    sentences: list[str] = []
    for start, end in split_sentences(answer):
        text = answer[start:end]
        leading = re.match(rf"(?:\s*{_CITED.pattern})+\s*[.!?]?", text)
        if leading and sentences:
            sentences[-1] += text[: leading.end()]
            text = text[leading.end() :]
        if text.strip():
            sentences.append(text)
    return sentences
