"""Snippets: the stretch of a text that shows best why it matches."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sleuth.arguments import check_count, check_kind
from sleuth.text.analyzers import Analyzer, Span
from sleuth.text.borders import SMALL

_BEGINNINGS: Final = re.compile(
    rf"""
      (?<=[.!?\u2026])["'\u201d\u2019)\]]*\s+(?=[^\s{SMALL}])    # after the end of a sentence
    | (?<=[\u3002\uff01\uff1f\u0964\u061f\u06d4])\s*        # of Chinese, Hindi, Arabic, Urdu
    | (?<=\n)(?=[ \t]|[^\s{SMALL}])                             # a line, unless it continues a sentence
    | (?<=\n\n)(?=\S) | (?<=[:;{{}})\],]\n)(?=\S)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Snippet:
    """A stretch of a text.

    Attributes:
        text: exactly `original[start:start + len(text)]`.
        spans: start and end, in `text`, of the words that match; ascending, without overlap.
        start: where it begins in the original, in characters.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    start: int = 0


def snippet(text: str, query: str, analyzer: Analyzer, width: int = 200) -> Snippet:
    """Return the window of about `width` characters with the most distinct words of the query, then the most matches.

    It begins at a sentence or a line where one begins close enough before the matches. It never cuts a word or a
    combining sequence: it may be shorter than `width`, and longer only where one matching word is.

    Raises:
        ArgumentError: `width` below 1, or a query that is not a string.
    """
    check_kind(query, str, "query", "a string")
    width = check_count(width, "width", least=1)
    query_tokens = set(analyzer.tokens(query))
    spans = analyzer.spans(text) if query_tokens else []
    matches = [(start, end, token) for start, end, token in spans if token in query_tokens]
    if matches:
        low, high = _best_window(matches, width)
        start, end = _widen(text, low, high, width)
    else:
        start, end = _widen(text, 0, 0, width)
    inside = [(a - start, b - start) for a, b, _ in matches if start <= a and b <= end]
    return Snippet(text[start:end], _merged(inside), start)


def _best_window(matches: Sequence[Span], width: int) -> tuple[int, int]:
    """Return start and end of the matches that fit into `width` and hold most distinct tokens, then most matches."""
    starts, ends, tokens = zip(*sorted(matches), strict=True)
    counts: dict[str, int] = {}
    best, window = (0, 0), (starts[0], ends[0])
    low = 0
    for high, (end, token) in enumerate(zip(ends, tokens, strict=True)):
        counts[token] = counts.get(token, 0) + 1
        while low < high and end - starts[low] > width:
            first = tokens[low]
            counts[first] -= 1
            if not counts[first]:
                del counts[first]
            low += 1
        worth = (len(counts), high - low + 1)
        if worth > best:
            best, window = worth, (starts[low], max(ends[low : high + 1]))
    return window


def _widen(text: str, low: int, high: int, width: int) -> tuple[int, int]:
    """Grow the window to `width` around what it holds, then draw it in to borders between words."""
    room = max(0, width - (high - low))
    start = max(0, low - room // 2)
    end = min(len(text), max(high, start + width))
    start = min(low, max(0, end - width))
    beginning = _beginning(text, start, low, max(0, high - width))
    if beginning is not None:
        start, end = beginning, min(len(text), max(high, beginning + width))
    while start < low and not is_border(text, start):
        start += 1
    while start < low and text[start].isspace() and _is_boundary(text, start + 1):
        if start == beginning and text[start] in " \t" and not text[start : low + 1].isspace():
            break  # the indentation of a line
        start += 1
    while end > high and not is_border(text, end):
        end -= 1
    while end > high and text[end - 1].isspace() and is_border(text, end - 1):
        end -= 1
    if end <= start:
        start, end = 0, min(len(text), width)
    while 0 < start < len(text) and not _is_boundary(text, start):
        start -= 1
    while 0 < end < len(text) and not _is_boundary(text, end):
        end += 1
    return start, end


def _beginning(text: str, start: int, low: int, least: int) -> int | None:
    """Return where a sentence or line begins between `least` and `low`, at `start` or after it if one does."""
    if start == 0:
        return 0
    place_before = None
    for match in _BEGINNINGS.finditer(text, least, low):
        at = match.end()
        if least <= at <= low and is_border(text, at):
            if at >= start:
                return at
            place_before = at
    return place_before


def is_border(text: str, i: int) -> bool:
    """Return whether a cut before character i cuts neither a word nor a combining sequence."""
    if i <= 0 or i >= len(text):
        return True
    return _is_boundary(text, i) and not (_in_word(text[i - 1]) and _in_word(text[i]))


def _is_boundary(text: str, i: int) -> bool:
    """Return whether character i begins a user-visible character."""
    return not _extends(text[i]) and text[i - 1] != "\u200d"


def _extends(char: str) -> bool:
    return unicodedata.category(char)[0] == "M" or char == "\u200d" or "\U0001f3fb" <= char <= "\U0001f3ff"


def _in_word(char: str) -> bool:
    """Return whether the character is a letter of a script with spaces. Between ideographs, every cut is a border."""
    return (char.isalnum() or char in "_'\u2019" or _extends(char)) and not "\u2e80" <= char <= "\ud7ff"


def _merged(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    spans_so_far: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        first, last_end = spans_so_far[-1] if spans_so_far else (start, start)
        if start < last_end:
            spans_so_far[-1] = first, max(end, last_end)
        else:
            spans_so_far.append((start, end))
    return tuple(spans_so_far)
