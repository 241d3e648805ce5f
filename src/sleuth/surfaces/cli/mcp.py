"""sleuth mcp and mcp install: serves documents and code to agents, and adds Sleuth to them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from sleuth.cluster.places import address_of
from sleuth.errors import ArgumentError, requires
from sleuth.surfaces.cli.app import mcp_commands
from sleuth.surfaces.cli.common import say
from sleuth.surfaces.cli.defaults import synonyms_file
from sleuth.surfaces.cli.opening import open_index
from sleuth.surfaces.cli.options import command
from sleuth.surfaces.cli.places import NAME, index_folder

EXAMPLES = """
  sleuth mcp                                 serve the index of this folder on standard input and output
  claude mcp add sleuth -- sleuth mcp        add it to an agent; `sleuth mcp install` does it for some
"""


@command(mcp_commands, "serve", EXAMPLES)
def serve(
    *,
    root: Annotated[
        Path | None, "The worktree or folder that answers are about. Default: the current folder."
    ] = None,
    refresh: Annotated[bool, "Index files that changed, in the background."] = True,
    no_index: Annotated[bool, "Do not index the folder at the first call where nothing is indexed."] = False,
    index: Path | None = None,
) -> None:
    """Serve documents and code to an agent on standard input and output, until it closes them."""
    from sleuth.engine import Workspace

    with requires("mcp", "mcp", "sleuth mcp"):
        from sleuth.surfaces.mcp.server import serve_stdio

    if root is not None:
        os.chdir(root)
    folder, cwd = index_folder(index), Path.cwd()
    # An index that is named without a root answers for all that it holds, not for the current folder.
    worktree = None if index is not None and root is None else cwd
    if index is None and folder == cwd / NAME and not folder.exists():  # of the whole worktree
        folder = next((up for up in (cwd, *cwd.parents) if (up / ".git").exists()), cwd) / NAME
    engine = open_index(index) if address_of(folder) else None
    options: dict[str, Any] = {"refresh": refresh, "index_first": not no_index, "synonyms": synonyms_file()}
    serve_stdio(Workspace(engine.path if engine else folder, worktree, engine=engine, **options))


SERVER: Final = "sleuth"
"""The name of the server among those of an agent, and the program."""

ADDING: Final = {
    "claude-code": ("claude", "mcp", "add", SERVER, "--"),
    "codex": ("codex", "mcp", "add", SERVER, "--"),
    "gemini-cli": ("gemini", "mcp", "add", SERVER),
}
"""By agent, its command that adds a server; the command of the server follows."""

INSTALL_EXAMPLES: Final = """
  sleuth mcp install                  the entry for the settings of any agent
  sleuth mcp install claude-code      run `claude mcp add`, after asking
  sleuth mcp install --guide >> AGENTS.md
"""


@command(mcp_commands, "install", INSTALL_EXAMPLES)
def install(
    client: Annotated[str | None, f"{', '.join(ADDING)} or vscode. Default: print the entry."] = None,
    *,
    guide: Annotated[bool, "Print when to use which tool, for AGENTS.md."] = False,
    skill: Annotated[bool, "Print the same as a skill file."] = False,
    dry_run: Annotated[bool, "Show the command; do not run it."] = False,
    yes: Annotated[bool, "Do not ask before running it."] = False,
    index: Path | None = None,
) -> None:
    """Add Sleuth to the servers of an agent, or print the entry for its settings."""
    if guide or skill:
        from sleuth.surfaces.mcp.schemas import SECTION, SKILL

        say(SECTION if guide else SKILL, end="")
        return
    program = shutil.which(SERVER)
    server = [program] if program else [sys.executable, "-m", SERVER]
    server += ["mcp", *(() if index is None else ("--index", address_of(index) or str(index.absolute())))]
    entry = {"command": server[0], "args": server[1:]}
    if client is None:
        say(json.dumps({"mcpServers": {SERVER: entry}}, indent=2))
        say(
            f"`sleuth mcp install NAME` adds it to {', '.join(ADDING)} or vscode; others take it in their settings.",
            err=True,
        )
        return
    calls = {name: [*words, *server] for name, words in ADDING.items()}
    calls["vscode"] = ["code", "--add-mcp", json.dumps({"name": SERVER, **entry})]
    if client not in calls:
        names = ", ".join(calls)
        raise ArgumentError(
            f"client must be one of {names}, got {client!r}: `sleuth mcp install` prints the entry for others"
        )
    call = calls[client]
    say(f"$ {shlex.join(call)}")
    if dry_run:
        return
    if shutil.which(call[0]) is None:
        raise ArgumentError(
            f"client must be installed, got {client!r}: the program {call[0]} is not in the PATH"
        )
    if not yes and not typer.confirm("Run it?", err=True):
        raise typer.Exit(1)
    raise typer.Exit(subprocess.run(call, check=False, cwd=Path.cwd()).returncode)  # noqa: S603 - shown above
