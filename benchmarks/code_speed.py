"""How fast is a repository indexed, asked, and indexed again after a change? `make bench-code` prints the table.

python -m benchmarks.code_speed --work /tmp/code PATH [--copies 1 17]

What is at PATH is laid out as a git repository under the work folder, once or several times over, and committed. The
peer parses every file with tree-sitter in one process, then indexes our own chunks with bm25s: the same pieces of text,
without symbols, references, fields and durability. Runs are interleaved; medians. CPU is user and system time
of all processes and threads. Ten files are changed before each snapshot of the worktree, and ten others before each
commit. The first query runs in a new process.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from sleuth.code import CodeRetriever, index_path
from sleuth.code.parsing.languages import LANGUAGES, language_of
from sleuth.code.repository.sources import source_at
from sleuth.engine import open_code

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WORD = re.compile(r"[A-Za-z_]\w*|[0-9]+")
QUERIES = (
    "how are sessions refreshed", "parse a date from a string", "retry after a timeout", "read configuration file",
    "database connection pool", "compress data before sending", "user permission denied", "render a template",
    "close the socket", "cache key collision", "validate email address", "HTTPResponse", "get_queryset",
    "serialize to json",
)  # fmt: skip


@dataclass
class Times:
    """Seconds of several runs."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def run(self, work: Callable[[], Any]) -> Any:
        """Measures one run."""
        cpu, began = _cpu(), time.perf_counter()
        out = work()
        self.wall.append(time.perf_counter() - began)
        self.cpu.append(_cpu() - cpu)
        return out

    @property
    def medians(self) -> tuple[float, float]:
        """Of wall and CPU time."""
        return statistics.median(self.wall), statistics.median(self.cpu)


def _cpu() -> float:
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def code_tokens(text: str) -> list[str]:
    """Identifiers whole and in parts, lower case: what a code tokenizer for bm25s does."""
    out = []
    for word in _WORD.findall(text):
        parts = _PART.findall(word)
        out.append(word.lower())
        if len(parts) > 1:
            out += [part.lower() for part in parts]
    return out


def contents(root: Path) -> list[tuple[str, bytes]]:
    """Paths and contents of the files of a repository."""
    source = source_at(root)
    files = [file for file in source.listing().files if not file.skip]
    return [(file.path, data) for file, data in zip(files, source.read(files), strict=True)]


@cache
def parser(name: str) -> Any:
    """A parser of py-tree-sitter."""
    from tree_sitter import Language, Parser

    language = LANGUAGES[name]
    return Parser(Language(getattr(importlib.import_module(language.package), language.entry)()))


def peer_index(files: list[tuple[str, bytes]], chunks: list[str]) -> Any:
    """A single-process tree-sitter parse, then bm25s of the chunks."""
    import bm25s

    for path, content in files:
        language = language_of(path)
        if language is not None and LANGUAGES[language.name].package:
            parser(language.name).parse(content)
    retriever = bm25s.BM25()
    retriever.index([code_tokens(text) for text in chunks], show_progress=False)
    return retriever


def laid_out(root: Path, work: Path, copies: int) -> Path:
    """A git repository that holds what is at `root`, several times over."""
    out = work / f"{root.name}_{copies}"
    if not (out / ".git").exists():
        shutil.rmtree(out, ignore_errors=True)
        for n in range(copies):
            shutil.copytree(root, out / f"copy{n}", ignore=shutil.ignore_patterns(".git"), symlinks=True)
        subprocess.run(["git", "-C", str(out), "init", "-q"], check=True)
        commit(out, "all")
    return out


def commit(root: Path, message: str) -> None:
    """Commit the worktree as it is."""
    settings = ("user.name=speed", "user.email=speed@localhost", "core.autocrlf=false", "gc.auto=0")
    options = [part for setting in settings for part in ("-c", setting)]
    for command in (("add", "-A", "-f"), ("commit", "-q", "--allow-empty", "-m", message)):
        subprocess.run(["git", "-C", str(root), *options, *command], check=True)


def chunk_texts(index: Path) -> list[str]:
    """The chunks that were indexed."""
    with open_code(index) as storage:
        repository = storage.repositories()[0]
        snapshot = storage.open_snapshot(repository, storage.snapshot(repository))
        return [
            snapshot.lines(row, chunk.start, chunk.end)
            for row in snapshot.files
            for chunk in snapshot.detail(row).chunks
        ]


