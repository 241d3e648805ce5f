"""What does a process cost that starts from nothing? An import, a search and a server, beside importing numpy.

    python -m benchmarks.cold_start [--before PYTHON] [--runs 21]

Each is a fresh process; they take turns, and figures are medians of CPU time. The search is over 10,000 passages.
`--before` names the Python of another checkout, whose processes take turns with these.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.request import urlopen

from benchmarks.passages import CACHE, passages

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Modules are compiled once and kept, as they are where packages are installed."""

IMPORTS = ("pass", "import numpy", "import numpy, pydantic; pydantic.BaseModel", "from sleuth import Engine")


def cpu_seconds(*command: str) -> float:
    """Return the CPU time of a process, with its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_until_ready(python: str, index: Path) -> float:
    """Return the CPU time after which a server says that it is ready; what it does between two looks counts too."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = (python, "-m", "sleuth", "serve", "--port", port, "--index", str(index), "--quiet")
    server = subprocess.Popen(command, env=ENVIRONMENT)
    try:
        while True:
            try:
                with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10):
                    break
            except OSError:  # not yet listening, or not yet ready
                time.sleep(0.02)
        times = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Print the table."""
    from sleuth import Document, Engine

    parser = argparse.ArgumentParser()
    parser.add_argument("--before", metavar="PYTHON")
    parser.add_argument("--runs", type=int, default=21)
    options = parser.parse_args()
    home = CACHE / "cold-start"
    shutil.rmtree(home, ignore_errors=True)
    with passages(50_000).open(encoding="utf8") as lines, Engine.open(home, create=True) as engine:
        engine.add(Document(line.strip(), id=str(i)) for i, line in enumerate(islice(lines, 10_000)))
    pythons = (options.before, sys.executable) if options.before else (sys.executable,)
    search = ("-m", "sleuth", "search", "import the module", "--index", str(home))
    starts: dict[str, list[Callable[[], float]]] = {
        f"python -c '{code}'": [partial(cpu_seconds, python, "-c", code) for python in pythons]
        for code in IMPORTS
    }
    starts["sleuth search"] = [partial(cpu_seconds, python, *search) for python in pythons]
    starts["sleuth serve, until it is ready"] = [partial(cpu_until_ready, python, home) for python in pythons]
    took: dict[str, list[list[float]]] = {name: [[] for _ in pythons] for name in starts}
    for run in range(options.runs + 1):
        for name, versions in starts.items():
            for start, values in zip(versions, took[name], strict=True):
                seconds = start()
                if run:  # the first compiles modules
                    values.append(seconds)
    numpy = [statistics.median(values) for values in took["python -c 'import numpy'"]]
    heads = ("before, CPU ms", "now, CPU ms")[-len(pythons) :]
    print("| process |", *(f"{head} | times `import numpy` |" for head in heads))
    print("|---|" + "---|---|" * len(pythons))
    for name, versions_took in took.items():
        medians = [statistics.median(values) for values in versions_took]
        cells = (f"{each * 1e3:.0f} | {each / base:.2f}" for each, base in zip(medians, numpy, strict=True))
        print(f"| `{name}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
