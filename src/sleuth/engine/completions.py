"""What can be completed in one version of an index."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from sleuth.engine.synonyms import words_of


class Completions:
    """What is completed in one version, as a scope shows it: titles and headings, the most frequent first, and words.

    Attributes:
        spellings: words by group and term, as far as they were asked for.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        self.spellings: dict[tuple[str, str], set[str]] = {}
        self._titles = list(titles)
        lines = [f"\n {' '.join(words_of(title))}" for title in self._titles]
        self._text = "".join(lines)
        self._starts = [0, *accumulate(map(len, lines))]

    def titles_with(self, words: str, most: int) -> tuple[list[str], list[str]]:
        """Return titles that begin with some words, and titles that hold them further on; the last may go on."""
        first: dict[str, None] = {}
        further: dict[str, None] = {}
        place = self._text.find(f"\n {words}")
        while place >= 0 and len(first) < most:
            first[self._titles[bisect_right(self._starts, place) - 1]] = None
            place = self._text.find(f"\n {words}", place + 1)
        place = self._text.find(f" {words}")
        while place >= 0 and len(further) < 2 * most:
            further[self._titles[bisect_right(self._starts, place) - 1]] = None
            place = self._text.find(f" {words}", place + 1)
        return list(first), [title for title in further if title not in first]
