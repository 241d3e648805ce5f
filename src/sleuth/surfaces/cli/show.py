"""sleuth show: prints a document or a passage."""

from __future__ import annotations

from typing import Annotated

import typer

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import (
    IndexOption,
    JsonOption,
    open_index,
    print_json,
)
from sleuth.surfaces.cli.files import passages_of
from sleuth.surfaces.cli.terminal import say, styled

EXAMPLES = """[bold]Examples[/bold]

  sleuth show docs/guide.md         a whole document, by its path or id
  sleuth show docs/guide.md:10-20   the passages with these lines, as search prints them
  sleuth show docs/guide.md#3       one passage of it, as search --json names it
"""


@app.command("show", epilog=EXAMPLES)
def show(
    id: Annotated[str, typer.Argument(help="A path or document id, or one passage of it (document#n).")],
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Print a passage or a document with its metadata."""
    with open_index(index) as engine:
        items = passages_of(engine, id)
    if not items:
        raise ArgumentError(
            f"id must name a passage or a document of this index, got {id!r}; `sleuth search --json` prints ids"
        )
    if json:
        print_json([item.to_dict() for item in items])
        return
    for item in items:
        say(styled(item.id, "head"))
        for name, value in item.metadata.items():
            say(styled(f"  {name}: {value}", "dim"))
        say(item.text + "\n")
