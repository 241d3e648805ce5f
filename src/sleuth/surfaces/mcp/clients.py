"""Where the agents that can use Sleuth keep their lists of servers, and what to write there."""

from __future__ import annotations

import difflib
import os
import shutil
import stat
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sleuth.errors import ArgumentError
from sleuth.files import whole_file
from sleuth.surfaces.mcp import edits

Scope = Literal["project", "user"]
NAME = "sleuth"


@dataclass(frozen=True, slots=True)
class Client:
    """An agent.

    Attributes:
        project: its settings in a project; user: those in the home folder.
        keys: path to its servers in the settings.
        arguments: given to `sleuth mcp`, so that it answers about the project that is open.
        extra: further fields of the entry.
    """

    name: str
    project: str
    user: str
    keys: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    extra: tuple[tuple[str, Any], ...] = ()

    def path(self, scope: Scope, folder: Path) -> Path:
        """Return the settings file, with links resolved."""
        return (folder / self.project if scope == "project" else Path.home() / self.user).resolve()

    def entry(self, index: Path | None) -> dict[str, Any]:
        """Return the entry that starts the server."""
        program = shutil.which(NAME)
        command = [program] if program else [sys.executable, "-m", NAME]
        arguments = [*command[1:], "mcp", *self.arguments]
        if index is not None:
            arguments += ["--index", str(index.absolute())]
        return {**dict(self.extra), "command": command[0], "args": arguments}


_VSCODE = "Library/Application Support/Code" if sys.platform == "darwin" else ".config/Code"
_OPENED = ("--root", "${workspaceFolder}")
_STDIO = (("type", "stdio"),)
CLIENTS = {
    client.name: client
    for client in (
        Client("claude-code", ".mcp.json", ".claude.json", ("mcpServers",), extra=_STDIO),
        Client("cursor", ".cursor/mcp.json", ".cursor/mcp.json", ("mcpServers",), _OPENED, _STDIO),
        Client("vscode", ".vscode/mcp.json", f"{_VSCODE}/User/mcp.json", ("servers",), _OPENED, _STDIO),
        Client(
            "codex",
            ".codex/config.toml",
            ".codex/config.toml",
            ("mcp_servers",),
            extra=(("startup_timeout_sec", 30),),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a settings file that is not written yet.

    Attributes:
        before: None where there is no file.
    """

    path: Path
    before: str | None
    after: str

    @property
    def diff(self) -> str:
        """What would change; "" where nothing would."""
        lines = (self.before or "").splitlines(), self.after.splitlines()
        names = str(self.path) if self.before is not None else os.devnull, str(self.path)
        return "\n".join(difflib.unified_diff(*lines, *names, lineterm=""))

    def write(self) -> Path | None:
        """Replace the file in one step.

        Returns:
            Where the old one is kept; None where there was none.

        Raises:
            ArgumentError: the file changed since it was read.
        """
        if _read(self.path) != self.before:
            raise ArgumentError(
                f"{self.path} must stay as it is meanwhile, and has changed: run the command again"
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        if self.before is not None:
            backup = self.path.with_name(f"{self.path.name}.{time.strftime('%Y%m%d-%H%M%S')}.bak")
            shutil.copy2(self.path, backup)
        mode = 0o600 if backup is None else stat.S_IMODE(self.path.stat().st_mode)
        with whole_file(self.path, mode=mode) as file:
            file.write(self.after.encode())
        return backup


def install(client: str, scope: Scope, folder: Path, *, index: Path | None = None) -> Edit:
    """Return the change that adds Sleuth to the servers of a client, or brings its entry up to date.

    Raises:
        ArgumentError: an unknown client, or settings that cannot be read.
    """
    agent = client_named(client)
    path = agent.path(scope, folder)
    before = _read(path)
    keys, entry = (*agent.keys, NAME), agent.entry(index)
    if path.suffix == ".toml":
        return Edit(path, before, edits.set_toml(before or "", keys, entry))
    return Edit(path, before, edits.set_json(before or "", keys, entry))


def uninstall(client: str, scope: Scope, folder: Path) -> Edit:
    """Return the change that removes Sleuth from the servers of a client.

    Raises:
        ArgumentError: an unknown client, or settings that cannot be read.
    """
    agent = client_named(client)
    path = agent.path(scope, folder)
    before = _read(path)
    keys: Sequence[str] = (*agent.keys, NAME)
    if path.suffix == ".toml":
        return Edit(path, before, edits.remove_toml(before or "", keys))
    return Edit(path, before, edits.remove_json(before or "", keys))


def client_named(name: str) -> Client:
    """Return the client with that name.

    Raises:
        ArgumentError: an unknown one; lists those there are.
    """
    if name not in CLIENTS:
        raise ArgumentError(f"client must be one of {', '.join(CLIENTS)}, got {name!r}")
    return CLIENTS[name]


def _read(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path} must be a text file that can be read: {error}") from None
