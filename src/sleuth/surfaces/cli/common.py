"""What all commands share: printing, and how a failure is said."""

from __future__ import annotations

import json as json_format
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from sleuth import errors
from sleuth.text.clean import escape_json, escape_text

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


def remark(text: str) -> None:
    """Print a remark of the program on standard error."""
    sys.stdout.flush()  # both may lead to one place
    say(f"sleuth: {text}", err=True)


def one_line(text: object) -> str:
    """Escape newlines and tabs, as `say` escapes other characters without a shape; blanks stay, as paths need them."""
    return str(text).replace("\n", "\\n").replace("\t", "\\t")


def human_bytes(n: float) -> str:
    """Return a size as in `12.3 MB`, in powers of 1,000."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(n) < 1000:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000
    return f"{n:.1f} TB"


def styled(text: str, style: str) -> str:
    """Mark a text with a style ("head", "dim", "italic", "match"), which `say` omits in a pipe or with NO_COLOR."""
    return f"{_MARKS[style]}{text}{_END}"


def console(*, stderr: bool = False) -> Console:
    """Return a rich console, for bars of progress and for the width of texts; texts are escaped before."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


_EXIT_CODES: tuple[tuple[type[Exception], int], ...] = (
    (errors.IndexLockedError, 4),
    (errors.RemoteError, 5),
    (errors.StoreError, 3),
    (errors.ArgumentError, 2),
    (errors.UnknownSnapshotError, 2),
    (errors.UnknownCommitError, 2),
    (errors.UnknownRepositoryError, 2),
)


def exit_code(error: Exception) -> int:
    """Return the documented exit code of a failure."""
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)


def print_json(value: Any) -> None:
    """Print one JSON document in UTF-8, with keys in their order and invisible characters escaped."""

    def plain(each: Any) -> Any:
        return each.to_dict() if hasattr(each, "to_dict") else str(each)

    say(escape_json(json_format.dumps(value, ensure_ascii=False, indent=2, default=plain)))


class Output(NamedTuple):
    """What a command returns: its facts for `--json`, and the lines that draw them.

    Attributes:
        facts: fit for JSON.
        lines: a tuple is a row of cells, printed with tabs between them; a newline or tab inside a cell is escaped.
        notes: said on standard error below the lines.
        found: whether there is anything: if not, `missing` is said on standard error, and the command exits with 1.
    """

    facts: Any
    lines: Iterable[str | tuple[object, ...]] = ()
    notes: Sequence[str] = ()
    found: object = True
    missing: str = ""

    def print(self, *, json: bool, quiet: bool = False) -> None:
        """Print the facts as JSON, or the lines unless they are not to be printed.

        Raises:
            typer.Exit: nothing was found.
        """
        if json:
            print_json(self.facts)
        elif not quiet:
            for line in self.lines:
                say(line if isinstance(line, str) else "\t".join(map(one_line, line)))
            for note in self.notes:
                remark(note)
        if not self.found:
            if self.missing:
                remark(self.missing)
            raise typer.Exit(1)
