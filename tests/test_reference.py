"""The pages of docs/reference say what the code says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from sleuth.surfaces.cli.main import COMMANDS

HOME = Path(__file__).parents[1]
TOOL = runpy.run_path(str(HOME / "tools" / "reference.py"))
PAGES: Path = TOOL["PAGES"]


@pytest.mark.parametrize("name", TOOL["WRITERS"])
def test_a_page_is_what_the_tool_writes(name: str) -> None:
    """Each page equals what `make reference` writes now."""
    assert (PAGES / name).read_text("utf8") == TOOL["page"](name), "run `make reference`"


def test_no_page_is_left_over() -> None:
    """The folder has the pages that the tool writes, and no other."""
    assert {path.name for path in PAGES.iterdir()} == set(TOOL["WRITERS"])


def test_commands_of_groups_are_there() -> None:
    """The command line has each command, those of groups too, and each option with its short form."""
    text = (PAGES / "command-line.md").read_text("utf8")
    for name in COMMANDS:
        assert f"\n## sleuth {name}\n" in text
    assert "\n### sleuth code refs\n" in text
    assert "| `--index`, `-i` |" in text
    assert "[bold]" not in text


def test_variables_of_the_environment_are_listed() -> None:
    """Each variable that the package reads by a name of its own is in the table, and no other."""
    listed = {name for name in TOOL["VARIABLES"] if name.startswith("SLEUTH_")}
    assert listed == TOOL["read_variables"]()


def test_links_within_a_page_have_headings() -> None:
    """Each object that the HTTP reference links has a heading."""
    text = (PAGES / "http.md").read_text("utf8")
    headings = {name.lower() for name in re.findall(r"^### (\w+)$", text, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", text)) - headings == set()
