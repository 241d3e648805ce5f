"""Runs the application: one process by default, or several that share a socket and the mapped files."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from sleuth import platform
from sleuth.errors import ArgumentError
from sleuth.surfaces.http.connections import HEAD_SECONDS, LimitedProtocol
from sleuth.surfaces.http.keys import KeyFile, write_secret
from sleuth.surfaces.http.settings import WORKERS_VARIABLE, ServerSettings, is_loopback

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.surfaces.http.app import Extension

BACKLOG = 512
"""Connections that the system keeps until they are accepted."""

GRACE = 30
"""Seconds that requests have to end when the server shuts down."""

_RESTART_SECONDS = 1.0

_MOST_LINES = 100
"""Of a failure in the log."""

_ENDING = (signal.SIGTERM, signal.SIGINT)


def bind(settings: ServerSettings) -> socket.socket:
    """Return a socket that listens where the settings say.

    Raises:
        ArgumentError: others could reach a server without keys; an address that is taken or not of this machine;
            a keys file that is missing or malformed.
    """
    if settings.keys is None and not is_loopback(settings.host):
        raise ArgumentError(
            f"host must be 127.0.0.1 for a server without keys, got {settings.host!r}: others could read the index. "
            "`sleuth serve keys add NAME --keys keys.json` makes a key; then add `--keys keys.json`"
        )
    if settings.keys is not None:
        KeyFile(settings.keys)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host.strip("[]"), settings.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ArgumentError(
            f"host and port must be free here, got {settings.host}:{settings.port}: {error.strerror or error}"
        ) from error
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the address of a listening socket as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def build_server(
    engine: Engine, settings: ServerSettings, *, extensions: Sequence[Extension] = ()
) -> uvicorn.Server:
    """Return the server over an open engine, not yet running."""
    from sleuth.surfaces.http.app import create_app

    platform.give_blocks_back()

    class Protocol(LimitedProtocol):
        head_seconds = min(HEAD_SECONDS, settings.deadline)

    config = uvicorn.Config(
        create_app(engine, settings, extensions=extensions),
        http=Protocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trust_proxy),
        forwarded_allow_ips=list(settings.trust_proxy),
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE,
        lifespan="on",
    )
    return uvicorn.Server(config)


def supervise(
    command: Sequence[str], workers: int, listener: socket.socket, announce: Callable[[str], None]
) -> None:
    """Run a command in several processes on one socket until SIGTERM or Ctrl-C; one that dies is started again.

    Args:
        command: a worker's; `--socket` and the number of the socket are added.
        announce: told about workers that died.
    """
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    handlers = {number: signal.signal(number, stop) for number in _ENDING}
    with tempfile.TemporaryDirectory(prefix="sleuth-metrics-") as folder:
        write_secret(Path(folder))
        environment = {**os.environ, WORKERS_VARIABLE: folder}
        processes = [_start(command, listener, environment) for _ in range(workers)]
        try:
            while not stopping:
                time.sleep(0.1)  # a dead worker or a signal is noticed this late
                for i, process in enumerate(processes):
                    if process.poll() is not None and not stopping:
                        announce(f"worker {process.pid} ended with {process.returncode}; starting another")
                        time.sleep(_RESTART_SECONDS)
                        processes[i] = _start(command, listener, environment)
        finally:
            listener.close()
            for process in processes:
                process.terminate()
            for process in processes:
                try:
                    process.wait(GRACE + 5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _start(
    command: Sequence[str], listener: socket.socket, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    number = listener.fileno()
    return platform.start_apart([*command, "--socket", str(number)], inherited=[number], env=environment)


def log_lines(*, quiet: bool = False) -> None:
    """Write the log of this process to standard error, one JSON object a line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines())
    root = logging.getLogger()
    root.addHandler(handler)
    logging.getLogger("sleuth").setLevel(logging.WARNING if quiet else logging.INFO)


class LogLines(logging.Formatter):
    """One JSON object a line: time, level, logger, the fields of the record, and the lines that an error passed."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields = getattr(record, "fields", None) or {"message": record.getMessage()}
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **fields,
        }
        if record.exc_info:  # no message of an error: it may hold the text of a query
            (_, error, _), places = record.exc_info, list[str]()
            while error is not None and len(places) < _MOST_LINES:
                frames = reversed(traceback.extract_tb(error.__traceback__))
                places += [type(error).__qualname__, *(f"{f.filename}:{f.lineno} {f.name}" for f in frames)]
                error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            entry["exception"] = places[:_MOST_LINES]
        return json.dumps(entry, default=str)
