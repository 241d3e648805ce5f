"""What does a command cost that starts from nothing? `sleuth search` on 10,000 passages beside importing numpy.

    python -m benchmarks.cold_start

Each is a fresh process; they take turns, and figures are medians.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from itertools import islice

from benchmarks.passages import CACHE, passages

RUNS = 21


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Modules are compiled once and kept, as they are where packages are installed."""


def seconds(*command: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True, env=ENVIRONMENT)
    return time.perf_counter() - started


def main() -> None:
    from sleuth import Document, Engine

    home = CACHE / "cold-start"
    shutil.rmtree(home, ignore_errors=True)
    with passages(50_000).open(encoding="utf8") as lines, Engine.open(home, create=True) as engine:
        engine.add(Document(line.strip(), id=str(i)) for i, line in enumerate(islice(lines, 10_000)))
    commands = {
        "python -c pass": ("-c", "pass"),
        "python -c 'import numpy'": ("-c", "import numpy"),
        "python -c 'import sleuth'": ("-c", "import sleuth"),
        "sleuth search": ("-m", "sleuth", "search", "import the module", "--index", str(home)),
    }
    took: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        seconds(*command)
    for _ in range(RUNS):
        for name, command in commands.items():
            took[name].append(seconds(*command))
    numpy = statistics.median(took["python -c 'import numpy'"])
    print("| command | median ms | times `import numpy` |")
    print("|---|---|---|")
    for name, values in took.items():
        print(
            f"| `{name}` | {statistics.median(values) * 1e3:.0f} | {statistics.median(values) / numpy:.2f} |"
        )


if __name__ == "__main__":
    main()
