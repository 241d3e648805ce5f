"""What does `sleuth` at a shell offer?

Exit codes: 0 done; 1 nothing found, or a check found a problem; 2 a bad argument; 3 no index, or one that does not
open; 4 another writer holds the index; 5 a service did not answer; 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from importlib import import_module
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

# Each module registers its commands on the app when imported; only the one that was asked for is, so that a search
# does not pay for the imports of the rest.
COMMANDS = {
    "index": "index",
    "search": "search",
    "show": "show",
    "delete": "delete",
    "move": "move",
    "status": "status",
    "doctor": "doctor",
    "ask": "ask",
    "summarize": "ask",
    "plugins": "plugins",
    "import": "imports",
    "eval": "eval",
    "web": "web",
    "kb": "kb",
    "code": "code",
    "publish": "publish",
    "versions": "publish",
    "fetch": "publish",
    "serve": "serve",
    "mcp": "mcp",
}

app = typer.Typer(
    name="sleuth",
    help=HELP,
    rich_markup_mode="rich",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
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
    """Options that stand before the command."""


def register(arguments: list[str]) -> None:
    """Import the module of the command asked for, or of every command where the names are to be listed."""
    asked = next((argument for argument in arguments if not argument.startswith("-")), None)
    names = [asked] if asked in COMMANDS and "_SLEUTH_COMPLETE" not in os.environ else COMMANDS
    for module in dict.fromkeys(COMMANDS[name] for name in names):
        import_module(f"sleuth.surfaces.cli.{module}")


def start_quickly() -> None:
    """Leave out what costs a search from a shell a tenth of its time and more, and brings it nothing."""
    # Pydantic asks every package whether it brings a plugin.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads are started, and no matrix is large
    gc.set_threshold(100_000)  # imports make many objects, and no garbage
    atexit.register(gc.freeze)  # nor is any to be looked for in what goes with the process


def main() -> None:
    """Run the command line; every expected failure is one message and an exit code."""
    start_quickly()
    sys.stdout = sys.stdout or open(os.devnull, "w")  # closed by the caller, as by `>&-`  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # whatever it can show
    try:
        try:
            register(sys.argv[1:])
            app()
        except SystemExit as leaving:
            if isinstance(leaving.__context__, BrokenPipeError):  # typer would have it be a failure
                raise leaving.__context__ from None
            raise
        finally:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to print goes nowhere
        if isinstance(error, BrokenPipeError):
            sys.exit(0)
        from sleuth.surfaces.cli.terminal import say

        say(f"sleuth: {error}", err=True)
        sys.exit(1)
    except Exception as error:
        from sleuth.errors import SleuthError
        from sleuth.surfaces.cli.common import exit_code, fail

        if not isinstance(error, SleuthError):
            raise
        fail(error)
        sys.exit(exit_code(error))
