"""sleuth index suggest: prints completions of what somebody types."""

from __future__ import annotations

from typing import Annotated

import typer

from sleuth.surfaces.cli.app import index_commands
from sleuth.surfaces.cli.common import IndexOption, JsonOption, open_index, print_json
from sleuth.surfaces.cli.terminal import say
from sleuth.text import clean_text

EXAMPLES = """[bold]Examples[/bold]

  sleuth index suggest token buc                 words of the index, titles and headings
  sleuth index suggest --json tok | jq -r '.suggestions[].text'
"""


@index_commands.command("suggest", epilog=EXAMPLES)
def suggest(
    prefix: Annotated[list[str], typer.Argument(help="What is typed; its last word is completed.")],
    k: Annotated[int, typer.Option("-k", "--limit", min=1, help="Completions at most.")] = 8,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Complete a word from the documents, their titles and headings."""
    with open_index(index) as engine:
        suggestions = engine.suggest(" ".join(prefix), k)
    if json:
        print_json({"suggestions": [each._asdict() for each in suggestions]})
    else:
        for each in suggestions:
            say(clean_text(each.text))
    if not suggestions:
        raise typer.Exit(1)
