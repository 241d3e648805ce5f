"""The command line: its name, its help and the options before a command. The file of each command adds it."""

from __future__ import annotations

from typing import Annotated

import typer

HELP = """Finds the passages that answer a question, in your files.

[bold]Examples[/bold]

  sleuth index docs/ notes/          index two folders into .sleuth here
  sleuth search "how do I log in"    ranked passages, with path and lines
  sleuth ask "how do I log in"       an answer, with numbered sources
  sleuth status                      what the index holds

The index is the one named by --index, else by $SLEUTH_INDEX, else the nearest .sleuth folder above.

[bold]Exit codes[/bold]  0 done · 1 nothing found, or a problem found · 2 bad argument · 3 no usable index · 4 index
locked · 5 a service failed · 130 interrupted
"""

app = typer.Typer(
    name="sleuth",
    help=HELP,
    rich_markup_mode="rich",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(is_requested: bool) -> None:
    """Print the version and exit."""
    if is_requested:
        import sleuth
        from sleuth.surfaces.cli.terminal import say

        say(f"sleuth {sleuth.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Declare the options that stand before the command."""
