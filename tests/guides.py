"""Runs the blocks of code of a page in one folder, in order, and compares what they print with what the page shows.

    ```python      with ">>>": a doctest; else a program, whose output is the block `text` below it
    ```console     commands after "$ ", with the output of each below it where the page shows it
    ```sh          commands, one a line
    ```toml, ```json, ```yaml    are parsed; a comment with a name on the first line of TOML writes that file
    ```diff        is applied to a copy of the sources, which the blocks below it run

The blocks of a page share their variables, the folder and the environment. What follows "..." in an output may be
anything. Commands that install packages are not run: their extras must exist. Programs of `ELSEWHERE` need a machine of
their own, or an installed wheel: the files of this repository that they name must exist.
"""

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from sleuth.errors import MissingPackageError
from tests.commands import sleuth, sleuth_on_terminal
from tests.waiting import free_port, listens, wait_until

HOME = Path(__file__).parents[1]
FENCE = re.compile(r"^( *)```([\w+-]*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = frozenset(
    {
        "man", "source", "docker", "kubectl", "helm", "systemctl", "journalctl", "ollama", "mcp-publisher",
        "sudo", "sqlite3",
    }
)  # fmt: skip
RUN_BY_SHELL = re.compile(r"[|<>&;`*]|\$\(")
PORT = "8321"
"""Of `sleuth serve` on the pages; each test takes a free one."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code of a page, with the output that the page shows below it."""

    language: str
    code: str
    output: str | None = None


@dataclass
class Machine:
    """Where the blocks of one page run.

    Attributes:
        folder: the working folder.
        values: variables of Python that the blocks share.
        port: the one of `sleuth serve`.
        processes: commands that go on until the page ends.
    """

    folder: Path
    values: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    port: str = field(default_factory=lambda: str(free_port()))
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def patched(self) -> Path:
        """The copy of the sources with the changes of the page; its processes have it before all others."""
        return self.folder / ".patched"

    def close(self) -> None:
        """End what goes on."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)
            if process.stdout:
                process.stdout.close()
        self.processes.clear()


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a page; a block `text` right below a program is its output."""
    matches = list(FENCE.finditer(text))
    for match, after in zip_longest(matches, matches[1:]):
        language, code = match[2], re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE)
        if language == "text":
            continue
        is_output = after is not None and after[2] == "text" and not text[match.end() : after.start()].strip()
        yield Block(language, code, after[3] if after is not None and is_output else None)


def run_page(text: str, folder: Path) -> set[str]:
    """Run all blocks of a page in a folder; return packages that are not installed, whose blocks did not run.

    Raises:
        AssertionError: a block fails, or prints something else than the page shows.
    """
    machine = Machine(folder)
    missing: set[str] = set()
    try:
        for block in blocks(text):
            absent = {name for name in imported(block) if find_spec(name) is None}
            missing |= absent
            if absent:
                continue
            if "sleuth.plugins.ray" in block.code:
                machine.close()  # one Ray at a time: two start too slowly on a busy machine
            try:
                run_block(block, machine)
            except MissingPackageError as error:
                missing.add(error.package)
    finally:
        machine.close()
    return missing


def imported(block: Block) -> set[str]:
    """Return the packages that a block of Python imports."""
    if block.language != "python":
        return set()
    if "sleuth.plugins.ray" in block.code:
        return {"ray"}
    return set(re.findall(r"^(?:>>> )?(?:from|import) (\w+)", block.code, re.MULTILINE))


def run_block(block: Block, machine: Machine) -> None:
    """Run one block.

    Raises:
        AssertionError: see `run_page`.
    """
    if block.language == "python" and ">>> " in block.code:
        _run_doctest(block.code, machine)
    elif block.language == "python" and machine.patched.exists():
        (machine.folder / "page.py").write_text(block.code, "utf8")
        _run_command("python page.py", block.output, machine)
    elif block.language == "python":
        _run_program(block, machine)
    elif block.language in {"console", "sh", "bash"}:
        for command, output in _commands(block):
            _run_command(command, output, machine)
    elif block.language == "toml":
        tomllib.loads(block.code)
        if match := re.match(r"#.*?((?:~/)?[\w./]*\w\.toml)", block.code):
            file = machine.folder / Path(match[1]).expanduser()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.code, "utf8")
    elif block.language == "json":
        json.loads(block.code)
    elif block.language in {"yaml", "yml"}:
        list(yaml.safe_load_all(block.code))
    elif block.language == "diff":
        _apply(block.code, machine)
    else:
        assert block.language in {"scheme"}, f"a block of {block.language!r} cannot be checked:\n{block.code}"


def _apply(diff: str, machine: Machine) -> None:
    """Change a copy of the sources, which is made for the first change of a page."""
    if not machine.patched.exists():
        shutil.copytree(HOME / "src", machine.patched / "src", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "apply", "-"], cwd=machine.patched, input=diff, text=True, check=True)


def _run_doctest(code: str, machine: Machine) -> None:
    test = doctest.DocTestParser().get_doctest(code, machine.values, "page", None, 0)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(test, out=report.write, clear_globs=False)
    machine.values.update(test.globs)
    assert not runner.failures, report.getvalue()


