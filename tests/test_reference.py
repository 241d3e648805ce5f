"""The reference is written from the code, and links to it lead somewhere."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sleuth.surfaces.cli.main import command_names
from tests.test_links import anchors

HOME = Path(__file__).parents[1]
TOOL = runpy.run_path(str(HOME / "tools" / "reference.py"))
SHELL_FILES = runpy.run_path(str(HOME / "tools" / "shell_files.py"))


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Return the pages by name, as `make reference` writes them."""
    return {name: TOOL["page"](name) for name in TOOL["WRITERS"]}


def test_links_to_the_reference_lead_somewhere(pages: dict[str, str], tmp_path: Path) -> None:
    """Each link of a page to the reference is a page of it, and each anchor a heading of that page."""
    places: list[tuple[str, str]] = []
    for page in [*HOME.glob("*.md"), *(HOME / "docs").rglob("*.md")]:
        if page.parent != TOOL["PAGES"]:
            places += re.findall(
                r"\]\([./]*(?:docs/)?reference/([\w-]+\.md)#?([\w-]*)\)", page.read_text("utf8")
            )
    assert len(places) > len(pages)
    for name, anchor in places:
        (tmp_path / name).write_text(pages[name], "utf8")
        assert not anchor or anchor in anchors(tmp_path / name), f"{name}#{anchor}"


def test_commands_of_groups_are_there(pages: dict[str, str]) -> None:
    """The command line has each command, those of groups too, and each option with its short form."""
    text = pages["command-line.md"]
    for name in command_names():
        assert f"\n## sleuth {name}\n" in text
    assert "\n### sleuth code refs\n" in text
    assert "| `--repo`, `-r` |" in text
    assert "[bold]" not in text


def test_variables_of_the_environment_are_listed() -> None:
    """Each variable that the package reads by a name of its own is in the table, and no other."""
    listed = {name for name in TOOL["VARIABLES"] if name.startswith("SLEUTH_")}
    assert listed == TOOL["read_variables"]()


def test_links_within_a_page_have_headings(pages: dict[str, str]) -> None:
    """Each object that the HTTP reference links has a heading."""
    text = pages["http.md"]
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
    assert [
        name for name in command_names() if not re.search(rf"^ +{name}\b", result.stdout, re.MULTILINE)
    ] == []


def test_bash_completes_commands() -> None:
    """After the script is read, bash completes `sleuth sea` to `search`."""
    programs = Path(sys.executable).parent
    script = """. "$1"; COMP_WORDS=(sleuth sea); COMP_CWORD=1; _sleuth_completion sleuth; echo "${COMPREPLY[@]}" """
    result = subprocess.run(
        ["bash", "-c", script, "bash", str(HOME / "share" / "bash" / "sleuth")],
        capture_output=True, text=True, check=True, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert result.stdout == "search\n"
