"""Runs git so that no program named by a repository's settings is started.

A repository may come from anybody, and its settings can name programs: hooks, filters, a file system monitor, remote
helpers. Every run turns them off. The settings of the user and the system still count, `safe.directory` among them.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from sleuth import platform
from sleuth.errors import CodeError
from sleuth.remote.cancellation import ended_if_cancelled

_OFF = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=",
    "core.sshCommand=false",
    "core.gitProxy=false",
    "core.alternateRefsCommand=false",
    "credential.helper=",
    "diff.external=",
    "gpg.program=false",
    "protocol.allow=never",
    "status.submoduleSummary=false",
    "submodule.recurse=false",
)
"""Settings that name a program, or make git start itself in a submodule, whose settings are its own."""

_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "",  # an object that a partial clone lacks is not fetched
    "GIT_ASKPASS": "false",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_SSH_COMMAND": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


LONG_SECONDS = 300.0
"""Git is given so long to compare a worktree with its commit. Reading settings can last for ever: a file that they
include may be a pipe."""
SHORT_SECONDS = 20.0
"""Git is given so long for anything else."""


class NoGitError(CodeError):
    """Git cannot be run."""


class SlowGitError(CodeError):
    """Git was ended because it took too long."""


def start(
    folder: Path, *arguments: str, stdin: int = subprocess.DEVNULL, stderr: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start git on a folder, without the GIT_ variables of this process and without prompts.

    A command that may hash files of the worktree needs `filters_off` among its first arguments.
    """
    where = folder if folder.is_dir() else folder.parent
    settings = [argument for setting in _OFF for argument in ("-c", setting)]
    try:
        return subprocess.Popen(  # noqa: S603 - arguments are a list, and revisions follow --end-of-options
            ["git", "--no-pager", "-C", str(where), *settings, *arguments],  # noqa: S607 - git is found on the path
            stdout=subprocess.PIPE,
            stderr=stderr,
            stdin=stdin,
            env={k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | _ENVIRONMENT,
        )
    except OSError as error:
        raise NoGitError(
            f"git cannot be run ({error.strerror}), and {where} is in a repository: "
            "install git, or index a copy that is in none"
        ) from error


def finish(
    process: subprocess.Popen[bytes],
    folder: Path,
    what: str,
    *,
    check: bool = True,
    seconds: float | None = None,
) -> bytes:
    """Wait for a process and return what it wrote.

    Raises:
        CodeError: it failed, and `check` is True; holds git's own message.
        SlowGitError: it took longer than `seconds`, which is `LONG_SECONDS` where None.
    """
    seconds = LONG_SECONDS if seconds is None else seconds
    try:
        out, problem = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise _slow(folder, what, seconds) from None
    if process.returncode and check:
        message = problem.decode("utf-8", "replace").strip() or f"exit status {process.returncode}"
        raise CodeError(f"git {what} in {folder}: {message}")
    return out


def _slow(folder: Path, what: str, seconds: float) -> SlowGitError:
    return SlowGitError(
        f"git {what} in {folder} took more than {seconds:g} s and was ended: look for a pipe or a device among "
        "the files that its settings include and among ignore files"
    )


def run(folder: Path, *arguments: str, check: bool = True) -> bytes:
    """Run a command that takes git milliseconds and return what it wrote.

    Raises:
        SleuthError: the caller was cancelled; git is ended.
    """
    with start(folder, *arguments) as process, ended_if_cancelled(process.kill):
        return finish(process, folder, arguments[0], check=check, seconds=SHORT_SECONDS)


def pipes(process: subprocess.Popen[bytes], folder: Path) -> tuple[IO[bytes], IO[bytes]]:
    """Return the pipes into a process and out of it."""
    if process.stdin is None or process.stdout is None:
        raise CodeError(f"git at {folder} gave no pipes")
    return process.stdin, process.stdout


def await_output(process: subprocess.Popen[bytes], folder: Path, *, is_long: bool) -> None:
    """Wait until a process writes or ends: where a file that git reads is a pipe, it does neither.

    Args:
        is_long: give it `LONG_SECONDS`, else `SHORT_SECONDS`.

    Raises:
        SlowGitError: it did neither; the caller ends it.
        SleuthError: the caller was cancelled; git is ended.
    """
    seconds = LONG_SECONDS if is_long else SHORT_SECONDS
    _, answers = pipes(process, folder)
    with ended_if_cancelled(process.kill):
        if not platform.readiness(answers.fileno())(seconds):
            raise _slow(folder, "cat-file", seconds)


@contextmanager
def output(folder: Path, *arguments: str, text: bytes) -> Iterator[IO[bytes]]:
    """Yield what a command writes, as it comes.

    Args:
        text: for the command to read; less than a pipe holds.

    Raises:
        CodeError: it failed, or took longer than `SHORT_SECONDS` and was ended.
        SleuthError: the caller was cancelled; git is ended.
    """
    with start(folder, *arguments, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        timer = threading.Timer(SHORT_SECONDS, process.kill)
        timer.start()
        try:
            with ended_if_cancelled(process.kill):
                into, out = pipes(process, folder)
                with suppress(BrokenPipeError):
                    into.write(text)
                    into.close()
                yield out
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
    if process.returncode:
        raise CodeError(f"git in {folder}: exit status {process.returncode}")


def filters_off(root: Path) -> list[str]:
    """Arguments that turn off each filter driver that the settings of a repository name.

    Git has no setting for all of them at once. Without its filter a file whose time changed counts as changed, and is
    then known by the content on disk.

    Raises:
        CodeError: a filter's name holds "=", so that no argument can mean it.
    """
    keys = run(root, "config", "--null", "--name-only", "--get-regexp", r"^filter\.", check=False)
    arguments: list[str] = []
    for name in dict.fromkeys(os.fsdecode(key).rpartition(".")[0] for key in keys.split(b"\0")[:-1]):
        if "=" in name:
            raise CodeError(
                f"git's setting {name!r} in {root} must hold no '=' to be turned off: rename it, "
                "or index a commit (`--rev HEAD`)"
            )
        for setting in ("clean=", "smudge=", "process=", "required=false"):
            arguments += ["-c", f"{name}.{setting}"]
    return arguments
