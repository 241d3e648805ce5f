"""Real passages for benchmarks, made on any machine from the text files found on it.

Each passage is 60 consecutive words of a file; each query is 2 to 8 words of a passage. Both are the same for the
same files, so that one run can be repeated.
"""

from __future__ import annotations

import os
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

WORDS = 60
SUFFIXES = {
    ".py",
    ".pyi",
    ".md",
    ".rst",
    ".txt",
    ".html",
    ".h",
    ".c",
    ".js",
    ".ts",
    ".tex",
    ".pod",
    ".pm",
    ".rs",
}
ROOTS = [
    Path(sys.base_prefix).parent,
    Path(sys.prefix),
    Path("/usr/share"),
    Path("/usr/lib"),
    Path("/usr/include"),
    Path.home(),
    Path("/opt"),
]
CACHE = Path(__file__).parents[1] / ".data" / "bench"


def texts() -> Iterator[str]:
    """Texts of files under the roots, each file once, in a fixed order."""
    return (text for _, text in text_files())


def text_files() -> Iterator[tuple[Path, str]]:
    """Files under the roots with their texts, as `texts`."""
    inodes: set[tuple[int, int]] = set()
    for root in ROOTS:
        for folder, folders, files in os.walk(root):
            folders.sort()
            for name in sorted(files):
                path = Path(folder, name)
                if path.suffix not in SUFFIXES:
                    continue
                try:
                    stat = path.stat()
                    if (stat.st_dev, stat.st_ino) in inodes or not 200 < stat.st_size < 2_000_000:
                        continue
                    inodes.add((stat.st_dev, stat.st_ino))
                    yield path, path.read_text("utf8")
                except (OSError, UnicodeDecodeError):
                    continue


def passages(n: int) -> Path:
    """A file of n different passages, one a line; made once and kept.

    Raises:
        SystemExit: the machine holds fewer than n.
    """
    path = CACHE / f"passages-{n}.txt"
    if path.exists():
        return path
    CACHE.mkdir(parents=True, exist_ok=True)
    hashes: set[int] = set()
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="utf8") as out:
        for text in texts():
            words = text.split()
            for start in range(0, len(words) - WORDS + 1, WORDS):
                passage = " ".join(words[start : start + WORDS])
                if len(passage) > 2_000 or hash(passage) in hashes:
                    continue
                hashes.add(hash(passage))
                out.write(passage + "\n")
                if len(hashes) == n:
                    partial.rename(path)
                    return path
    sys.exit(f"only {len(hashes)} passages can be made from the text on this machine; ask for fewer than {n}")


def queries(path: Path, n: int, seed: int = 7) -> list[str]:
    """n queries of 2 to 8 words taken from random passages; words of 2 characters and more, lower case."""
    rng = random.Random(seed)
    with path.open(encoding="utf8") as lines:
        sample = [line for line in lines if rng.random() < 0.05]
    texts_of_queries: list[str] = []
    while len(texts_of_queries) < n:
        words = re.findall(r"[a-z0-9_]{2,}", rng.choice(sample).lower())
        if len(words) >= 8:
            texts_of_queries.append(" ".join(rng.sample(words, rng.randint(2, 8))))
    return texts_of_queries
