"""Sentences of a text: where each begins and ends."""

from __future__ import annotations

import re
from typing import Final

Span = tuple[int, int]
"""Characters of the text, half open."""

FENCES: Final = ("```", "~~~")
"""What fenced code begins with; it is one span, however long."""
QUESTION_MARKS: Final = ("?", "？", "؟")
OPENERS: Final = " \t\n\"'“‘«([¿¡*_"
"""What may stand before the first letter of a sentence."""

ITEM: Final = re.compile(r"[ \t]*(?:[-*+•:]|\d{1,3}[.)]|[a-z]\))[ \t]+(?=\S)")
"""The marker of an item of a list; a colon begins the description of the term above it."""
_END: Final = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_`]*+(?:\[\d{1,3}\])*+(?=\s|$)|[。！？]++[”’」』）]*+"
)

# Words that end in a full stop in the middle of a sentence.
# fmt: off
_ABBREVIATIONS: Final = frozenset({
    "mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "etc", "e.g", "i.e", "cf", "al", "no",
    "nos", "fig", "figs", "eq", "eqs", "sec", "ch", "vol", "pp", "p", "ed", "eds", "inc", "ltd",
    "co", "corp", "dept", "est", "approx", "ca", "u.s", "u.k", "u.n", "jan", "feb", "mar", "apr",
    "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "gen", "col", "sgt", "capt", "rev",
    "hon", "art", "z.b", "d.h", "bzw", "usw", "vgl", "ggf", "nr", "p.ex", "env",
})
# fmt: on
_LONGEST_WORD: Final = 40
"""Characters before a full stop that decide whether it ends an abbreviation."""


def split_sentences(text: str) -> list[Span]:
    """Spans of the sentences of `text`, in order, without white space around them.

    A line break inside a paragraph ends no sentence; blank lines, list items, headings and table rows do.
    Fenced code is one span.
    """
    spans: list[Span] = []
    for start, end in _paragraphs(text):
        begin = start
        if not text.startswith(FENCES, start):
            for match in _END.finditer(text, start, end):
                if _ends_here(text, begin, match.start(), match.end(), end):
                    spans.append((begin, match.end()))
                    begin = match.end()
        spans.append((begin, end))
    stripped: list[Span] = []
    for start, end in spans:
        body = text[start:end].lstrip()
        if body:
            stripped.append((end - len(body), end - len(body) + len(body.rstrip())))
    return stripped


def _paragraphs(text: str) -> list[Span]:
    """Return the spans of paragraphs, items, headings, rows and fenced code."""
    spans: list[Span] = []
    begin, place, fence, line_before = 0, 0, "", ""
    for line in text.splitlines(keepends=True):
        bare, end = line.strip(), place + len(line)
        if fence:
            spans[-1] = (begin, end)
            fence = "" if bare == fence else fence
            bare = "" if not fence else bare  # what follows begins anew
        elif bare:
            fence = bare[:3] if bare.startswith(FENCES) else ""
            begins = bool(fence) or bare.startswith(("#", ">", "|")) or ITEM.match(line) is not None
            if begins or not line_before or line_before.endswith("|"):
                begin = place
                spans.append((begin, end))
            else:
                spans[-1] = (begin, end)
        place, line_before = end, bare
    return spans


def _ends_here(text: str, begin: int, mark: int, after: int, end: int) -> bool:
    """Return whether the stop at `mark` ends the sentence from `begin`, and does not belong to an abbreviation.

    Args:
        after: the place behind the stop and the quotes or brackets that it closes.
        end: of the paragraph.
    """
    following = text[after : min(end, after + _LONGEST_WORD)].lstrip(OPENERS)[:1]
    if after >= end or text[mark] != ".":
        return not (after - mark > 1 and following.islower())  # as in: "Why?" he said
    word = text[max(begin, mark - _LONGEST_WORD) : mark].rsplit(None, 1)[-1:] or [""]
    last_word = word[0].lstrip(OPENERS)
    if last_word.lower() in _ABBREVIATIONS or (len(last_word) == 1 and last_word.isupper()):
        return False
    return not following.islower()
