"""Prints the output of commands: adds colours and escapes everything else."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from sleuth.text.clean import escape_text

if TYPE_CHECKING:
    from rich.console import Console

_CODES = {"head": "1;36", "dim": "2", "italic": "3", "match": "1;33"}
_MARKS = {name: chr(0xFDD0 + i) for i, name in enumerate(_CODES)}
"""Placeholders for codes until a text is printed: characters that Unicode reserves for use inside a program."""
_END = "\ufdef"


def say(text: str = "", *, err: bool = False, end: str = "\n", flush: bool = False) -> None:
    """Print a text, with all characters escaped that could control a terminal.

    Args:
        err: print on standard error.
    """
    stream = sys.stderr if err else sys.stdout
    coloured = stream.isatty() and not os.environ.get("NO_COLOR")
    text = escape_text(text)
    if max(map(text.rfind, _MARKS.values())) > text.rfind(_END):  # wrapping has cut a match
        text += _END
    for name, mark in _MARKS.items():
        text = text.replace(mark, f"\x1b[{_CODES[name]}m" if coloured else "")
    print(text.replace(_END, "\x1b[0m" if coloured else ""), file=stream, end=end, flush=flush)


def say_row(*cells: object) -> None:
    """Print one line of cells with tabs between them; a newline or tab inside a cell is escaped too."""
    say("\t".join(str(cell).replace("\n", "\\n").replace("\t", "\\t") for cell in cells))


def amount(number: int, noun: str) -> str:
    """Return a number with its noun: "1 document", "1,200 documents"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def styled(text: str, style: str) -> str:
    """Mark a text with a style ("head", "dim", "italic", "match"), which `say` omits in a pipe or with NO_COLOR."""
    return f"{_MARKS[style]}{text}{_END}"


def console(*, stderr: bool = False) -> Console:
    """Return a rich console, for bars of progress and for the width of texts; texts are escaped before."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)
