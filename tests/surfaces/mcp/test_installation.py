"""Sleuth is added to the settings of each agent, and its removal restores them byte for byte."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register
from sleuth.surfaces.mcp import CLIENTS, Client, Scope, install, present_clients, uninstall
from sleuth.surfaces.mcp.edits import read_json

SETTINGS = {
    "claude-code": """{
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/",
      "headers": { "Authorization": "Bearer ${GITHUB_TOKEN}" }
    }
  }
}
""",
    "claude-desktop": '{\n  "globalShortcut": "Ctrl+Space",\n  "mcpServers": {}\n}',
    "cursor": '{"mcpServers": {"postgres": {"command": "npx", "args": ["-y", "server-postgres"]}}}\n',
    "vscode": """{
	// Servers of this workspace.
	"inputs": [
		{ "type": "promptString", "id": "key", "password": true },
	],
	"servers": {
		"playwright": {
			"command": "npx",
			"args": ["@playwright/mcp@latest"], // the browser
		},
	},
}
""",
    "codex": """model = "gpt-5-codex"   # default
approval_policy = "on-request"

[mcp_servers.docs]
command = "npx"
args = ["-y", "mcp-server"]

[mcp_servers.docs.env]
"KEY" = "value"

[projects."/home/ada/shop"]
trust_level = "trusted"
""",
    "gemini-cli": """{
  "theme": "GitHub",
  /* tools of the team */
  "mcpServers": {
    "team": { "command": "python", "args": ["-m", "team"], "cwd": "./tools", "timeout": 15000, "trust": false }
  },
  "telemetry": { "enabled": false }
}
""",
    "opencode": """{
  "$schema": "https://opencode.ai/config.json",
  "model": "anthropic/claude",
  "mcp": {
    "everything": {
      "type": "local",
      "command": ["npx", "-y", "server-everything"],
      "enabled": false,
    },
  },
}
""",
    "zed": """// Zed settings
//
// For information on how to configure Zed, see the documentation.
{
  "theme": {
    "mode": "system",
    "light": "One Light",
  },
  "context_servers": {
    // disabled for now
  },
  "vim_mode": true,
}
""",
    "cline": """{
  "mcpServers": {
    "brave": {
      "command": "npx",
      "args": ["-y", "server-brave"],
      "disabled": false,
      "alwaysAllow": ["search"],
      "timeout": 60
    }
  }
}""",
    "continue": '{\r\n  "mcpServers": {\r\n    "other": {"command": "x"}\r\n  }\r\n}\r\n',
    "windsurf": '{\n  "mcpServers": {\n    "remote": {"serverUrl": "https://example.org/mcp"}\n  }\n}\n',
    "jetbrains": "{}",
}
"""Settings as each agent or its users write them."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty project with no agent on the machine; the home folder is beside it."""
    for folder in ("home", "project", "bin"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder with their bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def entry_in(client: Client, path: Path) -> Any:
    """Return the entry of Sleuth in a settings file."""
    text = path.read_text("utf-8")
    if path.suffix == ".toml":
        return tomllib.loads(text)["mcp_servers"].get("sleuth")
    return read_json(text, (*client.keys, "sleuth"))


def scopes(client: Client) -> list[Scope]:
    return ["project", "user"] if client.project else ["user"]


CASES = [(client, scope) for client in CLIENTS.values() for scope in scopes(client)]


@pytest.mark.parametrize(("client", "scope"), CASES, ids=lambda value: getattr(value, "name", value))
def test_removal_restores_settings_byte_for_byte(client: Client, scope: Scope, project: Path) -> None:
    """The entry is added beside others and comments, again changes nothing, and its removal leaves no trace."""
    path = client.path(scope, project)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(SETTINGS[client.name].encode())
    path.chmod(0o640)
    before = contents(project.parent)
    backup = install(client.name, scope, project).write()
    assert backup is not None
    assert backup.read_bytes() == SETTINGS[client.name].encode()
    entry = entry_in(client, path)
    command = entry["command"] if client.joined else [entry["command"], *entry["args"]]
    assert "mcp" in command
    assert ("--root" in command) == bool(client.arguments)
    assert all(f"{key}" in entry for key, _ in client.extra)
    assert all(word in path.read_text("utf-8") for word in re.findall(r"[\w./-]+", SETTINGS[client.name]))
    assert install(client.name, scope, project).diff == ""
    uninstall(client.name, scope, project).write()
    assert contents(project.parent) == before
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(("client", "scope"), CASES, ids=lambda value: getattr(value, "name", value))
def test_a_file_that_install_made_is_removed(client: Client, scope: Scope, project: Path) -> None:
    """A settings file that did not exist before does not exist after the removal."""
    path = client.path(scope, project)
    assert install(client.name, scope, project).write() is None
    assert path.stat().st_mode & 0o777 == 0o600
    assert entry_in(client, path)
    edit = uninstall(client.name, scope, project)
    assert f"--- {path}" in edit.diff
    edit.write()
    assert not contents(project.parent)


@pytest.mark.parametrize("client", ["vscode", "codex", "zed"])
def test_changes_of_others_stay(client: str, project: Path) -> None:
    """What somebody else wrote after the installation stays when Sleuth is removed; a copy is kept."""
    agent = CLIENTS[client]
    path = agent.path("project", project)
    path.parent.mkdir(parents=True)
    path.write_text(SETTINGS[client], "utf-8")
    install(client, "project", project).write()
    mark = "# added later\n" if client == "codex" else "// added later\n"
    path.write_text(mark + path.read_text("utf-8"), "utf-8")
    backup = uninstall(client, "project", project).write()
    assert backup is not None
    assert entry_in(agent, path) is None
    assert path.read_text("utf-8").startswith(mark)
    assert all(word in path.read_text("utf-8") for word in re.findall(r"[\w./-]+", SETTINGS[client]))


def test_settings_with_another_suffix_are_edited(project: Path) -> None:
    """If an agent's settings are a `.jsonc` file, the entry goes there."""
    (project / "opencode.jsonc").write_text(SETTINGS["opencode"], "utf-8")
    install("opencode", "project", project).write()
    assert "sleuth" in (project / "opencode.jsonc").read_text("utf-8")
    assert not (project / "opencode.json").exists()


def test_an_agent_without_project_settings_needs_the_user_scope(project: Path) -> None:
    """Its settings in a project are refused, with the scope that works."""
    with pytest.raises(ArgumentError, match="scope must be user for windsurf"):
        install("windsurf", "project", project)


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)
def test_agents_are_found_by_their_traces(client: Client, project: Path) -> None:
    """An agent is present by its folder in the home, by its command, or by its settings in the project."""
    home = project.parent / "home"
    assert not list(present_clients(project))
    for sign in client.signs:
        (home / sign).mkdir(parents=True)
        assert client in list(present_clients(project))
        (home / sign).rmdir()
    for name in client.programs:
        program = project.parent / "bin" / name
        program.write_text("#!/bin/sh\n", "utf-8")
        program.chmod(0o755)
        assert client in list(present_clients(project))
        program.unlink()
    if client.project:
        (project / client.project).parent.mkdir(parents=True, exist_ok=True)
        (project / client.project).write_text("", "utf-8")
        assert client in list(present_clients(project))


