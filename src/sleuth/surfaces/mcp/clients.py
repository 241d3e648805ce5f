"""Where the agents that can use Sleuth keep their lists of servers, and what to write there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sleuth.errors import ArgumentError

Scope = Literal["project", "user"]
NAME = "sleuth"

_CONFIG = "Library/Application Support" if sys.platform == "darwin" else ".config"
_CODE = f"{_CONFIG}/Code/User"
_FOLDER = ""
"""In arguments: the folder of the project, for agents that do not start servers there."""


@dataclass(frozen=True, slots=True)
class Client:
    """An agent.

    Attributes:
        project: its settings in a project, "" for an agent without them; user: those in the home folder.
        keys: path to its servers in the settings.
        arguments: given to `sleuth mcp`, so that it answers about the project that is open.
        extra: further fields of the entry.
        signs: files or folders in the home folder that an installed agent has; programs: its commands.
        joined: whether the program and its arguments are one list, `command`.
        default: where its entry goes if nobody says so.
        reads: the file in which it looks for instructions; skills: the folder in which it looks for skills.
    """

    name: str
    project: str
    user: str
    keys: tuple[str, ...] = ("mcpServers",)
    arguments: tuple[str, ...] = ()
    extra: tuple[tuple[str, Any], ...] = ()
    signs: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    joined: bool = False
    default: Scope = "project"
    reads: str = "AGENTS.md"
    skills: str = ".agents/skills"

    def path(self, scope: Scope, folder: Path) -> Path:
        """Return the settings file, with links resolved.

        Raises:
            ArgumentError: the agent has no settings in a project.
        """
        if scope == "project" and not self.project:
            raise ArgumentError(
                f"scope must be user for {self.name}, which has no settings in a project, got 'project'"
            )
        name = self.project if scope == "project" else self.user
        path = (folder if scope == "project" else Path.home()) / name
        other = path.with_suffix(".jsonc")
        return (other if path.suffix == ".json" and other.exists() and not path.exists() else path).resolve()

    def entry(self, index: Path | None, folder: Path) -> dict[str, Any]:
        """Return the entry that starts the server for the project in a folder."""
        program = shutil.which(NAME)
        command = [program] if program else [sys.executable, "-m", NAME]
        arguments = [
            *command[1:],
            "mcp",
            *(str(folder.absolute()) if part == _FOLDER else part for part in self.arguments),
        ]
        if index is not None:
            arguments += ["--index", str(index.absolute())]
        if self.joined:
            return {**dict(self.extra), "command": [command[0], *arguments]}
        return {**dict(self.extra), "command": command[0], "args": arguments}

    def is_present(self, folder: Path) -> bool:
        """Return whether the agent seems to be in use.

        Its files are in the home folder, its program is on the PATH, or the project in a folder has its settings file,
        or a folder for this file.
        """
        # The folder of these settings files is the project itself, which is there whichever agent is in use.
        is_in_project_itself = self.project in ("", "opencode.json", ".mcp.json")
        places = [Path.home() / sign for sign in self.signs]
        places += [folder / self.project] if self.project else []
        places += [] if is_in_project_itself else [(folder / self.project).parent]
        return any(place.exists() for place in places) or any(map(shutil.which, self.programs))


_OPENED = ("--root", "${workspaceFolder}")
_HERE = ("--root", _FOLDER)
_STDIO = (("type", "stdio"),)
_ALL = (
    Client(
        "claude-code", ".mcp.json", ".claude.json", extra=_STDIO,
        signs=(".claude.json", ".claude"), programs=("claude",), reads="CLAUDE.md", skills=".claude/skills",
    ),
    Client(
        "claude-desktop", "", f"{_CONFIG}/Claude/claude_desktop_config.json", arguments=_HERE,
        signs=(f"{_CONFIG}/Claude",), default="user", reads="CLAUDE.md", skills=".claude/skills",
    ),
    Client(
        "cursor", ".cursor/mcp.json", ".cursor/mcp.json", arguments=_OPENED, extra=_STDIO,
        signs=(".cursor",), programs=("cursor",),
    ),
    Client(
        "vscode", ".vscode/mcp.json", f"{_CODE}/mcp.json", ("servers",), _OPENED, _STDIO,
        signs=(_CODE, ".vscode"), programs=("code",),
    ),
    Client(
        "codex", ".codex/config.toml", ".codex/config.toml", ("mcp_servers",),
        extra=(("startup_timeout_sec", 30),), signs=(".codex",), programs=("codex",), default="user",
    ),
    Client(
        "gemini-cli", ".gemini/settings.json", ".gemini/settings.json",
        signs=(".gemini",), programs=("gemini",),
    ),
    Client(
        "opencode", "opencode.json", ".config/opencode/opencode.json", ("mcp",),
        extra=(("type", "local"), ("enabled", True)),
        signs=(".config/opencode",), programs=("opencode",), joined=True,
    ),
    Client(
        "zed", ".zed/settings.json", ".config/zed/settings.json", ("context_servers",),
        extra=(("source", "custom"),), signs=(".config/zed",), programs=("zed", "zeditor"),
    ),
    Client(
        "cline", "", f"{_CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        arguments=_HERE, signs=(f"{_CODE}/globalStorage/saoudrizwan.claude-dev",), default="user",
    ),
    Client(
        "continue", ".continue/mcpServers/sleuth.json", ".continue/mcpServers/sleuth.json",
        signs=(".continue",), programs=("cn",),
    ),
    Client(
        "windsurf", "", ".codeium/windsurf/mcp_config.json", arguments=_HERE,
        signs=(".codeium/windsurf",), programs=("windsurf",), default="user",
    ),
    Client(
        "jetbrains", ".junie/mcp/mcp.json", ".junie/mcp/mcp.json", arguments=_HERE,
        signs=(".junie", f"{_CONFIG}/JetBrains"), programs=("junie",),
    ),
)  # fmt: skip
CLIENTS = {client.name: client for client in _ALL}


def client_named(name: str) -> Client:
    """Return the client with that name.

    Raises:
        ArgumentError: an unknown one; lists those there are.
    """
    if name not in CLIENTS:
        raise ArgumentError(f"client must be one of {', '.join(CLIENTS)}, got {name!r}")
    return CLIENTS[name]


def present_clients(folder: Path) -> Iterator[Client]:
    """Yield the agents that are installed, or that the project in a folder has settings for."""
    return (client for client in CLIENTS.values() if client.is_present(folder))
