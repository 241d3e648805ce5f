"""sleuth index synonyms: gives an index words that stand for each other, and prints them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sleuth.engine.synonyms import SYNONYMS_FILE, Synonyms
from sleuth.files import whole_file
from sleuth.surfaces.cli.app import index_commands
from sleuth.surfaces.cli.common import IndexOption, open_index
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.terminal import say
from sleuth.text import clean_text

EXAMPLES = """[bold]Examples[/bold]

  sleuth index synonyms words.txt      of this file, with lines such as "k8s, kubernetes" and "js => javascript"
  sleuth index synonyms                print those of the index
  sleuth index synonyms --remove       use none
"""


@index_commands.command("synonyms", epilog=EXAMPLES)
def synonyms(
    file: Annotated[Path | None, typer.Argument(help="File with a group of synonyms on each line.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove those of the index.")] = False,
    index: IndexOption = None,
) -> None:
    """Give an index words that stand for each other in searches."""
    if remove:
        (index_folder(index) / SYNONYMS_FILE).unlink(missing_ok=True)
        return
    with open_index(index) as engine:
        place = engine.path / SYNONYMS_FILE
    if file is not None:
        count = len(Synonyms.read(file))
        with whole_file(place) as out:
            out.write(file.read_bytes())
        say(
            f"{count:,} words and phrases have synonyms. A server that is running reads them when it starts again."
        )
    elif place.is_file():
        say(clean_text(place.read_text("utf-8-sig")).rstrip())
    else:
        say("This index has no synonyms: `sleuth index synonyms FILE` gives it some.", err=True)
        raise typer.Exit(1)
