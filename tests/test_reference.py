"""The pages of docs/reference say what the code says."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sleuth.surfaces.cli.main import COMMANDS

HOME = Path(__file__).parents[1]
TOOL = runpy.run_path(str(HOME / "tools" / "reference.py"))
PAGES: Path = TOOL["PAGES"]
SHELL_FILES = runpy.run_path(str(HOME / "tools" / "shell_files.py"))


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


def test_the_manual_and_the_completions_are_what_the_tool_writes() -> None:
    """Each file of share equals what `make reference` writes now, and the wheel installs each."""
    folder: Path = SHELL_FILES["FOLDER"]
    files = SHELL_FILES["files"]()
    assert {name: (folder / name).read_text("utf8") for name in files} == files, "run `make reference`"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == files.keys()
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf8"))
    installed = [name for names in project["tool"]["setuptools"]["data-files"].values() for name in names]
    assert sorted(installed) == sorted(f"share/{name}" for name in files)


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_man_reads_the_manual() -> None:
    """`man` shows the page without a warning, with each command."""
    result = subprocess.run(
        ["man", "--warnings", "-l", str(HOME / "share" / "man" / "sleuth.1")],
        capture_output=True, text=True, check=False, env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")
    assert [name for name in COMMANDS if not re.search(rf"^ +{name}\b", result.stdout, re.MULTILINE)] == []


def test_bash_completes_commands() -> None:
    """After the script is read, bash completes `sleuth sea` to `search`."""
    programs = Path(sys.executable).parent
    script = """. "$1"; COMP_WORDS=(sleuth sea); COMP_CWORD=1; _sleuth_completion sleuth; echo "${COMPREPLY[@]}" """
    result = subprocess.run(
        ["bash", "-c", script, "bash", str(HOME / "share" / "bash" / "sleuth")],
        capture_output=True, text=True, check=True, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert result.stdout == "search\n"
