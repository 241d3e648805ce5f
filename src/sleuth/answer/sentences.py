"""Sentences of a text: where each begins and ends."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from sleuth.text.borders import sentence_of

Span = tuple[int, int]
"""Characters of the text, half open."""

FENCES: Final = ("```", "~~~")
"""What fenced code begins with."""
QUESTION_MARKS: Final = ("?", "？", "؟")
_ABBREVIATIONS: Final = tuple("e.g. i.e. etc. approx. z.B. d.h. bzw. usw. ggf. vgl. ca. p.ex.".split())  # noqa: SIM905
"""What ends no sentence although a capital or a sign follows."""


def split_sentences(text: str) -> list[Span]:
    """Spans of the sentences of `text`, in order, without white space around them.

    They have the borders that cut texts into passages: a blank line or an item of a list begins another one, and a line
    break inside a paragraph does not.
    """
    ends = [match.end() for match in sentence_of(text).finditer(text)]
    ends = [end for end in ends if not text[max(0, end - 12) : end].rstrip().endswith(_ABBREVIATIONS)]
    spans: list[Span] = []
    for begin, end in pairwise([0, *ends, len(text)]):
        body = text[begin:end].lstrip()
        if body:
            spans.append((end - len(body), end - len(body) + len(body.rstrip())))
    return spans
