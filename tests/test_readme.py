"""The examples and links of the README are true, and commands that pages show exist, with their options."""

import re
import runpy
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from sleuth.surfaces.cli.app import DefaultGroup, app
from sleuth.surfaces.cli.main import register
from tests.commands import python

HOME = Path(__file__).parents[1]
README = HOME / "README.md"
PAGES = [*sorted(HOME.glob("*.md")), *sorted((HOME / "docs").rglob("*.md"))]
FENCE = re.compile(r"```(?:sh|bash|console)\n(.*?)```", re.DOTALL)
PICTURE = runpy.run_path(str(HOME / "tools" / "terminal_picture.py"))


def test_the_python_example_prints_its_output(tmp_path: Path) -> None:
    """The Python example prints the block below it in an empty folder."""
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text("utf8"), re.DOTALL)
    assert match
    code, expected = match.groups()
    result = python(code, cwd=tmp_path)
    assert (result.stdout, result.stderr) == (expected, "")


def test_the_commands_print_their_outputs() -> None:
    """Every command at the shell prints what the README shows, to the last character."""
    text = README.read_text("utf8")
    assert PICTURE["with_outputs"](text) == text
    assert text.count("$ sleuth ") >= 5


def test_the_readme_is_short() -> None:
    """It has at most 120 lines."""
    assert len(README.read_text("utf8").splitlines()) < 120


PLACES = tomllib.loads(Path(__file__).with_name("readme.toml").read_text("utf8"))
TASKS: dict[str, str] = PLACES["tasks"]
"""The page of each task, by words of the task."""


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_found(task: str) -> None:
    """One link whose text names the task leads to its page: a link of the README, or of the list of all pages."""
    steps = [README, HOME / "docs" / "README.md"]
    assert "[All pages](docs/README.md)" in README.read_text("utf8")
    hits = [
        {(page.parent / target).resolve() for text, target in links(page) if task.lower() in text.lower()}
        for page in steps
    ]
    expected = HOME / "docs" / "how-to" / f"{TASKS[task]}.md"
    assert next(pages for pages in hits if pages) == {expected}


def links(page: Path) -> list[tuple[str, str]]:
    """Return texts and targets of the links of a page."""
    return re.findall(r"\[([^\]]+)\]\(([^)#]+)", page.read_text("utf8"))


def test_the_first_screen_says_how_to_begin_and_when_not_to() -> None:
    """The first 28 lines install Sleuth, add it to an agent, claim its speed, and name what is better elsewhere."""
    screen = "\n".join(README.read_text("utf8").splitlines()[:28])
    begin = ("pip install '.[", "claude mcp add sleuth -- sleuth mcp", "](docs/measured/speed.md)")
    assert [text for text in (*begin, "Vespa", "ripgrep", "LanceDB") if text not in screen] == []


STATEMENTS: dict[str, str] = PLACES["statements"]
"""The test of each statement, by how the statement begins."""


def statements() -> list[str]:
    """Return the sentences of the README that are neither code, headings, tables nor lists of links."""
    text = re.sub(r"```.*?```|<!--.*?-->|!\[[^\]]*\]\([^)]*\)", "", README.read_text("utf8"), flags=re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("**", "")
    parts = [part for part in text.split("\n\n") if not part.lstrip().startswith(("|", "#", "- "))]
    paragraphs = [" ".join(part.split()) for part in parts]
    return [line for part in paragraphs for line in re.split(r"(?<=[.?]) (?=[A-Z`])", part) if line]


def test_each_statement_has_its_test() -> None:
    """Each sentence begins as one of the list does, whose test exists; nothing of the list is left over."""
    starts_of = {line: [start for start in STATEMENTS if line.startswith(start)] for line in statements()}
    short = ("Find it in the list.", "Start in five minutes.")  # links
    assert [line for line, starts in starts_of.items() if len(starts) != 1 and line not in short] == []
    assert {starts[0] for starts in starts_of.values() if starts} == set(STATEMENTS)
    for place in STATEMENTS.values():
        file, _, name = place.partition("::")
        assert f"def {name}(" in (HOME / file).read_text("utf8"), place


def test_its_facts_are_those_of_the_project() -> None:
    """Version of Python, license, extras, agents and folders that the README names are there."""
    text = README.read_text("utf8")
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf8"))["project"]
    assert project["requires-python"] == ">=3.11"
    assert "Python 3.11 or later" in text
    assert project["license"] == "MIT"
    assert "hybrid" in project["optional-dependencies"]
    # A release changes three sentences of the README.
    assert "Unreleased" in (HOME / "CHANGELOG.md").read_text("utf8")
    assert (HOME / "examples" / "handbook").is_dir()


def typed(text: str) -> Iterator[list[str]]:
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
    assert sum(len(list(typed(page.read_text("utf8")))) for page in PAGES) > 40


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(HOME)))
def test_commands_of_a_page_can_be_typed(page: Path) -> None:
    """Each is parsed without an error, and not run."""
    register(["--help"])
    root: Any = typer.main.get_command(app)
    for words in typed(page.read_text("utf8")):
        command, rest = root, list(words)
        while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
            if isinstance(command, DefaultGroup) and rest[0] not in command.commands:
                rest.insert(0, command.default)
            name = rest.pop(0)
            assert name in command.commands, f"sleuth {shlex.join(words)}"
            command = command.commands[name]
        if not hasattr(command, "commands") and "--help" not in rest:
            command.make_context(command.name, rest)
