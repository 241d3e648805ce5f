"""Limits of size, time and memory for one file, and the signs of a file that may exceed them."""

from __future__ import annotations

from typing import Final

MAX_BYTES: Final = 2_000_000
TOO_LARGE: Final = f"larger than {MAX_BYTES} bytes"
"""Why larger files are listed and not searched."""

MEMORY: Final = 1 << 29
"""Bytes that parsing a file may take."""
UNPARSED: Final = "not parsed: "
"""How every reason begins that keeps a file in a known language from being parsed."""
OUT_OF_MEMORY: Final = f"{UNPARSED}it takes more than {MEMORY >> 20} MB of memory; searched as plain text"
NO_GRAMMAR: Final = (
    f"{UNPARSED}its grammar is not installed (pip install 'sleuth[code]', then `sleuth code index --again`); "
    "searched as plain text"
)
_SECONDS: Final = 1.0
_SECONDS_PER_BYTE: Final = 5e-6
IN_PLACE_BYTES: Final = 16_000
"""Longer sources are parsed in a process that can be killed: what a parser takes to recover from errors grows with the
square of the length, 120 MB for so many bytes and 1.6 GB for four times as many."""
IN_PLACE_SECONDS: Final = 1.0
"""CPU time after which a file that is parsed in this process goes to one that can be killed."""

_SMALL: Final = 500
_MOST_REPETITIVE: Final = 20
"""How many times smaller a source may become by compression at level 1. Half of 16,600 real files become 3 times
smaller, the most repetitive one 15 times; sources that make a parser recover from one error again and again,
90 times."""
_MOST_UNCLOSED: Final = 200


def seconds_for(size: int) -> float:
    """Return the CPU time that parsing a source of so many bytes may take: many times what it usually takes."""
    return _SECONDS + _SECONDS_PER_BYTE * size


def is_suspicious(source: bytes, compressed: bytes) -> bool:
    """Whether a source may make a parser take much time or memory, told by repetition and unclosed brackets."""
    if len(source) < _SMALL:
        return False
    if len(source) > _MOST_REPETITIVE * len(compressed):
        return True
    pairs = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
    return any(source.count(opening) - source.count(closing) > _MOST_UNCLOSED for opening, closing in pairs)
