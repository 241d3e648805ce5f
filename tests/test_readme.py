"""The examples and links of the README are true."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_python_tour_prints_what_it_says(tmp_path: Path) -> None:
    """The Python example prints the block below it in an empty folder."""
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text(), re.DOTALL)
    assert match
    code, expected = match.groups()
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.stdout == expected


def test_the_tour_at_a_shell_finds_what_it_shows(tmp_path: Path) -> None:
    """Each command works over these guides; the pages that it shows first and cites are those that the README has."""
    block = next(
        block
        for block in re.findall(r"```console\n(.*?)```", README.read_text(), re.DOTALL)
        if "sleuth ask" in block
    )
    shutil.copytree(README.parent / "docs", tmp_path / "docs")
    outputs = []
    for part in re.split(r"^\$ sleuth ", block, flags=re.MULTILINE)[1:]:
        command, expected = part.split("\n", 1)
        result = subprocess.run(
            [sys.executable, "-m", "sleuth", *shlex.split(command)],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        outputs.append((expected, result.stdout))
    (_, indexed), (first_line, hit), (answer, answered) = outputs
    assert re.search(r"^\d+ documents, \d+ passages in .sleuth$", indexed, re.MULTILINE)
    assert hit.split(":")[0] == first_line.split(":")[0] == " 1 docs/filters.md"
    cited = re.compile(r"^\[1\] (\S+):", re.MULTILINE)
    assert cited.findall(answered) == cited.findall(answer)
    assert answered.splitlines()[1] in answer


def test_every_command_is_named() -> None:
    """The table of commands is complete."""
    from sleuth.surfaces.cli.main import COMMANDS

    text = README.read_text()
    for command in COMMANDS:
        assert f"sleuth {command}" in text


def test_links_lead_somewhere() -> None:
    """Every relative link of the README is a file."""
    for link in re.findall(r"\]\(([^)#:]+)\)", README.read_text()):
        assert (README.parent / link).exists(), link
