"""Finds running heads and page numbers: lines at the edges of pages that many pages repeat."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

from sleuth.ingest.extraction.layout import Line

_PAGES: Final = 3
"""Pages that repeat a running head, at least."""
_DEPTH: Final = 2
"""Lines at each edge of a page that may be running heads."""
_SAME_HEIGHT: Final = 4.0
"""Points within which the heads of several pages are at the same height."""
_LONGEST: Final = 150
_page_number = re.compile(
    r"\W*(?:(?:page|seite|p)\.?\s*)?(?:\d{1,5}|[ivxlc]{1,8})(?:\s*(?:/|of|von)\s*\d{1,5})?\W*", re.IGNORECASE
)
_at_an_end = re.compile(r"^(\d{1,5})\b|\b(\d{1,5})$")


class _Place(NamedTuple):
    """A line by its page and its position among the lines of that page."""

    page: int
    number: int


def without_running(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return the pages without running heads and page numbers; the first occurrence of a head stays."""
    dropped: set[_Place] = set()
    for from_top in (True, False):
        outer = {
            page: sorted(range(len(lines)), key=lambda i, lines=lines: lines[i].baseline, reverse=from_top)
            for page, lines in enumerate(pages)
        }
        for depth in range(_DEPTH):
            edge = [_Place(page, order[depth]) for page, order in outer.items() if len(order) > depth + 1]
            repeated, bare, counting = _repeated(pages, edge), _bare(pages, edge), _counting(pages, edge)
            first = {places[0] for places in repeated}
            running = bare | counting.union(*repeated)
            dropped |= running - (first - bare)
            outer = {place.page: outer[place.page] for place in edge if place in running}
    return [
        [line for number, line in enumerate(lines) if (page, number) not in dropped]
        for page, lines in enumerate(pages)
    ]


def _repeated(pages: Sequence[Sequence[Line]], edge: Sequence[_Place]) -> list[list[_Place]]:
    """Return lines of the same words at the same height, together, by ascending page."""
    alike: dict[str, list[_Place]] = defaultdict(list)
    for place in edge:
        text = pages[place.page][place.number].text
        if len(text) <= _LONGEST:
            alike[" ".join(text.split())].append(place)
    groups = []
    for places in alike.values():
        usual = median(pages[page][number].baseline for page, number in places)
        level = [
            place for place in places if abs(pages[place.page][place.number].baseline - usual) <= _SAME_HEIGHT
        ]
        if len(level) >= _PAGES:
            groups.append(level)
    return groups


def _bare(pages: Sequence[Sequence[Line]], edge: Sequence[_Place]) -> set[_Place]:
    """Return the lines that are a page number and nothing else."""
    bare = {place for place in edge if _page_number.fullmatch(pages[place.page][place.number].text)}
    return bare if len(bare) >= _PAGES else set()


def _counting(pages: Sequence[Sequence[Line]], edge: Sequence[_Place]) -> set[_Place]:
    """Return the lines that begin or end with a number that counts up with the pages."""
    counting: dict[int, set[_Place]] = defaultdict(set)
    for place in edge:
        text = pages[place.page][place.number].text
        if len(text) <= _LONGEST:
            for start, end in _at_an_end.findall(text):
                counting[int(start or end) - place.page].add(place)
    longest = max(counting.values(), key=len, default=set())
    return longest if len(longest) >= max(_PAGES, len(edge) / 3) else set()
