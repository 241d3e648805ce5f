"""The examples, links and commands of the README are true."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parents[1]
README = HOME / "README.md"
PICTURE = runpy.run_path(str(HOME / "tools" / "terminal_picture.py"))


def test_the_python_example_prints_its_output(tmp_path: Path) -> None:
    """The Python example prints the block below it in an empty folder."""
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text("utf8"), re.DOTALL)
    assert match
    code, expected = match.groups()
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.stdout == expected


def test_the_commands_print_their_outputs() -> None:
    """Every command at the shell prints what the README shows, to the last character."""
    text = README.read_text("utf8")
    assert PICTURE["with_outputs"](text) == text
    assert text.count("$ sleuth ") >= 5


def test_the_readme_is_short() -> None:
    """It has at most 120 lines."""
    assert len(README.read_text("utf8").splitlines()) < 120


def test_every_command_is_named() -> None:
    """The table of commands in the guide of the shell is complete."""
    from sleuth.surfaces.cli.main import COMMANDS

    text = (HOME / "docs" / "how-to" / "shell.md").read_text("utf8")
    for command in COMMANDS:
        assert f"`sleuth {command}" in text


def test_links_lead_somewhere() -> None:
    """Every relative link of the README is a file."""
    for link in re.findall(r"\]\(([^)#:]+)\)", README.read_text("utf8")):
        assert (HOME / link).exists(), link
