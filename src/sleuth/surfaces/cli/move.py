"""sleuth index move: follow files and folders that were renamed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sleuth.surfaces.cli.app import index_commands
from sleuth.surfaces.cli.common import IndexOption, JsonOption, TimeoutOption, open_index, print_json
from sleuth.surfaces.cli.terminal import amount, say

EXAMPLES = """[bold]Examples[/bold]

  mv docs manual && sleuth index move docs manual          nothing is read again
"""


@index_commands.command("move", epilog=EXAMPLES)
def move(
    old: Annotated[Path, typer.Argument(help="The path before.")],
    new: Annotated[Path, typer.Argument(help="The path now.")],
    timeout: TimeoutOption = 10.0,  # as by default in `Engine.move`
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Give documents of a renamed file or folder its new name. Files themselves are not touched."""
    with open_index(index) as engine:
        report = engine.move(old, new, timeout=timeout)
    if json:
        print_json(report._asdict())
        return
    say(f"Moved {amount(report.moved, 'document')}.")
    if report.replaced:
        say(f"Deleted {report.replaced:,} that the index holds under the new name already.")
