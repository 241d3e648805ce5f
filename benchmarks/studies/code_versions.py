"""Do files below `v3` give way to those below `v4` rightly? Asks for files by the messages of commits.

python -m benchmarks.studies.code_versions --work FOLDER MIRROR=COMMITS...

The files are those before the last COMMITS commits of a mirror (of the first parents). Each later commit that changes
up to six of these files, one of them below such a folder, is a query: its whole message, and its subject without the
part before a colon (`v3: fix ...`), which often names the folder. The mean reciprocal rank of the first changed file is
given for some factors of older versions.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.code_collections import Given
from sleuth.code import Snapshot
from sleuth.code.parsing.languages import language_of
from sleuth.code.search import twins
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code

FACTORS = (1.0, 0.85, 0.7)
MOST_FILES = 6
MOST_BYTES = 400_000
_VERSION = re.compile(r"(?:^|/)v\d{1,4}/", re.IGNORECASE)
_PREFIX = re.compile(r"^\s*[\w,/.\- ()]{1,30}:\s*")


def git(mirror: Path, *arguments: str) -> str:
    """Return what git writes."""
    process = subprocess.run(["git", "-C", mirror, *arguments], check=True, capture_output=True)
    return process.stdout.decode("utf-8", "replace")


def texts_of(mirror: Path, commit: str) -> list[tuple[str, str]]:
    """Return the code of a commit by path, without the packages that it carries."""
    texts = []
    for line in git(mirror, "ls-tree", "-r", "-l", commit).splitlines():
        facts, _, path = line.partition("\t")
        size = facts.split()[-1]
        if size.isdigit() and int(size) < MOST_BYTES and "vendor/" not in path and language_of(path):
            texts.append((path, git(mirror, "show", f"{commit}:{path}")))
    return texts


def commits_of(mirror: Path, count: int) -> tuple[str, list[tuple[str, str]]]:
    """Return the commit before the last ones, and these with their messages."""
    log = git(mirror, "log", "--first-parent", "--format=%x1e%H%x1f%B", "-n", str(count + 1)).split("\x1e")[
        1:
    ]
    pairs = [(name, message) for name, _, message in (entry.partition("\x1f") for entry in log)]
    return pairs[-1][0], pairs[:-1]


def ranks(snapshot: Snapshot, targets: list[str], text: str) -> Iterator[float]:
    """Yield the reciprocal rank of the first changed file for each factor."""
    gold = [snapshot.by_path[path] for path in targets]
    for factor in FACTORS:
        with mock.patch.object(twins, "TWIN_FACTOR", factor):
            scores = rank_files(snapshot, read_query(text)).scores
        yield 1 / (1 + min(int((scores > scores[at]).sum()) for at in gold))


def measure(work: Path, mirror: Path, count: int, most: int) -> None:
    """Print the row of a mirror."""
    base, commits = commits_of(mirror, count)
    name = (mirror.parent if mirror.name == "repo" else mirror).name
    rows: list[list[float]] = []
    with open_code(work / name, create=True) as storage:
        report = index_source(storage, Given(Path("/versions") / name, texts_of(mirror, base)))
        record = storage.repository(report.repository)
        snapshot = Snapshot(storage, record, storage.snapshot(record, report.snapshot))
        older = twins.Twins(snapshot).by_folder
        roots = {
            path[: match.start()]
            for places in older.values()
            for path in (snapshot.files[at].path for at in places)
            for match in _VERSION.finditer(path)
        }
        for commit, message in commits:
            options = ("-m", "--first-parent", "--format=", "--name-only", "--no-renames")
            paths = git(mirror, "show", *options, commit).splitlines()
            files = [path for path in paths if path in snapshot.by_path]
            beside = [
                path for path in files if any(path[: m.start()] in roots for m in _VERSION.finditer(path))
            ]
            if beside and len(files) <= MOST_FILES:
                subject = _PREFIX.sub("", message.partition("\n")[0])
                rows.append([*ranks(snapshot, files, message), *ranks(snapshot, files, subject)])
            if len(rows) == most:
                break
    if rows:
        cells = " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0))
        print(f"| {name} | {', '.join(sorted(older))} | {len(rows)} | {cells} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mirrors", nargs="+", metavar="MIRROR=COMMITS")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--most", type=int, default=150, help="commits of a mirror")
    options = parser.parse_args()
    factors = " | ".join(f"{kind} {factor:g}" for kind in ("message,", "subject,") for factor in FACTORS)
    print(f"| repository | folders | commits | {factors} |\n|---|---|---|{'---|' * 2 * len(FACTORS)}")
    for argument in options.mirrors:
        mirror, _, count = argument.partition("=")
        measure(options.work, Path(mirror), int(count), options.most)


if __name__ == "__main__":
    main()
