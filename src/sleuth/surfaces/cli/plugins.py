"""sleuth doctor plugins: lists plugins, their hooks and their errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sleuth.extensions import KINDS, extensions
from sleuth.surfaces.cli.app import doctor_commands
from sleuth.surfaces.cli.common import IndexOption, JsonOption, print_json
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.terminal import say, styled

if TYPE_CHECKING:
    from sleuth.hooks import PluginInfo

EXAMPLES = """[bold]Examples[/bold]

  sleuth doctor plugins                       installed ones, and those in the folder $SLEUTH_PLUGINS

  sleuth doctor plugins --folder ./plugins    also those of a folder
"""


@doctor_commands.command("plugins", epilog=EXAMPLES)
def plugins(
    folder: Annotated[
        Path | None,
        typer.Option("--folder", envvar="SLEUTH_PLUGINS", help="Folder of plugins to list, too."),
    ] = None,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """List plugins with their hooks, or with their error if they do not load or start; then other extensions."""
    from sleuth.engine.doctor import try_plugins

    infos = try_plugins(index_folder(index), folder)
    if json:
        print_json([info.to_dict() for info in infos])
    elif not infos:
        where = f" in {os.fspath(folder)}" if folder else ""
        say(f"No plugins are installed{where}. How to write one: docs/how-to/write-a-plugin.md")
    else:
        for info in infos:
            print_plugin(info)
    if not json:
        for kind in KINDS:
            if kind != "plugins" and (rows := extensions(kind)):
                say(f"{styled(kind, 'head')}  {', '.join(rows)}")
    if any(info.status == "failed" for info in infos):
        raise typer.Exit(1)


def print_plugin(info: PluginInfo) -> None:
    """Print the name and origin of a plugin, then its hooks or its error."""
    failed = info.status == "failed"
    say(f"{styled(info.name, 'head')}  {styled(info.origin, 'dim')}{'  failed' if failed else ''}")
    if failed:
        say(f"   {info.error}")
    for name, priority in info.hooks:
        say(f"   {name}, priority {priority}")
