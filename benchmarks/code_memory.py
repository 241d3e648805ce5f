"""How much memory do an index of code and a search take, by the number of files? Linux only.

python -m benchmarks.code_memory --work /tmp/memory SOURCES ... [--files 1000 10000 50000] [--workers 2]

Files of programs below the folders SOURCES are laid out as one repository of each size; where there are too few, they
are taken again with a comment line of their own, so that every file has a content of its own. The peak is that of the
command and the processes that parse, together: shared pages count once (PSS), looked at every 50 ms.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice
from pathlib import Path

ENDINGS = {
    ".py": "#",
    ".go": "//",
    ".java": "//",
    ".ts": "//",
    ".js": "//",
    ".rs": "//",
    ".c": "//",
    ".rb": "#",
}
"""Endings of the files that are taken, with what begins a comment in them."""
PAUSE = 0.05
MOST_BYTES = 200_000


def sources(folders: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents without end."""
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in ENDINGS]
    paths = [path for path in paths if path.is_file() and 0 < path.stat().st_size < MOST_BYTES]
    if not paths:
        places = ", ".join(map(str, folders))
        sys.exit(f"SOURCES must hold files of programs, got {places} without any (links are not followed)")
    for turn in count():
        for number, path in enumerate(paths):
            mark = f"{ENDINGS[path.suffix]} copy {turn}\n" if turn else ""
            yield f"part{turn}/{number // 100}/{number}_{path.name}", mark.encode() + path.read_bytes()


def lay_out(folder: Path, folders: list[Path], files: int) -> int:
    """Write a repository, and return its bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    size = 0
    for name, content in islice(sources(folders), files):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        size += len(content)
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", "-C", folder, *command], check=True)
    return size


def tree(pid: int) -> list[int]:
    """Return a process and those that it started."""
    pids = [pid]
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                pids += tree(int(child))
    return pids


def megabytes(pids: list[int]) -> float:
    """Return the memory of processes together."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def run(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Run a command of Sleuth, and return its peak memory in MB, that of its first process, and its wall time."""
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "sleuth", *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"SLEUTH_INDEX": str(folder / ".sleuth")},
    )
    peak = own = 0.0
    while process.poll() is None:
        pids = tree(process.pid)
        peak, own = max(peak, megabytes(pids)), max(own, megabytes(pids[:1]))
        time.sleep(PAUSE)
    if process.returncode:
        raise SystemExit(f"sleuth {' '.join(command)} failed with {process.returncode}")
    return peak, own, time.monotonic() - started


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--files", nargs="*", type=int, default=[1_000, 10_000, 50_000])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    print("| files | MB | index: peak MB | of them the first process | wall s | search: peak MB |")
    print("|---|---|---|---|---|---|", flush=True)
    for files in options.files:
        folder = options.work / f"repository_{files}"
        size = lay_out(folder, options.folders, files)
        peak, own, seconds = run(["code", "index", "--workers", str(options.workers)], folder)
        search, _, _ = run(["code", "search", "--strategy", "keyword", "where are requests retried"], folder)
        print(
            f"| {files:,} | {size / 1e6:.0f} | {peak:.0f} | {own:.0f} | {seconds:.0f} | {search:.0f} |",
            flush=True,
        )
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