def run(*arguments: str, answer: str = "") -> Result:
    register([arguments[0]])
    return CliRunner().invoke(app, list(arguments), input=answer)


def test_the_agents_that_are_there_get_everything_and_lose_it_again(project: Path) -> None:
    """`sleuth install --guide --skill` finds agents and writes three kinds of files; `uninstall` restores them all."""
    (project / ".cursor").mkdir()
    (project / ".cursor" / "mcp.json").write_text(SETTINGS["cursor"], "utf-8")
    (project / ".mcp.json").write_text(SETTINGS["claude-code"], "utf-8")
    (project / "AGENTS.md").write_text("# Rules\n\nRun the tests.", "utf-8")
    (project / "CLAUDE.md").write_text("Read AGENTS.md.\n", "utf-8")
    before = contents(project.parent)
    result = run("install", "--guide", "--skill", "--yes")
    assert result.exit_code == 0, result.output
    assert "Agents: claude-code, cursor" in result.output
    for name in ("AGENTS.md", "CLAUDE.md"):
        text = (project / name).read_text("utf-8")
        assert text.startswith(before[f"project/{name}"].decode())
        assert "`references`" in text
    skill = (project / ".claude" / "skills" / "sleuth" / "SKILL.md").read_text("utf-8")
    assert skill.startswith("---\nname: sleuth\ndescription: ")
    assert (project / ".agents" / "skills" / "sleuth" / "SKILL.md").read_text("utf-8") == skill
    again = contents(project.parent)
    assert run("install", "--guide", "--skill", "--yes").exit_code == 0
    assert contents(project.parent) == again
    result = run("uninstall", "--yes")
    assert result.exit_code == 0, result.output
    assert contents(project.parent) == before


def test_no_agent_and_no_name(project: Path) -> None:
    """Where no agent is found, the command says how to name one."""
    result = run("install", "--yes")
    assert result.exit_code != 0
    assert isinstance(result.exception, ArgumentError)
    assert "client must be named" in str(result.exception)


def test_settings_that_cannot_be_read_do_not_stop_the_others(project: Path) -> None:
    """Broken settings of one agent are reported and left alone; the other agents get their entry."""
    (project / ".mcp.json").write_text("{broken", "utf-8")
    result = run("install", "claude-code", "cursor", "--yes")
    assert result.exit_code == 1
    assert (project / ".mcp.json").read_text("utf-8") == "{broken"
    assert json.loads((project / ".cursor" / "mcp.json").read_text("utf-8"))["mcpServers"]["sleuth"]
