"""From a folder of 10,000 Markdown files to a searchable index: how long, and where does the time go?

    python -m benchmarks.folder [--files 10000] [--profile]

The files are made from text found on the machine: a title, and sections of some paragraphs, 4 kB on average.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import shutil
import time
from pathlib import Path

from benchmarks.passages import CACHE, passages

PASSAGES = 50_000


def make(files: int) -> Path:
    """The folder; made once and kept."""
    folder = CACHE / f"markdown-{files}"
    if folder.is_dir():
        return folder
    lines = passages(PASSAGES).read_text("utf8").splitlines()
    partial = folder.with_suffix(".partial")
    for number in range(files):
        home = partial / f"part{number % 100:02}"
        home.mkdir(parents=True, exist_ok=True)
        sample = [lines[(number * 8 + i) % len(lines)] for i in range(4 + number % 9)]
        sections = [f"## Section {i}\n\n{text}\n" for i, text in enumerate(sample)]
        (home / f"page{number}.md").write_text(f"# Page {number}\n\n" + "\n".join(sections), "utf8")
    partial.rename(folder)
    return folder


def main() -> None:
    from sleuth import Engine

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--profile", action="store_true", help="say where the time goes, by function")
    options = parser.parse_args()
    folder = make(options.files)
    size = sum(path.stat().st_size for path in folder.rglob("*.md"))
    home = CACHE / "folder-index"
    shutil.rmtree(home, ignore_errors=True)
    profile = cProfile.Profile()
    started, cpu = time.perf_counter(), time.process_time()
    with Engine.open(home, create=True) as engine:
        report = profile.runcall(engine.index, [folder]) if options.profile else engine.index([folder])
        first, first_cpu = time.perf_counter() - started, time.process_time() - cpu
        started, cpu = time.perf_counter(), time.process_time()
        engine.index([folder])
        again, again_cpu = time.perf_counter() - started, time.process_time() - cpu
    print("| files | MB | passages | first s | of CPU | MB per CPU s | again, unchanged s | of CPU |")
    print("|---|---|---|---|---|---|---|---|")
    cells = (
        report.read,
        f"{size / 1e6:.0f}",
        report.passages,
        f"{first:.2f}",
        f"{first_cpu:.2f}",
        f"{size / 1e6 / first_cpu:.1f}",
        f"{again:.2f}",
        f"{again_cpu:.2f}",
    )
    print("| " + " | ".join(map(str, cells)) + " |")
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
