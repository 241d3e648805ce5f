"""Runs the examples of the README, writes their output into it, and draws the picture docs/terminal.svg."""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.text import Text

HOME = Path(__file__).parents[1]
COLUMNS = 92
PICTURE = (
    "index *.md",
    'search -k 1 "when are tokens refilled"',
    'ask "who answers a page"',
    "code index .",
    'code search -k 1 "take a token"',
)
"""Commands of the picture."""
_SECONDS = re.compile(r"\d+\.\d+ s\b")
_ERASED = re.compile(r".*(?:\r|\x1b\[2?K)")
"""Text of a line that the command replaced."""
_EXAMPLES = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)


def main() -> None:
    """Write the outputs and the picture; with `--check` compare the outputs alone."""
    readme = HOME / "README.md"
    text = readme.read_text("utf8")
    if "--check" in sys.argv:
        if with_outputs(text) != text:
            raise SystemExit("the commands of the README print something else: make picture")
        print("the commands of the README print what it shows")
        return
    readme.write_text(with_outputs(text), "utf8")
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    with handbook() as folder:
        for command in PICTURE:
            console.print(Text.from_markup("[bold green]$[/] ") + Text(f"sleuth {command}"))
            console.print(Text.from_ansi(terminal_output(command, folder)))
    console.save_svg(str(HOME / "docs" / "terminal.svg"), title="sleuth", unique_id="sleuth")


@contextmanager
def handbook() -> Iterator[Path]:
    """Yield a copy of the folder of examples."""
    with tempfile.TemporaryDirectory() as folder:
        yield shutil.copytree(HOME / "examples" / "handbook", Path(folder, "handbook"))


def with_outputs(readme: str) -> str:
    """Return the README with the outputs that its commands have now."""
    with handbook() as folder:
        return _EXAMPLES.sub(lambda match: run_block(match[0], folder), readme)


def run_block(block: str, folder: Path) -> str:
    """Return a block of commands with their outputs."""
    commands = re.findall(r"^\$ sleuth (.*)$", block, re.MULTILINE)
    return "\n".join(f"$ sleuth {command}\n{plain_output(command, folder)}" for command in commands)


def plain_output(command: str, folder: Path) -> str:
    """Return what a command prints into a pipe; times are rounded, since they differ from run to run."""
    result = subprocess.run(
        [sys.executable, "-m", "sleuth", *arguments(command, folder)],
        cwd=folder, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return _SECONDS.sub("0.3 s", result.stdout).replace(str(folder), "handbook").rstrip() + "\n"


def terminal_output(command: str, folder: Path) -> str:
    """Return what a command prints on a terminal, with its colours and without lines of progress."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "sleuth", *arguments(command, folder)],
        cwd=folder, env=environment(), stdin=its, stdout=its, stderr=its,
    ):  # fmt: skip
        os.close(its)
        output = read_all(ours)
    lines = [_ERASED.sub("", line) for line in output.replace("\r\n", "\n").split("\n")]
    return _SECONDS.sub("0.3 s", "\n".join(lines)).replace(str(folder), "handbook")


def read_all(terminal: int) -> str:
    """Return what is printed on a terminal until its other side is closed."""
    pieces = []
    with os.fdopen(terminal, "rb", buffering=0) as file, suppress(OSError):  # Linux ends with EIO
        while piece := file.read(1 << 16):
            pieces.append(piece)
    return b"".join(pieces).decode("utf-8", "replace")


def arguments(command: str, folder: Path) -> list[str]:
    """Return the arguments of a command, with the names that a shell would put for `*.md`."""
    words = shlex.split(command)
    return [
        name
        for word in words
        for name in (sorted(p.name for p in folder.glob(word)) if "*" in word else [word])
    ]


def environment() -> dict[str, str]:
    """Return an environment in which an output does not depend on the user's settings."""
    mine = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("SLEUTH_", "OLLAMA_", "NO_COLOR"))
    }
    return {**mine, "COLUMNS": "80", "TERM": "xterm-256color", "OLLAMA_HOST": "", "SLEUTH_CONFIG": ""}


if __name__ == "__main__":
    main()
