"""Regular expressions over all files of a repository: `sleuth grep` beside GNU grep and `git grep`.

    python -m benchmarks.grep REPOSITORY [--patterns RE ...] [--rounds 5]

The repository is a clone in git. Its index is made in a folder of its own. Each figure is CPU seconds, a median; the
first two columns are the search in this process, the others whole commands.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sleuth.code.search import compile_pattern, grep
from sleuth.engine import open_code

SLEUTH = str(Path(sys.executable).with_name("sleuth"))
HEAD = (
    "| pattern | lines | in Python | without a look at the worktree | `sleuth grep -c` | GNU `grep -rIE` "
    "| `git grep -E` |"
)
PATTERNS = ("parameters", r"def \w+_options?\(", r"[A-Z]\w+Error\b")


def cpu_of_command(*command: str, cwd: Path, index: Path) -> float:
    """CPU seconds of a command, with the processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"SLEUTH_INDEX": str(index)}
    subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_of_call(call: Callable[[], object]) -> float:
    """CPU seconds of a call in this process."""
    started = time.process_time()
    call()
    return time.process_time() - started


def row(text: str, snapshot: Any, root: Path, index: Path, rounds: int) -> str:
    """Return a row of the table, for one pattern."""
    pattern = compile_pattern(text)
    lines = grep(snapshot, pattern, limit=0).lines

    def command(*words: str) -> float:
        return cpu_of_command(*words, cwd=root, index=index)

    ways: list[Callable[[], float]] = [
        lambda: cpu_of_call(lambda: grep(snapshot, pattern)),
        lambda: cpu_of_call(lambda: grep(snapshot, pattern, worktree=False)),
        lambda: command(SLEUTH, "grep", "-c", text),
        lambda: command("grep", "-rIE", text, "."),
        lambda: command("git", "grep", "-E", text),
    ]
    seconds = [[way() for way in ways] for _ in range(rounds)]
    medians = [f"{statistics.median(column):.2f}" for column in zip(*seconds, strict=True)]
    return " | ".join([f"| `{text}`", f"{lines:,}", *medians]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path)
    parser.add_argument("--patterns", nargs="+", default=PATTERNS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    root = options.repository.resolve()
    print(HEAD, "|---" * 7 + "|", sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        command = [SLEUTH, "code", "index", str(root), "--index", str(index)]
        subprocess.run(command, check=True, stdout=sys.stderr)
        with open_code(index) as code:
            (repository,) = code.repositories()
            snapshot = code.open_snapshot(repository, code.snapshot(repository))
            for text in options.patterns:
                print(row(text, snapshot, root, index, options.rounds), flush=True)


if __name__ == "__main__":
    main()
