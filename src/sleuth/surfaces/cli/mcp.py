"""sleuth mcp: serves documents and code to agents over the Model Context Protocol."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.terminal import say

if TYPE_CHECKING:
    from sleuth.surfaces.mcp.clients import Edit, Scope

EXAMPLES = """[bold]Examples[/bold]

  sleuth mcp                                 serve the index of this folder on standard input and output

  sleuth mcp install claude-code --dry-run   show what would be written

  sleuth mcp install cursor                  write it; a copy of the old file is kept

  sleuth mcp uninstall cursor
"""

mcp = typer.Typer(name="mcp", help="Serve documents and code to agents.", epilog=EXAMPLES)
app.add_typer(mcp)

RootOption = Annotated[
    Path | None,
    typer.Option(
        "--root", help="The worktree or folder that answers are about. Default: the current folder."
    ),
]


@mcp.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    root: RootOption = None,
    refresh: Annotated[
        bool, typer.Option("--refresh/--no-refresh", help="Index files that changed, in the background.")
    ] = True,
    index: IndexOption = None,
) -> None:
    """Serve an agent on standard input and output, until it closes them."""
    if context.invoked_subcommand is not None:
        return
    from sleuth.errors import MissingPackageError

    try:
        from sleuth.surfaces.mcp.stdio import serve
    except ImportError as error:
        if error.name not in ("mcp", "mcp_types", "anyio"):
            raise
        raise MissingPackageError("mcp", "mcp", "sleuth mcp") from error
    from sleuth.surfaces.mcp.workspace import Workspace

    if root is not None:
        os.chdir(root)
    named = index is not None and root is None
    serve(Workspace(index_folder(index), None if named else Path.cwd(), refresh=refresh))


ClientArgument = Annotated[str, typer.Argument(help="claude-code, cursor, vscode or codex.")]
ScopeOption = Annotated[
    str | None,
    typer.Option("--scope", help="project (here, the default) or user (the default for codex)."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would change; write nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before writing.")]


@mcp.command("install", epilog="[bold]Example[/bold]  sleuth mcp install --dry-run claude-code")
def install(
    client: ClientArgument,
    scope: ScopeOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    index: IndexOption = None,
) -> None:
    """Add Sleuth to the servers of an agent; shows the change, asks, and keeps the old file."""
    from sleuth.surfaces.mcp import clients

    _apply(clients.install(client, _scope(scope, client), Path.cwd(), index=index), dry_run=dry_run, yes=yes)


@mcp.command("uninstall", epilog="[bold]Example[/bold]  sleuth mcp uninstall claude-code")
def uninstall(
    client: ClientArgument,
    scope: ScopeOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Remove Sleuth from the servers of an agent; shows the change, asks, and keeps the old file."""
    from sleuth.surfaces.mcp import clients

    _apply(clients.uninstall(client, _scope(scope, client), Path.cwd()), dry_run=dry_run, yes=yes)


def _scope(scope: str | None, client: str) -> Scope:
    if scope is None:
        return "user" if client == "codex" else "project"
    scopes: dict[str, Scope] = {"project": "project", "user": "user"}
    if scope not in scopes:
        raise ArgumentError(f"scope must be project or user, got {scope!r}")
    return scopes[scope]


def _apply(edit: Edit, *, dry_run: bool, yes: bool) -> None:
    """Show a change, and write it unless it is only to be shown."""
    if not edit.diff:
        say(f"{edit.path}: nothing to change")
        return
    say(edit.diff)
    if dry_run:
        return
    if not yes and not typer.confirm(f"Write {edit.path}?", err=True):
        raise typer.Exit(1)
    backup = edit.write()
    say(f"Wrote {edit.path}" + (f"; the old file is {backup.name} beside it" if backup else ""))
