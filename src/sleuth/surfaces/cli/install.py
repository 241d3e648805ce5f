"""sleuth mcp install: adds Sleuth to an agent by the agent's own command, or prints the entry for its settings."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import mcp_commands
from sleuth.surfaces.cli.common import IndexOption
from sleuth.surfaces.cli.terminal import say

NAME: Final = "sleuth"
ADDING: Final = {
    "claude-code": ("claude", "mcp", "add", NAME, "--"),
    "codex": ("codex", "mcp", "add", NAME, "--"),
    "gemini-cli": ("gemini", "mcp", "add", NAME),
}
"""By agent, its command that adds a server; the command of the server follows."""
EXAMPLES: Final = """[bold]Examples[/bold]

  sleuth mcp install                  the entry for the settings of any agent

  sleuth mcp install claude-code      run `claude mcp add`, after asking

  sleuth mcp install --guide >> AGENTS.md
"""


@mcp_commands.command("install", epilog=EXAMPLES)
def install(
    client: Annotated[
        str | None, typer.Argument(help=f"{', '.join(ADDING)} or vscode. Default: print the entry.")
    ] = None,
    guide: Annotated[
        bool, typer.Option("--guide", help="Print when to use which tool, for AGENTS.md.")
    ] = False,
    skill: Annotated[bool, typer.Option("--skill", help="Print the same as a skill file.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the command; do not run it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before running it.")] = False,
    index: IndexOption = None,
) -> None:
    """Add Sleuth to the servers of an agent, or print the entry for its settings."""
    if guide or skill:
        from sleuth.surfaces.mcp.guide import SECTION, SKILL

        say(SECTION if guide else SKILL, end="")
        return
    program = shutil.which(NAME)
    server = [program] if program else [sys.executable, "-m", NAME]
    server += ["mcp", *(() if index is None else ("--index", str(index.absolute())))]
    entry = {"command": server[0], "args": server[1:]}
    if client is None:
        say(json.dumps({"mcpServers": {NAME: entry}}, indent=2))
        say(
            f"`sleuth mcp install NAME` adds it to {', '.join(ADDING)} or vscode; others take it in their settings.",
            err=True,
        )
        return
    if client == "vscode":
        command = ["code", "--add-mcp", json.dumps({"name": NAME, **entry})]
    elif client in ADDING:
        command = [*ADDING[client], *server]
    else:
        names = ", ".join((*ADDING, "vscode"))
        raise ArgumentError(
            f"client must be one of {names}, got {client!r}: `sleuth mcp install` prints the entry for others"
        )
    say(f"$ {shlex.join(command)}")
    if dry_run:
        return
    if shutil.which(command[0]) is None:
        raise ArgumentError(
            f"client must be installed, got {client!r}: the program {command[0]} is not in the PATH"
        )
    if not yes and not typer.confirm("Run it?", err=True):
        raise typer.Exit(1)
    raise typer.Exit(subprocess.run(command, check=False, cwd=Path.cwd()).returncode)  # noqa: S603 - shown above
