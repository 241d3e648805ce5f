"""Prints hits of every kind of search: a line with the place of each, its title, and the text that matches."""

from __future__ import annotations

import shutil
import textwrap
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from sleuth.errors import amount
from sleuth.files.formats import CODE
from sleuth.surfaces.cli.common import console, one_line, remark, say, styled
from sleuth.surfaces.hits import ShownText, SnippetOf, excerpt, place_of, score_text, snippet_of, title_of
from sleuth.text import clean_text
from sleuth.types import Explanation, Ranking, RetrievedItem, document_of

CODE_LINES = 12
"""Maximum number of lines of a piece of code in the output."""

COPIES = 3
"""Maximum number of documents with copies of a passage in the output."""


def print_hits(
    query: str,
    ranking: Ranking,
    *,
    path: Callable[[RetrievedItem], str] | None = None,
    snippet: SnippetOf = snippet_of,
    below: Callable[[int], None] | None = None,
) -> None:
    """Print hits, then failures and notes.

    The codes are written without rich, whose import costs more than a search.

    Args:
        path: of a hit as a reader sees it; that of its metadata otherwise.
        snippet: chooses the window of a passage.
        below: prints more of a hit, by number from 1.
    """
    width = max(20, shutil.get_terminal_size().columns) - 4
    for number, item in enumerate(ranking, 1):
        name = one_line(place_of(item.id, item.metadata, path(item) if path else ""))
        score = f"  {score_text(item)}".rstrip()
        kind = f"  {item.metadata['source_type']}" if item.metadata.get("source_type") else ""
        say(f"{styled(f'{number:>2}', 'dim')} {styled(name, 'head')}{styled(f'{score}{kind}', 'dim')}")
        if heading := clean_text(title_of(item.metadata)):
            say(f"   {styled(wrapped(heading, width, 1)[0], 'italic')}")
        part = excerpt(item, query, snippet, width=3 * width, lines=CODE_LINES)
        for line in excerpt_lines(part, item.metadata, width):
            say(f"   {line}".rstrip())
        if part.more:
            say(styled(f"   … {amount(part.more, 'more line')}", "dim"))
        if item.copies:
            names = list(dict.fromkeys(one_line(document_of(id)) for id in item.copies))
            shown = ", ".join(names[:COPIES]) + (", …" if len(names) > COPIES else "")
            copies = "copy" if len(item.copies) == 1 else "copies"
            say(styled(f"   and {len(item.copies)} {copies}: {shown}", "dim"))
        if item.folded:
            say(styled(f"   and {item.folded:,} more with the same value", "dim"))
        if below is not None:
            below(number)
        if item.explanation is not None:
            print_explanation(item.explanation)
        say()
    for report in ranking.failures:
        remark(f"{report.name} {report.status}: {report.error}")
    for note in ranking.notes:
        remark(clean_text(note))
    if not ranking:
        say("Nothing found.", err=True)


def excerpt_lines(part: ShownText, metadata: Mapping[str, Any], width: int) -> list[str]:
    """Return an excerpt with its matches marked: lines of code with their numbers, other text wrapped."""
    text, cursor = "", 0
    for start, end in part.spans:
        match = styled(clean_text(part.text[start:end]), "match")
        text += clean_text(part.text[cursor:start]) + match
        cursor = end
    text += clean_text(part.text[cursor:])
    if metadata.get("source_type") == "code":
        first, lines = int(metadata.get("start_line") or 1), text.split("\n")
        digits = len(str(first + len(lines) - 1))
        numbered = enumerate(lines, first)
        return [f"{styled(f'{number:>{digits}}', 'dim')} {line}" for number, line in numbered]
    if metadata.get("type") in CODE:
        wrapped_lines = [
            wrapped(line.expandtabs(4), width, 1, keep_indentation=True) for line in text.split("\n")
        ]
        return [line for pieces in wrapped_lines for line in pieces or [""]][:CODE_LINES]
    return wrapped(" ".join(text.split()), width, 4)


def wrapped(text: str, width: int, most: int, *, keep_indentation: bool = False) -> list[str]:
    """Wrap a text to at most `most` lines of `width` columns, and cut it off if it is longer."""
    if keep_indentation:
        content = text.lstrip(" ")
        indentation = text[: len(text) - len(content)][: width // 2]
        return [indentation + line for line in wrapped(content, width - len(indentation), most)]
    if not any(unicodedata.east_asian_width(char) in "WF" for char in text):
        return textwrap.wrap(text, width, max_lines=most, placeholder=" …")
    from rich.text import Text

    lines = [str(line).rstrip() for line in Text(text).wrap(console(), width)]
    if len(lines) > most:
        last_line = Text(lines[most - 1])
        last_line.truncate(width - 2)
        lines[most - 1 :] = [f"{last_line} …"]
    return lines


def print_explanation(part: Explanation, indentation: str = "   ") -> None:
    """Print an explanation as a tree: a line for each part, below what it is a part of."""
    facts = ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in part.facts.items()
    )
    formula = styled(part.formula, "italic") if part.formula else ""
    cells = (f"{part.value:.4f} {part.name}", styled(facts, "dim"), formula)
    say(f"{indentation}{'  '.join(filter(None, cells))}".rstrip())
    for below in part.parts:
        print_explanation(below, f"{indentation}   ")
