"""Runs `sleuth` in this process, which costs only what the command does, or as a process where a test is about one."""

import gc
import io
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TextIO

import pytest
import typer

from sleuth.__main__ import main
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register

PLAIN = {"COLUMNS": "80", "NO_COLOR": "1"}
_END = "\x1c"
"""Ends what a command prints on a terminal: what is not read yet when that is closed, a busy system may lose."""


def sleuth(*arguments: str, cwd: Path, stdin: str = "", **environment: str) -> CompletedProcess[str]:
    """Run a command in this process, with arguments, folder, environment and streams of its own.

    It has the exit code and outputs of `python -m sleuth`; an exception that would end the process is raised here.
    """
    output, errors = _stream(), _stream()
    with _shell(arguments, cwd, PLAIN | environment, (_stream(stdin), output, errors)):
        code = _exit_code()
    return CompletedProcess(["sleuth", *arguments], code, _written(output), _written(errors))


def sleuth_process(*arguments: str, cwd: Path, limit: str = "", **environment: str) -> CompletedProcess[str]:
    """Run a command as a process of its own, with a limit of the shell (such as "ulimit -f 600") if one is given."""
    command = [sys.executable, "-m", "sleuth", *arguments]
    if limit:
        command = ["sh", "-c", f'{limit}; exec "$@"', "sh", *command]
    return subprocess.run(
        command, cwd=cwd, env=_environment(PLAIN | environment), capture_output=True, text=True, check=False,
        timeout=600,
    )  # fmt: skip


def python(
    program: str, *arguments: object, cwd: Path | None = None, **environment: str
) -> CompletedProcess[str]:
    """Run a program, which can import what these tests can, as a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False,
        timeout=600, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
    )  # fmt: skip


def run_in_child(work: Callable[[], None]) -> None:
    """Run a function in a forked child, and assert that it does not raise."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def sleuth_on_terminal(*arguments: str, cwd: Path) -> tuple[int, str]:
    """Run a command in this process on a terminal of 80 columns; return its exit code and all that it printed there."""
    ours, its = pty.openpty()
    pieces: list[bytes] = []
    reader = threading.Thread(target=_read_terminal, args=(ours, pieces))
    reader.start()
    try:
        with (
            os.fdopen(its, "w", encoding="utf-8") as output,
            os.fdopen(its, encoding="utf-8", closefd=False) as keys,
            _shell(arguments, cwd, {"COLUMNS": "80", "TERM": "xterm"}, (keys, output, output)),
        ):
            code = _exit_code()
            print(_END, end="", file=output, flush=True)
            reader.join(60)
    finally:
        reader.join()
        os.close(ours)
    return code, b"".join(pieces).decode("utf-8", "replace").removesuffix(_END)


def _read_terminal(terminal: int, pieces: list[bytes]) -> None:
    """Collect what is printed on a terminal until the end mark, or until its other side is closed."""
    try:
        while piece := os.read(terminal, 1 << 16):
            pieces.append(piece)
            if piece.endswith(_END.encode()):
                return
    except OSError:
        pass


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with changes, without what would select an index or colours."""
    mine = {name: text for name, text in os.environ.items() if name not in {"SLEUTH_INDEX", "NO_COLOR"}}
    return {**mine, **changes}


@contextmanager
def _shell(
    arguments: Sequence[str], cwd: Path, changes: Mapping[str, str], streams: tuple[TextIO, TextIO, TextIO]
) -> Iterator[None]:
    """Give this process what a command gets from a shell, and take it back with all that the command changes."""
    before, thresholds, ending = dict(os.environ), gc.get_threshold(), signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        patch.setattr(sys, "argv", ["sleuth", *arguments])
        patch.setattr("sleuth.surfaces.cli.main.app", _command_line())
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        _set_environment(_environment(changes))
        try:
            yield
        finally:
            _set_environment(before)
            gc.set_threshold(*thresholds)
            signal.signal(signal.SIGTERM, ending)


@cache
def _command_line() -> Any:
    """Return the command line with all its commands; Typer takes a tenth of a second to build it."""
    register([])
    return typer.main.get_command(app)


def _set_environment(environment: Mapping[str, str]) -> None:
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    for name, text in environment.items():
        if os.environ.get(name) != text:
            os.environ[name] = text


def _exit_code() -> int:
    """Run the command line and return its exit code."""
    try:
        main()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    return 0


def _stream(text: str = "") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8", newline="\n")


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")
