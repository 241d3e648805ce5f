"""Commands that guides show exist, with the options that they show."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from sleuth.surfaces.cli.app import DefaultGroup, app
from sleuth.surfaces.cli.main import register

HOME = Path(__file__).parents[2]
PAGES = [*sorted(HOME.glob("*.md")), *sorted((HOME / "docs").rglob("*.md"))]
FENCE = re.compile(r"```(?:sh|bash|console)\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def root() -> Any:
    """The command line, with every command."""
    register([])
    return typer.main.get_command(app)


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each `sleuth` command in the fenced blocks of a page, before a diff that may add some."""
    for block in FENCE.findall(text.partition("```diff")[0]):
        for line in re.sub(r"\\\n", " ", block).splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            for start in [at for at, word in enumerate(words) if word == "sleuth"]:
                rest = words[start + 1 :]
                ends = (at for at, word in enumerate(rest) if word in ("|", "<", ">", "&&", "&", ";"))
                yield rest[: next(ends, len(rest))]


def test_there_are_commands_to_look_at() -> None:
    """The pages show many."""
    assert sum(len(list(commands(page.read_text("utf8")))) for page in PAGES) > 40


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(HOME)))
def test_commands_of_a_page_can_be_typed(page: Path, root: Any) -> None:
    """Each is parsed without an error, and not run."""
    for words in commands(page.read_text("utf8")):
        command, rest = root, list(words)
        while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
            if isinstance(command, DefaultGroup) and rest[0] not in command.commands:
                rest.insert(0, command.default)
            name = rest.pop(0)
            assert name in command.commands, f"sleuth {shlex.join(words)}"
            command = command.commands[name]
        if not hasattr(command, "commands") and "--help" not in rest:
            command.make_context(command.name, rest)
