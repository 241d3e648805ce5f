"""What a few decisions cost beside their simpler alternatives: the tables of docs/decisions.

    python -m benchmarks.studies.verdicts [texts|fusion|items|checksums|queries ...]

Needs 40,000 passages (benchmarks/passages.py) and, for the texts, zstandard. All figures are CPU time of one core.
"""

from __future__ import annotations

import random
import sys
import tempfile
import zlib
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.passages import passages

PASSAGES = 40_000
ROUNDS = 5


def seconds(work: Callable[[], object], calls: int = 1) -> float:
    """Return the CPU time of one call, the median of some rounds of `calls` calls."""
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        for _ in range(calls):
            work()
        times.append((process_time() - start) / calls)
    return median(times)


def read_passages() -> list[str]:
    """Return the passages of the other benchmarks, so many."""
    return passages(PASSAGES).read_text("utf8").splitlines()[:PASSAGES]


def texts() -> None:
    """Texts written one by one: as they are, with zlib and with zstd, each with a dictionary."""
    import zstandard

    coded = [text.encode() for text in read_passages()]
    dictionary = b"".join(coded[:: len(coded) // 60])[-32_768:]

    def compress(level: int) -> Callable[[bytes], bytes]:
        def each(text: bytes) -> bytes:
            compressor = zlib.compressobj(level, zdict=dictionary)
            return compressor.compress(text) + compressor.flush()

        return each

    trained = zstandard.train_dictionary(112_640, [*coded[::20]])
    reader = zstandard.ZstdDecompressor(dict_data=trained)

    def expand(text: bytes) -> bytes:
        return zlib.decompressobj(zdict=dictionary).decompress(text)

    ways: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {"plain": (bytes, bytes)}
    for level in (1, 6):
        ways[f"zlib, level {level}"] = compress(level), expand
    for level in (1, 3):
        writer = zstandard.ZstdCompressor(level=level, dict_data=trained)
        ways[f"zstd, level {level}"] = writer.compress, reader.decompress
    each = 1e6 / len(coded)
    for name, (encode, decode) in ways.items():
        encoded = list(map(encode, coded))
        share = sum(map(len, encoded)) / sum(map(len, coded))
        write = seconds(lambda encode=encode: list(map(encode, coded))) * each  # type: ignore[misc]
        read_time = seconds(lambda decode=decode, rows=encoded: [decode(row).decode() for row in rows]) * each  # type: ignore[misc]
        print(f"{name:15} {share:6.1%} write {write:5.1f} µs, read {read_time:4.1f} µs")


class _Hits(NamedTuple):
    keys: NDArray[np.int64]
    scores: NDArray[np.float64]


def fusion() -> None:
    """Two pools that share a third of their keys, the best ten."""
    from sleuth.compose import fuse_hits

    rng = np.random.default_rng(7)
    for n in (20, 100, 400, 1000):
        first = rng.permutation(10 * n)[:n].astype(np.int64)
        second = np.concatenate([first[: n // 3], np.arange(10 * n, 11 * n - n // 3)]).astype(np.int64)
        pools = [
            _Hits(keys, np.sort(rng.random(n))[::-1].copy()) for keys in (first, rng.permutation(second))
        ]
        hits: Any = dict(zip("ab", pools, strict=True))
        ours = seconds(lambda hits=hits: fuse_hits(hits, {}, "minmax", 10), 2_000)  # type: ignore[misc]
        print(f"{n:5} keys: {ours * 1e6:4.0f} µs")


def items() -> None:
    """Items of hits: all of a query in one call, one by one, around validation, and with private slots set."""
    from pydantic import TypeAdapter

    from sleuth.types import RetrievedItem

    metadata = {"source": "limits.md", "path": "/docs/limits.md", "start_line": 1, "end_line": 9}
    values: list[dict[str, Any]] = [
        {"id": f"limits.md#{i}", "text": "Tokens are refilled.", "metadata": metadata, "score": 1.0}
        for i in range(10)
    ]
    adapter = TypeAdapter(list[RetrievedItem])
    fields = {"id", "text", "metadata", "score"}

    def private() -> None:
        for value in values:
            item = RetrievedItem.__new__(RetrievedItem)
            object.__setattr__(item, "__dict__", {**value, "extra": {}})
            object.__setattr__(item, "__pydantic_fields_set__", set(fields))
            object.__setattr__(item, "__pydantic_extra__", None)
            object.__setattr__(item, "__pydantic_private__", None)

    ways: dict[str, Callable[[], object]] = {
        "all in one call": lambda: adapter.validate_python(values),
        "constructor": lambda: [RetrievedItem(**value) for value in values],
        "model_construct": lambda: [RetrievedItem.model_construct(**value) for value in values],
        "private slots": private,
    }
    for name, way in ways.items():
        print(f"{name:16} {seconds(way, 2_000) * 1e5:.2f} µs an item")


def checksums() -> None:
    """Checksums of 100,000 chunks: by the kernel, and column by column with zlib."""
    from sleuth.store.record.layout import StoredChunk, chunk_checksum

    texts = [" ".join(text.split()[:60]) for text in (read_passages() * 3)[:100_000]]
    keys, zeros = range(1, len(texts) + 1), [0] * len(texts)

    def columns() -> list[int]:
        crc = zlib.crc32
        return [
            crc(text.encode(), crc(f"{key}|{place}|None|{start}|1|{lines}|None\0None\0".encode()))
            for key, place, text, start, lines in zip(keys, zeros, texts, zeros, zeros, strict=True)
        ]

    def rows() -> list[int]:
        return [
            chunk_checksum(StoredChunk(key, 0, None, 0, 1, 0, 0, None, None, text), 0)
            for key, text in zip(keys, texts, strict=True)
        ]

    print(f"kernel {seconds(rows):.2f} s, with zlib {seconds(columns):.2f} s")


def queries() -> None:
    """Queries of four words over 3,000 passages, words alone: the best of twelve runs of each, their median."""
    from sleuth import Document, Engine

    texts = read_passages()[:3_000]
    rng = random.Random(7)
    query_texts = [" ".join(rng.sample(rng.choice(texts).split(), 4)) for _ in range(60)]
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder, create=True, embedder="") as engine:
        engine.add([Document(text, id=str(i)) for i, text in enumerate(texts)])
        for k in (10, 100):
            best = []
            for query in query_texts:
                times = []
                for _ in range(12):
                    start = process_time()
                    engine.retrieve(query, k)
                    times.append(process_time() - start)
                best.append(min(times))
            print(f"{k:4} hits: {median(best) * 1e3:.2f} ms")


SUBJECTS = {each.__name__: each for each in (texts, fusion, items, checksums, queries)}


def main() -> None:
    for name in sys.argv[1:] or SUBJECTS:
        print(f"\n{name}: {SUBJECTS[name].__doc__}")
        SUBJECTS[name]()


if __name__ == "__main__":
    main()
