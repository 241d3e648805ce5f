"""Sentences of a passage: where each begins and ends."""

from __future__ import annotations

import re

Span = tuple[int, int]
"""Characters of the text, half open."""

FENCES = ("```", "~~~")
"""What fenced code begins with; it is one span, however long."""

_FENCED = re.compile(r"^(```|~~~)[^\n]*\n.*?(?:^\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(
    r"\n\s*\n"  # a blank line
    r"|\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>|\|)[ \t])"  # before a list item, heading, quotation or table row
    r"|(?<=\|)[ \t]*\n"  # after a table row
)
_CLOSERS = r"[\"'”’»)\]]*+(?:\[\d{1,3}\])*+"
"""Quotation marks and brackets after a stop, and citations, which belong to the sentence before them."""

_END = re.compile(rf"(?:(?<![.!?…])[.!?…]++{_CLOSERS}(?=\s|$)|[。！？]+[”’」』）]*)")
_LONGEST_WORD = 40
"""Characters before a full stop that decide whether it ends an abbreviation."""
_OPENER = re.compile(r"\s*[\"'“‘«(\[¿¡]*")

# Words that end in a full stop in the middle of a sentence.
# fmt: off
_ABBREVIATIONS = frozenset({
    "mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "etc", "e.g", "i.e", "cf", "al", "no",
    "nos", "fig", "figs", "eq", "eqs", "sec", "ch", "vol", "pp", "p", "ed", "eds", "inc", "ltd",
    "co", "corp", "dept", "est", "approx", "ca", "u.s", "u.k", "u.n", "jan", "feb", "mar", "apr",
    "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "gen", "col", "sgt", "capt", "rev",
    "hon", "art",
})
# fmt: on


def split_sentences(text: str) -> list[Span]:
    """Spans of the sentences of `text`, in order, without white space around them.

    A line break inside a paragraph ends no sentence; blank lines, list items, headings and table rows do.
    Fenced code is one span.
    """
    spans: list[Span] = []
    for start, end in _blocks(text):
        begin = start
        if text.startswith(FENCES, start, end):
            spans.append((start, end))
            continue
        for match in _END.finditer(text, start, end):
            if _ends_here(text, begin, match.start(), match.end(), end):
                spans.append((begin, match.end()))
                begin = match.end()
        spans.append((begin, end))
    # Without the white space around sentences, and without those that hold nothing else.
    stripped: list[Span] = []
    for start, end in spans:
        body = text[start:end].lstrip()
        if body:
            stripped.append((end - len(body), end - len(body) + len(body.rstrip())))
    return stripped


def _blocks(text: str) -> list[Span]:
    blocks: list[Span] = []
    block_end = 0
    for fence in _FENCED.finditer(text):
        blocks += [*_paragraphs(text, block_end, fence.start()), fence.span()]
        block_end = fence.end()
    return [*blocks, *_paragraphs(text, block_end, len(text))]


def _paragraphs(text: str, start: int, end: int) -> list[Span]:
    blocks: list[Span] = []
    for match in _BLOCK.finditer(text, start, end):
        blocks.append((start, match.start()))
        start = match.end()
    return [*blocks, (start, end)]


def _ends_here(text: str, begin: int, mark: int, after: int, end: int) -> bool:
    """Return whether the full stop at `mark` ends the sentence from `begin`, and does not belong to an abbreviation.

    Args:
        after: the place behind the stop and the quotes or brackets that it closes.
        end: of the paragraph.
    """
    opener = _OPENER.match(text, after, end)
    following = text[opener.end()] if opener is not None and opener.end() < end else ""
    if after >= end or text[mark] != ".":
        return not (after - mark > 1 and following.islower())  # as in: "Why?" he said
    word = text[max(begin, mark - _LONGEST_WORD) : mark].rsplit(None, 1)[-1:] or [""]
    last_word = word[0].lstrip("\"'“‘«([")
    if last_word.lower() in _ABBREVIATIONS or (len(last_word) == 1 and last_word.isupper()):
        return False
    return not following.islower()
