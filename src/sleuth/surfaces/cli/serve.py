"""sleuth serve: the HTTP server, and the keys of its clients."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge

from sleuth.errors import requires
from sleuth.surfaces.cli.app import app, as_epilog, command_group
from sleuth.surfaces.cli.common import Output, remark, say
from sleuth.surfaces.cli.opening import open_index
from sleuth.surfaces.cli.options import callable_by_options, command, options_of
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.http.settings import CORES, QUEUE_PER_THREAD, ServerSettings

if TYPE_CHECKING:
    import socket

    from sleuth.engine import Engine
    from sleuth.surfaces.http import Extension

EXAMPLES = """
  sleuth serve                                        http://127.0.0.1:8321, for this machine
  curl -s localhost:8321/v1/search -H 'content-type: application/json' -d '{"query": "how do I log in"}'
  sleuth serve --in docs --in code --read-only        search documents and code, change nothing
  sleuth serve keys add alice --keys keys.json        make a key; it is printed once
  sleuth serve --host 0.0.0.0 --keys keys.json        for others, with keys
  sleuth serve --index s3://bucket/docs               a published index
"""

serve = typer.Typer(
    name="serve",
    help="Serve over HTTP.",
    epilog=as_epilog(EXAMPLES),
    invoke_without_command=True,
    rich_markup_mode="rich",
)
app.add_typer(serve)
keys_commands = command_group(
    "keys",
    "Make, list, rotate and remove keys of clients.",
    "sleuth serve keys add alice --keys keys.json",
    above=serve,
)

Keys = Annotated[Path, "File of the keys; it holds their hashes."]
Settings = Annotated[dict[str, Any], options_of(ServerSettings, threads=None, queue=None)]
"""The settings of a server, by name."""


def settings_of(options: Mapping[str, Any], workers: int) -> ServerSettings:
    """Return the settings of one of several workers."""
    values = {name: value for name, value in options.items() if value is not None}
    threads = values.setdefault("threads", max(1, CORES // workers))  # more would only compete for the cores
    values.setdefault("queue", QUEUE_PER_THREAD * threads)
    repeated = {
        name: tuple(dict.fromkeys(value)) for name, value in values.items() if isinstance(value, list)
    }
    return ServerSettings(**values | repeated)


@serve.callback()
@callable_by_options
def run(
    context: typer.Context,
    *,
    settings: Settings,
    create: Annotated[bool, "Create the index if it does not exist."] = False,
    workers: Annotated[int, "Processes that answer.", Ge(1)] = 1,
    quiet: Annotated[bool, "Log warnings only."] = False,
    socket_number: Annotated[int | None, typer.Option("--socket", hidden=True)] = None,
    index: Path | None = None,
) -> None:
    """Serve over HTTP until Ctrl-C."""
    if context.invoked_subcommand is not None:
        return
    import socket

    valid = settings_of(settings, workers)
    kinds = {name.partition(":")[0] for name in valid.sources}
    if "code" in kinds and "docs" not in kinds and not create:
        from sleuth.engine import open_code

        with open_code(index_folder(index)):
            create = True

    def open_engine() -> Engine:
        return open_index(index, create=create)

    if socket_number is not None:
        answer(socket.socket(fileno=socket_number), valid, open_engine, quiet=quiet)
        return
    listener, url = listen(valid)
    if workers == 1:
        answer(listener, valid, open_engine, quiet=quiet, url=url)
        return
    with open_engine():
        say(f"Sleuth, with {workers} workers, answers on {url}", err=True)
    from sleuth.surfaces.http.server import supervise

    command = [sys.executable, "-m", "sleuth", *sys.argv[1:]]
    supervise(command, workers, listener, remark)


def listen(settings: ServerSettings) -> tuple[socket.socket, str]:
    """Return a socket that listens where the settings say, and its URL.

    Raises:
        MissingPackageError: what serves HTTP is not installed.
    """
    with requires("fastapi", "serve", "`sleuth serve`"):
        from sleuth.surfaces.http import server
    listener = server.bind(settings)
    return listener, server.address_of(listener)


def answer(
    listener: socket.socket,
    settings: ServerSettings,
    open_engine: Callable[[], AbstractContextManager[Engine]],
    *,
    quiet: bool,
    url: str = "",
    more: Sequence[Extension] = (),
) -> None:
    """Serve from this process until it is asked to stop, then close the index.

    Args:
        listener: where clients connect.
        open_engine: opens the index.
        quiet: log warnings only.
        url: is printed.
        more: surfaces beside the page and MCP.
    """
    from sleuth.surfaces.http.server import build_server, log_lines

    log_lines(quiet=quiet)
    with open_engine() as engine:
        engine.use_model(settings.model)
        running = build_server(engine, settings, extensions=[*extensions(), *more])
        if url:
            say(f"Sleuth answers on {url}", err=True)
        # uvicorn raises the signal that ended it once more: as Ctrl-C, or as an exit, if Ray handles it.
        with suppress(KeyboardInterrupt, SystemExit):
            running.run(sockets=[listener])


def extensions() -> list[Extension]:
    """Return further surfaces of the server: the page, and agents if the SDK is installed."""
    from importlib.util import find_spec

    from sleuth.surfaces.page.extension import page_extension

    if find_spec("mcp") is None:
        return [page_extension()]
    from sleuth.surfaces.mcp.http import mcp_extension

    return [page_extension(), mcp_extension()]


@command(keys_commands, "add", "sleuth serve keys add alice --keys keys.json")
def add(
    name: Annotated[str, "Names the client in the log."],
    *,
    keys: Keys,
    scope: Annotated[
        list[str] | None, "read or write, both by default; or metrics, for /metrics alone."
    ] = None,
    filter: Annotated[str | None, "Limit the key to documents that match, as in tenant:acme."] = None,
    code: Annotated[
        list[str] | None, "Limit the key to a repository, or a folder in one, as in /srv/shop/src."
    ] = None,
    expires: Annotated[str | None, "Day, or day and time, of its end, as in 2027-01-31; in UTC."] = None,
    rate: Annotated[int | None, "Requests a minute that each worker lets in.", Ge(1)] = None,
) -> None:
    """Make a key and print it; only its hash is stored."""
    from sleuth.surfaces.http.keys import DEFAULT_SCOPES, add_key

    scopes = tuple(scope or DEFAULT_SCOPES)
    say(add_key(keys, name, scopes, filter, code=tuple(code or ()), expires=expires, rate=rate))


@command(keys_commands, "rotate", "sleuth serve keys rotate alice --keys keys.json")
def rotate(name: Annotated[str, "Name of the key."], *, keys: Keys) -> None:
    """Replace a key by a new one with the same rights, and print it; a running server follows within a second."""
    from sleuth.surfaces.http.keys import rotate_key

    say(rotate_key(keys, name))


@command(keys_commands, "list", "sleuth serve keys list --keys keys.json")
def list_keys(*, keys: Keys) -> Output:
    """Print the names, scopes, filters, code, ends and rates of all keys."""
    from sleuth.surfaces.http.keys import read_keys

    facts, rows = [], []
    for key in read_keys(keys):
        rate = f"{key.rate} a minute" if key.rate else ""
        limits = (key.text or "", ",".join(key.code), key.expires or "", rate)
        rows.append((key.name, ",".join(key.scopes), *limits))
        facts.append(key.model_dump(mode="json", exclude={"hash"}, by_alias=True))
    return Output(facts, rows)


@command(keys_commands, "remove", "sleuth serve keys remove alice --keys keys.json")
def remove(name: Annotated[str, "Name of the key."], *, keys: Keys) -> None:
    """Remove a key; a running server refuses it within a second."""
    from sleuth.surfaces.http.keys import remove_key

    remove_key(keys, name)
