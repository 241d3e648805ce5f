"""Each table of the measured pages has the command that prints it, and that command exists."""

import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
PAGES = sorted((HOME / "docs" / "measured").glob("*.md"))
COMMAND = re.compile(r"`+(python -m |python tools/|make |sleuth )")
SCRIPT = re.compile(r"\bpython (?:-m (benchmarks[\w.]*)|(tools/\w+\.py))")


def sections(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Return each section with the headings above it, the page's own first."""
    path: list[str] = []
    result: list[tuple[tuple[str, ...], str]] = []
    for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        if heading := re.match(r"(#+) (.*)", part):
            path = [*path[: len(heading[1]) - 1], heading[2]]
        result.append((tuple(path), part))
    return result


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_table_has_its_command(page: Path) -> None:
    """The section of a table, or one that it belongs to, names a command; "On paper" is worked out from others."""
    parts = sections(page.read_text("utf8"))
    commands = {headings for headings, text in parts if COMMAND.search(text)}
    for headings, text in parts:
        if re.search(r"^\|[-| :]+\|$", text, re.MULTILINE) and headings[-1] != "On paper":
            above = {headings[:depth] for depth in range(1, len(headings) + 1)}
            assert above & commands, f"{page.name}: no command for the table of {headings[-1]!r}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_script_is_here(page: Path) -> None:
    """The scripts that a page names are in the checkout."""
    for module, file in SCRIPT.findall(page.read_text("utf8")):
        path = HOME / (file or module.replace(".", "/"))
        assert path.exists() or path.with_suffix(".py").exists(), module or file
