"""`sleuth mcp install` runs the command of an agent or prints its entry, and the pages about agents are true."""

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from sleuth.surfaces.mcp import TOOLS
from tests.commands import sleuth


def test_the_entry_is_printed(tmp_path: Path) -> None:
    """Without a name the entry is printed as JSON, with the index that is named, and what else there is."""
    shown = sleuth("mcp", "install", "--index", "here", cwd=tmp_path)
    (entry,) = json.loads(shown.stdout)["mcpServers"].values()
    assert entry["args"][-3:] == ["mcp", "--index", str(tmp_path / "here")]
    assert "sleuth mcp install NAME" in shown.stderr


@pytest.mark.parametrize(
    ("client", "program", "words"),
    [
        ("claude-code", "claude", ["mcp", "add", "sleuth", "--"]),
        ("codex", "codex", ["mcp", "add", "sleuth", "--"]),
        ("gemini-cli", "gemini", ["mcp", "add", "sleuth"]),
        ("vscode", "code", ["--add-mcp"]),
    ],
)
def test_the_command_of_an_agent_is_run(tmp_path: Path, client: str, program: str, words: list[str]) -> None:
    """Its command is shown and run with the command of the server; in a dry run it is only shown."""
    log = tmp_path / "log"
    script = tmp_path / program
    script.write_text(f'#!/bin/sh\nfor a in "$@"; do echo "$a" >> {log}; done\nexit 3\n')
    script.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    shown = sleuth("mcp", "install", client, "--dry-run", cwd=tmp_path, PATH=path)
    assert (shown.returncode, log.exists()) == (0, False)
    assert shown.stdout.startswith(f"$ {program} ")
    assert sleuth("mcp", "install", client, "--yes", cwd=tmp_path, PATH=path).returncode == 3
    lines = log.read_text().splitlines()
    assert lines[: len(words)] == words
    assert "mcp" in lines[-1]


def test_unknown_and_missing_agents_are_refused(tmp_path: Path) -> None:
    """Another name is refused with those there are, and an agent whose program is missing with that."""
    unknown = sleuth("mcp", "install", "emacs", cwd=tmp_path)
    assert (unknown.returncode, "claude-code, codex, gemini-cli, vscode, got 'emacs'" in unknown.stderr) == (
        2,
        True,
    )
    missing = sleuth("mcp", "install", "codex", "--yes", cwd=tmp_path, PATH=str(tmp_path))
    assert "the program codex is not in the PATH" in missing.stderr


def test_the_guide_is_printed(tmp_path: Path) -> None:
    """The guide and the skill name the tools."""
    for option in ("--guide", "--skill"):
        assert "`references`" in sleuth("mcp", "install", option, cwd=tmp_path).stdout


ROOT = Path(__file__).parents[3]
GUIDE = "\n".join(
    (ROOT / "docs" / page).read_text("utf-8") for page in ("how-to/agents.md", "concepts/agents.md")
)


def test_every_tool_is_described() -> None:
    """Each tool is listed with its arguments."""
    for tool in TOOLS:
        (row,) = [line for line in GUIDE.splitlines() if line.startswith(f"| `{tool.name}` |")]
        assert re.findall(r"`(\w+)`", row)[1 : 1 + len(tool.properties)] == list(tool.properties)


def test_the_entry_for_the_registry_is_of_this_version() -> None:
    """`server.json` has the version of the package and the name in the README, and starts the command `mcp`."""
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (package,) = entry["packages"]
    assert {entry["version"], package["version"]} == {project["version"]}
    assert package["identifier"] == project["name"]
    assert f"mcp-name: {entry['name']} " in (ROOT / "README.md").read_text("utf-8")
    assert len(entry["description"]) <= 100  # a limit of the registry
    assert [each["value"] for each in package["packageArguments"]] == ["mcp"]
    assert package["runtimeArguments"][0]["value"] == f"{project['name']}[mcp]"
