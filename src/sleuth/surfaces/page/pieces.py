"""Writes a text as lines of markup, with the colours of its syntax and marked words."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from sleuth.text.clean import escape_text

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MOST_COLOURED = 60_000
"""Characters from which on a text is shown without colours: lexers are regular expressions, and some are slow."""

Span = tuple[int, int]


def lines_of(text: str, spans: Sequence[Span] = (), *, language: str = "") -> list[Markup]:
    """Return the lines of a text; invisible characters are shown as escapes.

    Args:
        spans: start and end of marked text, ascending, without overlap.
        language: of the syntax, as Pygments names it; none where it is unknown.
    """
    lines = [""]
    for value, css, is_marked in _cut(_tokens(text, language), spans):
        for number, part in enumerate(value.split("\n")):
            html = str(escape(escape_text(part)))
            if part and (is_marked or css):
                tag, attribute = "mark" if is_marked else "span", f' class="{css}"' if css else ""
                html = f"<{tag}{attribute}>{html}</{tag}>"
            if number:
                lines.append(html)
            else:
                lines[-1] += html
    return [Markup(line) for line in lines]  # noqa: S704 - texts are escaped, and classes are names of Pygments


def marked(text: str, spans: Sequence[Span]) -> Markup:
    """Return a text without colours, with its marks."""
    return Markup("\n").join(lines_of(text, spans))


def _cut(tokens: Iterable[tuple[str, str]], spans: Sequence[Span]) -> Iterator[tuple[str, str, bool]]:
    """Cut tokens where marks begin and end."""
    at, marks = 0, iter(spans)
    nowhere = (sys.maxsize, sys.maxsize)
    mark_begin, mark_end = next(marks, nowhere)
    for value, css in tokens:
        begin, end = at, at + len(value)
        while begin < end:
            while mark_end <= begin:
                mark_begin, mark_end = next(marks, nowhere)
            is_marked = mark_begin <= begin
            stop = min(end, mark_end if is_marked else mark_begin)
            yield value[begin - at : stop - at], css, is_marked
            begin = stop
        at = end


def _tokens(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield the tokens of a text and their classes; the tokens join to the text."""
    lexer = _lexer(language) if language and len(text) <= MOST_COLOURED else None
    if lexer is None:
        yield text, ""
        return
    from pygments.token import STANDARD_TYPES

    tokens = [(value, STANDARD_TYPES.get(kind, "")) for _, kind, value in lexer.get_tokens_unprocessed(text)]
    is_whole = "".join(value for value, _ in tokens) == text
    yield from tokens if is_whole else [(text, "")]


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None