def _run_program(block: Block, machine: Machine) -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(block.code.replace(PORT, machine.port), "page", "exec"), machine.values)  # noqa: S102
    if block.output is not None:
        _compare(block.output, output.getvalue(), block.code)


def _commands(block: Block) -> Iterator[tuple[str, str | None]]:
    """Yield each command of a block with its output, or None where the page does not show it."""
    code = block.code.replace("\\\n", " ")
    if block.language != "console":
        yield from ((line, None) for line in code.splitlines() if line.strip() and line[0] != "#")
        return
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output.rstrip("\n") + "\n" if output.strip() else None


def _run_command(command: str, output: str | None, machine: Machine) -> None:
    words = shlex.split(command, comments=True)
    name = Path(words[0]).name
    if name in {"pip", "python3"} and ("install" in words or "venv" in words):
        _check_extras(command)
    elif name == "sleuth" and words[1:2] == ["cluster"] and find_spec("ray") is None:
        raise MissingPackageError("ray", "cluster", command)
    elif words[:3] == ["sleuth", "index", "eval"]:
        raise MissingPackageError("data sets", "eval", command)
    elif "--token-issuer" in words or (
        words[:3] == ["sleuth", "index", "import"] and not (machine.folder / words[4]).exists()
    ):
        pass  # tests/surfaces/test_help.py parses it; tests of tokens and of importers run it with what it needs
    elif name in ELSEWHERE or (name == "curl" and not machine.processes):
        for path in re.findall(r"\bdeploy/[\w./-]+", command):
            assert (HOME / path).exists(), f"{path}, which a page names, must exist"
    elif name == "make":
        assert re.search(rf"^{words[1]}:", (HOME / "Makefile").read_text("utf8"), re.MULTILINE), command
    elif words[:2] in (["sleuth", "serve"], ["sleuth", "index"]) and (
        "keys" not in words and ("--watch" in words or words[1] == "serve")
    ):
        _start(words[1:], output, machine)
    elif (
        name == "sleuth"
        and not machine.patched.exists()
        and not RUN_BY_SHELL.search(re.sub(r"\"[^\"]*\"|'[^']*'| #.*", "", command))
    ):
        if words[1] == "search" and output is None:  # what `sleuth open` opens is kept for a terminal only
            code, printed = sleuth_on_terminal(*words[1:], cwd=machine.folder)
            assert code == 0, f"$ {command}\n{printed}"
        else:
            _check(command, sleuth(*words[1:], cwd=machine.folder), output)
    else:
        _run_shell(command, output, machine)


def _check(command: str, result: subprocess.CompletedProcess[str], output: str | None) -> None:
    """Compare what a command printed.

    Raises:
        MissingPackageError: it needs a package that is not installed.
    """
    if match := re.search(r"needs the package '([\w-]+)'|No module named '(\w+)'", result.stderr):
        raise MissingPackageError(match[1] or match[2], "", command)
    assert result.returncode == 0, f"$ {command}\n{result.stdout}{result.stderr}"
    if output is not None:
        _compare(output, result.stdout.replace(str(Path.home()), "/home/ann"), command)


def _run_shell(command: str, output: str | None, machine: Machine) -> None:
    """Run a command in a shell that has `sleuth`."""
    programs = machine.folder / ".programs"
    if not programs.exists():
        programs.mkdir()
        (programs / "sleuth").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m sleuth "$@"\n')
        (programs / "sleuth").chmod(0o700)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    result = subprocess.run(
        ["bash", "-c", command.replace(PORT, machine.port)], cwd=machine.folder, capture_output=True, text=True,
        check=False, timeout=300, env={**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1"},
    )  # fmt: skip
    _check(command, result, output)


def _start(words: list[str], output: str | None, machine: Machine) -> None:
    """Start a command that goes on until the page ends, and wait for its first line or for its answer."""
    if words[0] == "serve":
        machine.close()
        words = [*words, "--port", machine.port]
    process = subprocess.Popen(
        [sys.executable, "-m", "sleuth", *words], cwd=machine.folder, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    machine.processes.append(process)
    assert process.stdout is not None
    first = process.stdout.readline()
    assert first, f"sleuth {shlex.join(words)} ended"
    if output is not None:
        _compare(output.replace(PORT, machine.port), first, shlex.join(words))
    if words[0] == "serve":
        wait_until(lambda: listens(int(machine.port)))


def _check_extras(command: str) -> None:
    extras = tomllib.loads((HOME / "pyproject.toml").read_text("utf8"))["project"]["optional-dependencies"]
    for names in re.findall(r"(?:sleuth|\.)\[([\w,-]+)\]", command):
        for name in names.split(","):
            assert name in extras, f"{command}: no extra {name!r}"


def _compare(expected: str, printed: str, code: str) -> None:
    """Compare outputs; times differ between runs, so that numbers before " s" count as equal."""
    expected, printed = (re.sub(r"\b\d+\.\d+ s\b", "0.0 s", text).rstrip() for text in (expected, printed))
    is_equal = doctest.OutputChecker().check_output(f"{expected}\n", f"{printed}\n", doctest.ELLIPSIS)
    assert is_equal, f"{code}\nprinted\n{printed}\nand not\n{expected}"
