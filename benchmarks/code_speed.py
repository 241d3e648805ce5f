"""How fast is a repository indexed, asked, and indexed again after a change? `make bench-code` prints the table.

python -m benchmarks.code_speed --work /tmp/code PATH [--copies N]

The peer parses every file with tree-sitter in one process, then indexes our own chunks with bm25s: the same pieces of
text, with none of the symbols, references, fields and durability. Runs are interleaved; medians.
"""

from __future__ import annotations

import argparse
import importlib
import re
import resource
import shutil
import statistics
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from sleuth.code import CodeRetriever, index_path
from sleuth.code.languages import LANGUAGES, language_of
from sleuth.code.sources import source_at
from sleuth.codebase import open_code

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WORD = re.compile(r"[A-Za-z_]\w*|[0-9]+")


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
    _, listed = source.listing()
    wanted = [file for file in listed if not file.skip]
    return [(file.path, data) for file, data in zip(wanted, source.read(wanted), strict=True)]


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


@cache
def parser(name: str) -> Any:
    """A parser of py-tree-sitter."""
    from tree_sitter import Language, Parser

    language = LANGUAGES[name]
    return Parser(Language(getattr(importlib.import_module(language.package), language.entry)()))


def timed(run: Callable[[], Any]) -> float:
    """Seconds that a call takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def multiplied(root: Path, work: Path, copies: int) -> Path:
    """The repository, or a plain folder that holds it several times."""
    if copies < 2:
        return root
    out = work / f"{root.name}_{copies}"
    if not out.exists():
        for n in range(copies):
            shutil.copytree(root, out / f"copy{n}", ignore=shutil.ignore_patterns(".git"))
    return out


def chunk_texts(work: Path, name: str) -> list[str]:
    """The chunks that were indexed."""
    with open_code(work / name) as storage:
        repository = storage.repositories()[0]
        snapshot = storage.open_snapshot(repository, storage.snapshot(repository))
        return [
            snapshot.lines(row, chunk.start, chunk.end)
            for row in snapshot.files
            for chunk in snapshot.detail(row).chunks
        ]


QUERIES = (
    "how are sessions refreshed", "parse a date from a string", "retry after a timeout", "read configuration file",
    "database connection pool", "compress data before sending", "user permission denied", "render a template",
    "close the socket", "cache key collision", "validate email address", "HTTPResponse", "get_queryset",
    "serialize to json",
)  # fmt: skip


def ask(work: Path, name: str) -> tuple[float, float, int]:
    """Median seconds of a search, cold and warm, and how many files answer."""
    with open_code(work / name) as storage:
        repository = storage.repositories()[0]
        retriever = CodeRetriever(storage, None)
        files = storage.snapshot(repository).files
        cold = timed(lambda: retriever.retrieve(QUERIES[0], repository.id, strategy="keyword"))
        for query in QUERIES:
            retriever.retrieve(query, repository.id, strategy="keyword")
        times = [
            timed(lambda q=query: retriever.retrieve(q, repository.id, strategy="keyword"))  # type: ignore[misc]
            for _ in range(3)
            for query in QUERIES
        ]
    return cold, statistics.median(times), files


def main() -> None:
    """Print the table."""
    options_of = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options_of.add_argument("path", type=Path)
    options_of.add_argument("--work", type=Path, required=True)
    options_of.add_argument("--copies", type=int, default=1)
    options_of.add_argument("--rounds", type=int, default=3)
    options_of.add_argument("--no-peer", action="store_true")
    options = options_of.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    root = multiplied(options.path.resolve(), options.work, options.copies)
    files = contents(root)
    size = sum(len(content) for _, content in files) / 1e6
    name = "speed"
    ours: list[float] = []
    peers: list[float] = []
    texts: list[str] = []
    for _ in range(options.rounds):
        shutil.rmtree(options.work / name, ignore_errors=True)
        with open_code(options.work / name, create=True) as storage:
            ours.append(timed(lambda: index_path(storage, root)))
        if not options.no_peer:
            texts = texts or chunk_texts(options.work, name)
            peers.append(timed(partial(peer_index, files, texts)))
    cold, warm, count = ask(options.work, name)
    changed = [root / path for path, _ in files[:: max(1, len(files) // 10)]][:10]
    before = [path.read_bytes() for path in changed]
    again: list[float] = []
    try:
        with open_code(options.work / name) as storage:
            for n in range(options.rounds):
                for path, content in zip(changed, before, strict=True):
                    path.write_bytes(content + b"\n# %d\n" % n)
                again.append(timed(lambda: index_path(storage, root)))
    finally:
        for path, content in zip(changed, before, strict=True):
            path.write_bytes(content)
    stored = sum(p.stat().st_size for p in (options.work / name).rglob("*") if p.is_file()) / 1e6
    full = statistics.median(ours)
    print(f"{count} files, {size:.1f} MB of source, index {stored:.1f} MB on disk")
    print(f"index: {full:.2f} s, {size / full:.1f} MB/s")
    if peers:
        peer = statistics.median(peers)
        print(f"tree-sitter parse + bm25s: {peer:.2f} s, {peer / full:.1f} times ours ({len(texts)} chunks)")
    print(
        f"ten files changed: {statistics.median(again):.3f} s, 1/{full / statistics.median(again):.0f} of the whole"
    )
    print(f"first query {cold * 1000:.1f} ms, then {warm * 1000:.2f} ms (median)")
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
