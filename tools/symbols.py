"""Make the table of strings that texts are written with, src/sleuth/store/passages/symbols.bin.

    python tools/symbols.py FILE ...

A table is never changed, since texts of indexes are written with it: this is how it came to be. It was made of 2.7 MB
of abstracts, questions, reviews and code in nine languages (the collections of benchmarks/collections, documentation
and code of this project) and 4.3 MB of Python packages (code, notes, markup; at most 25 kB of each).

Each round writes the texts with the strings of the round before, and keeps the strings, and pairs of them that come
one after the other, that save most: their length, less what a symbol takes, times how often they come.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

ROUNDS: Final = 14
SYMBOLS: Final = 4096
LONGEST: Final = 8
TAKEN: Final = 0.85
PAIRS: Final = 40_000
TABLE: Final = Path(__file__).parents[1] / "src/sleuth/store/passages/symbols.bin"


def written(text: bytes, number: dict[bytes, int]) -> NDArray[np.int64]:
    """Return the numbers of the symbols of a text: always the longest that comes next."""
    numbers, at = [], 0
    while at < len(text):
        size = next(size for size in range(LONGEST, 0, -1) if text[at : at + size] in number)
        numbers.append(number[text[at : at + size]])
        at += size
    return np.array(numbers, np.int64)


def ordered(string: bytes) -> tuple[int, int, bytes]:
    """Return the order of a string in the table: by the hash of its first bytes (symbols.h), the longest first."""
    if len(string) < 3:
        return -1, len(string), string
    return int.from_bytes(string[:3], "little") * 2654435769 % (1 << 32) >> 20, -len(string), string


def learned(text: bytes) -> list[bytes]:
    """Return the strings that write this text in the fewest symbols, about."""
    single = [bytes([value]) for value in range(256)]
    strings = list(single)
    for _ in range(ROUNDS):
        symbols = written(text, {string: number for number, string in enumerate(strings)})
        saved = {
            strings[symbol]: count * (len(strings[symbol]) - TAKEN)
            for symbol, count in enumerate(
                np.bincount(symbols, minlength=len(strings))[: len(strings)].tolist()
            )
            if count and symbol >= len(single)
        }
        pairs, counts = np.unique(symbols[:-1] * SYMBOLS + symbols[1:], return_counts=True)
        order = np.argsort(-counts, kind="stable")[:PAIRS]
        for pair, count in zip(pairs[order].tolist(), counts[order].tolist(), strict=True):
            string = strings[pair // SYMBOLS] + strings[pair % SYMBOLS]
            if len(string) <= LONGEST and b"\0" not in string:
                saved[string] = max(saved.get(string, 0), count * (len(string) - TAKEN))
        best = sorted(saved, key=lambda string: (-saved[string], string))
        strings = single + sorted(best[: SYMBOLS - len(single)], key=ordered)
    return strings


if __name__ == "__main__":
    table = learned(b"\0".join(Path(name).read_bytes() for name in sys.argv[1:]))
    TABLE.write_bytes(bytes(map(len, table)) + b"".join(table))
