"""sleuth open: opens a result of the last search in an editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.recent import recall
from sleuth.text import clean_text

EXAMPLES = """[bold]Examples[/bold]

  sleuth search "token bucket"
  sleuth open 2                            the second result, at its line
  sleuth open --editor code 2              in another editor than $VISUAL or $EDITOR
"""

FALLBACKS = ("nano", "vim", "vi")
"""Editors that are looked for where neither $VISUAL nor $EDITOR names one."""

_PLUS = ("{editor}", "+{line}", "{file}")
_COLON = ("{editor}", "{file}:{line}")
_GOTO = ("{editor}", "--goto", "{file}:{line}")
_LINE = ("{editor}", "--line", "{line}", "{file}")

SYNTAX: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("vi", "vim", "nvim", "gvim", "mvim", "view", "nano", "pico", "micro", "joe", "kak"), _PLUS),
    **dict.fromkeys(("emacs", "emacsclient", "gedit", "gnome-text-editor", "ed", "less", "jed"), _PLUS),
    **dict.fromkeys(("hx", "helix", "subl", "sublime_text", "zed", "zeditor", "atom", "lapce", "lite-xl"), _COLON),
    **dict.fromkeys(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "positron"), _GOTO),
    **dict.fromkeys(("idea", "pycharm", "webstorm", "goland", "clion", "rider", "kate", "kwrite", "mate"), _LINE),
}  # fmt: skip
"""How editors are given a line, by the name of their program."""


@app.command("open", epilog=EXAMPLES)
def open_result(
    number: Annotated[int, typer.Argument(min=1, help="The number of the result.")],
    editor: Annotated[
        str | None, typer.Option("--editor", help="Editor with its options. Default: $VISUAL, else $EDITOR.")
    ] = None,
) -> None:
    """Open a result of the last search of this terminal in the editor, at its line."""
    places = recall()
    if not places:
        raise ArgumentError("there must be a search on this terminal first: sleuth search QUERY")
    if number > len(places):
        raise ArgumentError(f"number must be from 1 to {len(places)}, as the last search had, got {number}")
    place = places[number - 1]
    if not place.file or not Path(place.file).exists():
        reason = (
            f"{clean_text(place.file)} is gone"
            if place.file
            else f"it is in no file: {clean_text(place.name)}"
        )
        raise ArgumentError(f"number must be that of a result in a file, got {number}; {reason}")
    command = editor_command(editor or chosen_editor(), place.file, place.line)
    try:
        code = subprocess.run(command, check=False).returncode  # noqa: S603 - the user's own editor
    except OSError as error:
        raise ArgumentError(f"editor must be a program that starts, got {command[0]!r}: {error}") from error
    if code:
        raise typer.Exit(1)


def chosen_editor() -> str:
    """Return the editor of the environment, or one that is installed.

    Raises:
        ArgumentError: neither exists.
    """
    of_user = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    editor = of_user or next((name for name in FALLBACKS if shutil.which(name)), "")
    if not editor:
        raise ArgumentError("an editor must be named: set EDITOR, or use --editor")
    return editor


def editor_command(editor: str, file: str, line: int) -> list[str]:
    """Return the command that opens a file at a line; without a line for an unknown editor, and for line 0.

    Args:
        editor: program with its options, as a shell would read it.

    Raises:
        ArgumentError: no program.
    """
    try:
        words = shlex.split(editor)
    except ValueError as error:
        raise ArgumentError(f"editor must be a command, got {editor!r}: {error}") from error
    if not words:
        raise ArgumentError(f"editor must be a command, got {editor!r}")
    program = Path(words[0]).name.removesuffix(".exe").lower()
    syntax = SYNTAX.get(program, ("{editor}", "{file}")) if line else ("{editor}", "{file}")
    return [*words, *(part.format(file=file, line=line) for part in syntax[1:])]
