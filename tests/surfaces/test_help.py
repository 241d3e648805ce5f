"""The help of each command shows how it is used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import typer

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register


def commands(group: Any, path: str = "sleuth") -> Iterator[tuple[str, Any]]:
    """Yield each command below a group, and each group, by the words that call it."""
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")


def test_every_command_has_an_example() -> None:
    """The help of a command ends with a line that calls it, with options that it has."""
    register(["--help"])
    command_by_words = dict(commands(typer.main.get_command(app)))
    assert len(command_by_words) > 30
    for words, command in command_by_words.items():
        lines = (command.epilog or "").splitlines()
        examples = [words + line.partition(words)[2] for line in lines if words in line]
        assert examples, words
        flags = {
            flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)
        }
        for example in examples if not hasattr(command, "commands") else ():
            flags_of_example = {
                word for word in example.partition("  ")[0].partition("|")[0].split() if word.startswith("--")
            }
            assert flags_of_example <= flags, example


def test_help_loads_no_arrays() -> None:
    """The list of commands needs neither numpy nor the engine: it is read before anything is done."""
    code = (
        "import sys; sys.argv = ['sleuth', '--help']\n"
        "from sleuth.surfaces.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'sqlite3', 'sleuth.engine.search'} & sys.modules.keys()))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
