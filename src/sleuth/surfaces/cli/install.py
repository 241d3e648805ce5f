"""sleuth install: adds Sleuth to the agents on this machine, and removes it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption, fail
from sleuth.surfaces.cli.terminal import say

if TYPE_CHECKING:
    from sleuth.surfaces.mcp import Client, Edit, Scope

ClientsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, opencode, zed, cline, continue, windsurf "
        "or jetbrains. Default: those that are there."
    ),
]
ScopeOption = Annotated[
    str | None,
    typer.Option(
        "--scope",
        help="project (here) or user. Default: project, and user for agents without settings in a project.",
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would change; write nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before writing.")]


def install(
    clients: ClientsArgument = None,
    scope: ScopeOption = None,
    guide: Annotated[
        bool, typer.Option("--guide", help="Also say in AGENTS.md or CLAUDE.md when to use which tool.")
    ] = False,
    skill: Annotated[bool, typer.Option("--skill", help="Also write a skill file that says so.")] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    index: IndexOption = None,
) -> None:
    """Add Sleuth to the servers of agents; shows each change, asks, and keeps the old file."""
    from sleuth.surfaces.mcp import installation, present_clients

    here = Path.cwd()
    agents = _named(clients) or list(present_clients(here))
    if not agents:
        raise ArgumentError("client must be named, because none was found: `sleuth install claude-code`")
    say(f"Agents: {', '.join(agent.name for agent in agents)}")

    def edits_of(agent: Client) -> Iterator[Edit]:
        yield installation.install(agent.name, _scope(scope, agent), here, index=index)
        if guide:
            yield installation.add_guide(agent.name, here)
        if skill:
            yield installation.add_skill(agent.name, here)

    _apply_all(agents, edits_of, dry_run=dry_run, yes=yes)


def uninstall(
    clients: ClientsArgument = None,
    scope: ScopeOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Remove Sleuth from agents, with its guide and skill; files that nobody else changed become what they were."""
    from sleuth.surfaces.mcp import CLIENTS, installation

    here = Path.cwd()

    def edits_of(agent: Client) -> Iterator[Edit]:
        yield installation.uninstall(agent.name, _scope(scope, agent), here)
        yield installation.remove_guide(agent.name, here)
        yield installation.remove_skill(agent.name, here)

    _apply_all(_named(clients) or list(CLIENTS.values()), edits_of, dry_run=dry_run, yes=yes)


def _named(names: Sequence[str] | None) -> list[Client]:
    from sleuth.surfaces.mcp import client_named

    return [client_named(name) for name in names or ()]


def _scope(scope: str | None, agent: Client) -> Scope:
    if scope is None:
        return agent.default
    scopes: dict[str, Scope] = {"project": "project", "user": "user"}
    if scope not in scopes:
        raise ArgumentError(f"scope must be project or user, got {scope!r}")
    return scopes[scope]


def _apply_all(
    agents: Sequence[Client], edits_of: Callable[[Client], Iterator[Edit]], *, dry_run: bool, yes: bool
) -> None:
    """Apply the changes of each agent; where the settings of one cannot be read, the others follow.

    Raises:
        ArgumentError: the settings of the only agent cannot be read.
        typer.Exit: a change was declined, or settings could not be read.
    """
    is_whole = True
    for agent in agents:
        try:
            for edit in edits_of(agent):
                is_whole &= _apply(edit, dry_run=dry_run, yes=yes)
        except ArgumentError as error:
            if len(agents) == 1:
                raise
            fail(error)
            is_whole = False
    if not is_whole:
        raise typer.Exit(1)


def _apply(edit: Edit, *, dry_run: bool, yes: bool) -> bool:
    """Show a change, and write it unless it is only to be shown; return False if it was declined."""
    if not edit.diff:
        if edit.before is not None:
            say(f"{edit.path}: nothing to change")
        return True
    say(edit.diff)
    if dry_run:
        return True
    if not yes and not typer.confirm(f"Write {edit.path}?", err=True):
        return False
    backup = edit.write()
    if edit.after is None:
        say(f"Removed {edit.path}")
    else:
        say(f"Wrote {edit.path}" + (f"; the old file is {backup.name} beside it" if backup else ""))
    return True


app.command("install", epilog="[bold]Example[/bold]  sleuth install --guide cursor zed")(install)
app.command("uninstall", epilog="[bold]Example[/bold]  sleuth uninstall --dry-run")(uninstall)
