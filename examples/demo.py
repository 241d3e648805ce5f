"""Index real text and answer three questions, at the command line, as a newcomer would.

Reads this project's documentation and the Python library of the interpreter that runs it. The index stays in
`.sleuth`, so a second run shows what it costs when nothing has changed.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

HOME = Path(__file__).parents[1]
INDEX = HOME / ".sleuth"
QUESTIONS = [
    "which modules may open network connections",
    "wait for several threads to reach the same point",
    "parse an ISO 8601 date with a time zone",
]


def run(*command: str) -> None:
    """Show a command, then run it."""
    print(f"\n$ {shlex.join(command)}", flush=True)
    code = subprocess.run([sys.executable, "-m", "sleuth", *command[1:]], check=False).returncode
    if code:
        sys.exit(code)


def main() -> None:
    """Index, look, ask."""
    os.chdir(HOME)
    os.environ["SLEUTH_INDEX"] = str(INDEX)
    library = sysconfig.get_path("stdlib")
    texts = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs"]
    run("sleuth", "index", *texts, library, "--exclude", "site-packages/", "--exclude", "test/", "--quiet")
    run("sleuth", "status")
    for question in QUESTIONS:
        run("sleuth", "search", "-k", "2", question)


if __name__ == "__main__":
    main()
