"""Runs the command line: imports the module of a command, and turns failures into messages and exit codes.

Exit codes: 0 done; 1 nothing found, or a check found a problem; 2 an invalid argument; 3 no index, or one that does not
open; 4 another writer holds the index; 5 a service did not answer; 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from sleuth.extensions import loaded, own_extensions
from sleuth.surfaces.cli.app import app

# Each module registers its commands when it is imported. Only the module of the command is imported, so that a search
# does not pay for the others.
COMMANDS = {
    "index": "index",
    "search": "search",
    "ask": "search",
    "show": "documents",
    "list": "documents",
    "grep": "grep",
    "status": "documents",
    "doctor": "doctor",
    "code": "code",
    "web": "web",
    "kb": "kb",
    "cluster": "publish",
    "serve": "serve",
    "mcp": "mcp",
    **dict.fromkeys((f"index {name}" for name in ("delete", "facets", "move", "synonyms")), "documents"),
    "index summarize": "search",
    **dict.fromkeys((f"code {name}" for name in ("index", "snapshots", "push", "pull")), "code_index"),
}

NO_MEMORY = ("can't start new thread", "failed to map segment from shared object")
"""What Python and the loader of libraries say where there is no memory for a thread or a library."""


def register(arguments: list[str]) -> None:
    """Import the modules of the command in `arguments`, or all modules to list the names.

    A plugin's command is named "web crawl", where it joins a group.
    """
    first, second = ([word for word in arguments if not word.startswith("-")] + ["", ""])[:2]
    core_loaders = {
        name: partial(import_module, f"{__package__}.{module}") for name, module in COMMANDS.items()
    }
    loaders = core_loaders | {name: entry.load for name, entry in own_extensions("commands").items()}
    names = [
        name
        for name in loaders
        if name in (first, f"{first} {second}") or (not second and name.startswith(f"{first} "))
    ]
    is_help = not {"--help", "-h"}.isdisjoint(arguments) and f"{first} {second}" not in names
    is_group = any(name.startswith(f"{first} ") for name in loaders)
    if not names or (is_help and is_group) or "_SLEUTH_COMPLETE" in os.environ:
        names = list(loaders)
        list(loaded("commands", ModuleType, own=False))
        import_module(f"{__package__}.operations").register(COMMANDS)
    for name in names:
        loaders[name]()


def command_names() -> list[str]:
    """Return the commands of the core and of Sleuth's own plugins, in the order of their listing."""
    return list(dict.fromkeys(name.split()[0] for name in (*COMMANDS, *own_extensions("commands"))))


def run(arguments: list[str]) -> None:
    """Run the command with the defaults of `sleuth.toml`; help needs none."""
    is_help = not arguments or arguments[0].startswith("-") or {"--help", "-h"} & set(arguments)
    if is_help or "_SLEUTH_COMPLETE" in os.environ:
        app()
        return
    from sleuth.surfaces.cli.defaults import default_map, settings

    values = {name: setting.value for name, setting in settings().items()}
    if os.environ.get("SLEUTH_INDEX"):
        values.pop("index", None)  # the environment overrides files
    if not values:
        app()
        return
    import typer

    command: Any = app if hasattr(app, "params") else typer.main.get_command(app)
    command(default_map=default_map(command, values))


def main() -> None:
    """Run the command line; print an expected failure as one message and exit with its code."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # closed by the caller, as by `>&-`  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # print what the encoding can represent
    try:
        try:
            register(sys.argv[1:])
            run(sys.argv[1:])
        except SystemExit as leaving:
            if isinstance(leaving.__context__, BrokenPipeError):  # typer treats it as a failure
                raise leaving.__context__ from None
            raise
        finally:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard the remaining output
        if isinstance(error, BrokenPipeError):
            sys.exit(0)
        from sleuth.surfaces.cli.common import remark

        remark(str(error))
        sys.exit(1)
    except (MemoryError, RuntimeError, ImportError) as error:
        if not isinstance(error, MemoryError) and not str(error).endswith(NO_MEMORY):
            leave_with(error)  # a package that is not installed is an ImportError, too
        sys.exit("sleuth: not enough memory for this command; the index is as it was after its last commit")
    except Exception as error:  # noqa: BLE001
        leave_with(error)


def leave_with(error: Exception) -> NoReturn:
    """Print an expected failure and exit with its code; raise any other one again."""
    from sleuth.errors import IndexNotFoundError, RetrievalError, SleuthError
    from sleuth.surfaces.cli.common import exit_code, remark

    while isinstance(error, RetrievalError) and isinstance(error.__cause__, SleuthError):
        error = error.__cause__  # its exit code says more
    if not isinstance(error, SleuthError):
        raise error
    message = str(error)
    if isinstance(error, IndexNotFoundError):
        message = message.replace("create=True", "`sleuth index PATH`")
    remark(message)
    sys.exit(exit_code(error))
