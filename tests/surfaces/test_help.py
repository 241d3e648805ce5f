"""The help of each command shows how it is used."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register
from tests.commands import python, sleuth


@pytest.fixture(scope="module")
def root() -> Any:
    """The command line, with every command."""
    register(["--help"])
    return typer.main.get_command(app)


def commands(group: Any, path: str = "sleuth") -> Iterator[tuple[str, Any]]:
    """Yield each command below a group, and each group, by the words that call it."""
    for name, command in group.commands.items():
        yield path if name == getattr(group, "default", "") else f"{path} {name}", command
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")


def test_every_command_has_an_example(root: Any) -> None:
    """The help of a command ends with a line that calls it, with options that it has."""
    command_by_words = {words: command for words, command in commands(root) if not command.hidden}
    assert len(command_by_words) > 30
    assert len([words for words in command_by_words if words.count(" ") == 1]) <= 15
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


def test_a_letter_means_one_thing(root: Any) -> None:
    """A short option stands for one long name, whichever command has it."""
    names: dict[str, set[str]] = {}
    for _, command in commands(root):
        for opts in (each.opts for each in command.params if each.param_type_name == "option"):
            for flag in (flag for flag in opts if not flag.startswith("--")):
                names.setdefault(flag, set()).update(flag for flag in opts if flag.startswith("--"))
    assert {flag: long for flag, long in names.items() if len(long) != 1} == {}
    assert len(names) >= 8


@pytest.mark.parametrize("command", ["search", "ask"])
def test_help_begins_with_ten_options(command: str, tmp_path: Path) -> None:
    """The help of a command with many options shows ten, and all of them where that is asked for."""
    texts = (sleuth(command, "--help", *more, cwd=tmp_path).stdout for more in ((), ("all",)))
    short, every = (set(re.findall(r"^│ --([\w-]+)", text, re.MULTILINE)) for text in texts)
    assert short < every
    assert (len(short), len(every) > 20) == (11, True)  # with --help


def test_help_loads_no_arrays() -> None:
    """The list of commands needs neither numpy nor the engine: it is read before anything is done."""
    code = (
        "import sys; sys.argv = ['sleuth', '--help']\n"
        "from sleuth.surfaces.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'sqlite3', 'sleuth.engine.search'} & sys.modules.keys()))"
    )
    assert python(code).stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("module", "extra", "code"),
    [
        ("fastapi", "serve", "from sleuth.surfaces.http import create_app"),
        ("mcp_types", "mcp", "from sleuth.surfaces.mcp import build_server"),
        ("fastapi", "serve", "from sleuth.__main__ import main; main()"),
    ],
)
def test_a_missing_extra_is_named(module: str, extra: str, code: str) -> None:
    """A name of a package, and a command, say which extra brings what they import."""
    code = f"import sys; sys.modules[{module!r}] = None; {code}"
    result = python(code, "cluster", "serve", "s3://bucket/docs")
    assert f"pip install 'sleuth[{extra}]'" in result.stderr.splitlines()[-1]
