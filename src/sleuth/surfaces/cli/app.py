"""The command line: its name, its help and the options before a command. The file of each command adds it."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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


class Commands(TyperGroup):
    """Names the group of a command that is called without it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that arguments name."""
        groups = [name for name, group in self.commands.items() if args[0] in getattr(group, "commands", ())]
        if groups and args[0] not in self.commands:
            ctx.fail(f"No such command {args[0]!r}. It is `{ctx.command_path} {groups[0]} {args[0]}`.")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="sleuth",
    cls=Commands,
    help=HELP,
    rich_markup_mode="rich",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class DefaultGroup(TyperGroup):
    """Runs one of its commands, `default`, if the first argument names none."""

    default = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before arguments that name none."""
        is_named = bool(args) and (args[0] in self.commands or args[0] in ("-h", "--help"))
        if is_named and self.name == "index" and os.path.exists(args[0]):  # noqa: PTH110 - pathlib costs more
            from sleuth.surfaces.cli.common import say

            say(f"sleuth: {args[0]} is a command here: the file or folder is ./{args[0]}", err=True)
        return super().parse_args(ctx, args if is_named else [self.default, *args])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the default command, then that of the group."""
        if command := self.commands.get(self.default):
            command.format_help(type(ctx)(command, parent=ctx.parent, info_name=ctx.info_name), formatter)
        super().format_help(ctx, formatter)


def as_epilog(examples: str) -> str:
    """Return the end of a help text, for one line or a block of lines that call a command."""
    return f"[bold]Examples[/bold]\n{examples}" if "\n" in examples else f"[bold]Example[/bold]  {examples}"


def command_group(
    name: str, help: str, examples: str, *, default: str = "", above: typer.Typer = app
) -> typer.Typer:
    """Return a new group of commands, one of which its name alone may run."""
    kind = type("Group", (DefaultGroup,), {"default": default}) if default else TyperGroup
    group = typer.Typer(
        name=name,
        cls=kind,
        help=help,
        epilog=as_epilog(examples),
        rich_markup_mode="rich",
        no_args_is_help=not default,
    )
    above.add_typer(group)
    return group


index_commands = command_group(
    "index",
    "Read files into the index, and change, measure or move what it holds.",
    "sleuth index docs/",
    default="add",
)
doctor_commands = command_group(
    "doctor",
    "Check the index and the environment; show settings and plugins.",
    "sleuth doctor --full",
    default="check",
)
CODE_EXAMPLES = """
  sleuth code index .                              this worktree, as it is
  sleuth code index . --rev v1.2                   a commit, branch or tag; the worktree is not touched
  sleuth code search "where are tokens refilled"   code with lines, container and relations
  sleuth code search --lang py --no-tests TokenBucket
  sleuth code refs TokenBucket.take                every use that means this definition
  sleuth code impact TokenBucket.take --hops 3     what a change may touch
  sleuth code history TokenBucket.take             the commits that touched it
  sleuth code search --history "why retry twice"   the commits that say so
  sleuth code map --budget 2000                    the definitions that matter most
"""

code_commands = command_group("code", "Index, search and walk source code.", CODE_EXAMPLES)
cluster_commands = command_group(
    "cluster",
    "Publish an index in object storage, build and serve one on many machines.",
    "sleuth cluster publish s3://bucket/docs",
)
mcp_commands = command_group(
    "mcp", "Serve documents and code to agents, and add Sleuth to them.", "sleuth mcp", default="serve"
)


def show_version(is_requested: bool) -> None:
    """Print the version and exit."""
    if is_requested:
        import sleuth
        from sleuth.surfaces.cli.common import say

        say(f"sleuth {sleuth.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Declare the options that stand before the command."""