def ask(index: Path) -> dict[str, tuple[float, float]]:
    """Wall and CPU seconds of the first search in this process, and the median of those after it."""
    first, later = Times(), Times()
    with open_code(index) as storage:
        repository = storage.repositories()[0]
        retriever = CodeRetriever(storage, None)

        def search(query: str) -> None:
            retriever.retrieve(query, repository.id, strategy="keyword")

        first.run(lambda: search(QUERIES[0]))
        for query in QUERIES:
            search(query)
        for query in QUERIES * 5:
            later.run(lambda q=query: search(q))  # type: ignore[misc]
    return {"first query of a process": first.medians, "query": later.medians}


def snapshots(root: Path, index: Path, files: list[tuple[str, bytes]], rounds: int) -> dict[str, Times]:
    """What a snapshot costs after ten files changed."""
    again, committed = Times(), Times()
    stride = max(1, len(files) // 10)
    touched: dict[Path, bytes] = {}

    def change(n: int, first: int = 0) -> None:
        """Ten files, from the first on."""
        ten = {root.resolve() / path: content for path, content in files[first % stride :: stride][:10]}
        touched.update(ten)
        for path, content in ten.items():
            path.write_bytes(content + b"\n// %d\n" % n)

    try:
        with open_code(index) as storage:
            for n in range(2 * rounds):
                change(n)
                again.run(partial(index_path, storage, root))
            for n in range(2 * rounds, 4 * rounds):
                change(n, first=n)
                commit(root, "ten files")
                committed.run(partial(index_path, storage, root, revision="HEAD"))
    finally:
        for path, content in touched.items():
            path.write_bytes(content)
        commit(root, "as it was")
    return {
        "ten files changed": again,
        "a commit of ten files": committed,
    }


def measure(root: Path, index: Path, rounds: int, *, peer: bool) -> None:
    """Prints one table."""
    files = contents(root)
    ours, theirs = Times(), Times()
    texts: list[str] = []
    for _ in range(rounds):
        shutil.rmtree(index, ignore_errors=True)
        with open_code(index, create=True) as storage:
            report = ours.run(lambda: index_path(storage, root, vectors=False))
        if peer:
            texts = texts or chunk_texts(index)
            theirs.run(partial(peer_index, files, texts))
    megabytes = sum(path.stat().st_size for path in index.rglob("*") if path.is_file()) / 1e6
    changes = snapshots(root, index, files, rounds)
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.code_speed", "--ask", str(index)], check=True, capture_output=True
    )
    size = sum(len(content) for _, content in files) / 1e6
    print(f"\n| {report.files} files, {size:.1f} MB, {report.chunks} chunks | wall | CPU | |")
    print("|---|---|---|---|")
    full = ours.medians
    _row("index", full, f"{size / full[0]:.1f} MB/s, {megabytes:.1f} MB on disk")
    if peer:
        times = theirs.medians
        share = f"{times[0] / full[0]:.1f} times the wall time, {times[1] / full[1]:.1f} times the CPU time"
        _row("tree-sitter parse + bm25s, one process", times, share)
    for name, change in changes.items():
        wall, cpu = change.medians
        _row(name, (wall, cpu), f"1/{full[0] / wall:.0f} wall, 1/{full[1] / cpu:.0f} CPU")
    for name, pair in json.loads(process.stdout).items():
        _row(name, pair, "")
    print(
        f"\nmemory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB, peer included"
    )


def _row(name: str, times: tuple[float, float], note: str) -> None:
    wall, cpu = (f"{t:.2f} s" if t >= 1 else f"{1000 * t:.1f} ms" for t in times)
    print(f"| {name} | {wall} | {cpu} | {note} |")


def main() -> None:
    """Print the tables."""
    options_of = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options_of.add_argument("path", type=Path, nargs="?")
    options_of.add_argument("--work", type=Path)
    options_of.add_argument("--copies", type=int, nargs="+", default=[1])
    options_of.add_argument("--rounds", type=int, default=3)
    options_of.add_argument("--no-peer", action="store_true")
    options_of.add_argument("--ask", type=Path, help="only ask this index, and print the seconds as JSON")
    options = options_of.parse_args()
    if options.ask is not None:
        print(json.dumps(ask(options.ask)))
        return
    options.work.mkdir(parents=True, exist_ok=True)
    for copies in options.copies:
        root = laid_out(options.path.resolve(), options.work, copies)
        few = copies > 1  # the peer's tokens of a large repository fill the memory
        measure(
            root,
            options.work / f"speed_{copies}",
            1 if few else options.rounds,
            peer=not options.no_peer and not few,
        )


if __name__ == "__main__":
    main()
