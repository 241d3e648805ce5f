"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_python_tour_prints_what_it_says(tmp_path: Path) -> None:
    """The library's example, run in an empty folder, prints the block below it."""
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text(), re.DOTALL)
    assert found
    code, shown = found.groups()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == shown


def test_every_command_is_named() -> None:
    """The table of commands is complete."""
    from sleuth.surfaces.cli.app import COMMANDS

    text = README.read_text()
    for command in COMMANDS:
        assert f"sleuth {command}" in text


def test_links_lead_somewhere() -> None:
    """Every relative link of the README is a file."""
    for link in re.findall(r"\]\(([^)#:]+)\)", README.read_text()):
        assert (README.parent / link).exists(), link
