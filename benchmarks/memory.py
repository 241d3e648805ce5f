"""The most memory that indexing takes, by size of the corpus.

    python -m benchmarks.memory [--megabytes 131 341 700] [--rows 1000000] [--folder /tmp/memory]

A corpus is made of text files found on the machine: as often as it takes, with other words each time. `--rows` makes
one file of many short rows instead. Each corpus is indexed by a process of its own, with words and meaning.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

from benchmarks.passages import text_files, texts

_word = re.compile(r"[a-z]{5,}")
INDEX = """
import sys
from sleuth import Engine
with Engine.open(sys.argv[2], create=True) as engine:
    engine.index([sys.argv[1]])
"""


class Peak(NamedTuple):
    """The largest memory of a process, in MB.

    Attributes:
        resident: all of it, as the kernel keeps it.
        proportional: of all, with shared pages divided among those who share them, and with the processes that read
            files.
        anonymous, mapped: of memory without a file, and of files.
        seconds: CPU time of the process.
    """

    resident: float
    proportional: float
    anonymous: float
    mapped: float
    seconds: float


def changed(text: str, copy: int) -> str:
    """Return a text in which other words of each copy are new ones."""
    if not copy:
        return text

    def word(match: re.Match[str]) -> str:
        is_new = zlib.crc32(match[0].encode()) % 16 == copy % 16
        return f"{match[0]}{'abcdefghij'[copy % 10]}{copy // 10 or ''}" if is_new else match[0]

    return _word.sub(word, text)


def files(megabytes: float, folder: Path) -> Path:
    """Make a folder of text files of this size in all; made once and kept."""
    home = folder / f"files-{megabytes:g}"
    if home.is_dir():
        return home
    partial = home.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    size, copy = 0, 0
    while size < megabytes * 1e6:
        marks = set()
        for source, text in text_files():
            if (mark := zlib.crc32(text.encode())) in marks:
                continue
            marks.add(mark)
            path = partial / f"{copy}-{len(marks) // 1000}" / f"{len(marks)}{source.suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            size += path.write_bytes(changed(text, copy).encode())
            if size >= megabytes * 1e6:
                break
        copy += 1
    partial.rename(home)
    return home


def rows(count: int, folder: Path) -> Path:
    """Make a file of short rows with an identifier and a year each; made once and kept."""
    home = folder / f"rows-{count}.jsonl"
    if home.is_file():
        return home
    partial = home.with_suffix(".partial")

    def lines() -> Iterator[str]:
        copy = 0
        while True:
            for text in texts():
                yield from (changed(line, copy) for line in text.splitlines() if len(line) > 20)
            copy += 1

    folder.mkdir(parents=True, exist_ok=True)
    with partial.open("w") as file:
        for number, line in zip(range(count), lines(), strict=False):
            file.write(json.dumps({"id": f"row-{number}", "text": line[:200], "year": 1990 + number % 40}))
            file.write("\n")
    partial.rename(home)
    return home


def measure(corpus: Path) -> Peak:
    """Index a corpus in a process, and look at it from outside."""
    index = corpus.with_suffix(".index")
    shutil.rmtree(index, ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([sys.executable, "-c", INDEX, str(corpus), str(index)])
    peak = Peak(0, 0, 0, 0, 0)
    while process.poll() is None:
        facts = {**_facts(process.pid, "status"), **_facts(process.pid, "smaps_rollup")}
        workers = [_facts(worker, "smaps_rollup").get("Pss", 0) for worker in _workers(process.pid)]
        facts["Pss"] = facts.get("Pss", 0) + sum(workers)
        now = (facts.get(name, 0) / 1000 for name in ("VmHWM", "Pss", "RssAnon", "RssFile"))
        peak = Peak(*map(max, peak, (*now, 0)))
        time.sleep(0.1)
    shutil.rmtree(index, ignore_errors=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return peak._replace(seconds=seconds)


def _workers(process: int) -> set[int]:
    """Return the processes that a process has started."""
    workers = set[int]()
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            workers.update(map(int, file.read_text().split()))
    return workers


def _facts(process: int, name: str) -> dict[str, int]:
    """Return what the kernel says about a process, in units of 1,024 bytes; nothing about one that has ended."""
    try:
        lines = Path(f"/proc/{process}/{name}").read_text().splitlines()
    except OSError:
        return {}
    matches = (re.fullmatch(r"(\w+):\s+(\d+) kB", line) for line in lines)
    return {match[1]: int(match[2]) for match in matches if match}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, nargs="*", default=[131, 341, 700])
    parser.add_argument("--rows", type=int, nargs="*", default=[])
    parser.add_argument("--folder", type=Path, default=Path(gettempdir(), "memory"))
    options = parser.parse_args()
    print("| corpus | CPU s | peak, MB | proportional, all | without a file | of files |", flush=True)
    print("|---|---|---|---|---|---|", flush=True)
    for corpus in (
        *(files(size, options.folder) for size in options.megabytes),
        *(rows(count, options.folder) for count in options.rows),
    ):
        peak = measure(corpus)
        cells = (f"{value:.0f}" for value in (peak.seconds, *peak[:4]))
        print(f"| {corpus.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
