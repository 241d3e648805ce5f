"""Limits of size, time and memory for one file, and the signs of a file that may exceed them."""

from __future__ import annotations

import re
import zlib
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
IN_PLACE_BYTES: Final = 12_000
"""Longer sources are parsed in a process that can be killed: what a parser takes to recover from errors grows with the
square of the length, up to 750 MB and 3 s for 16,000 bytes, 190 MB and 1 s for 8,000."""
IN_PLACE_SECONDS: Final = 0.2
"""CPU time after which a source that is parsed in this process goes to one that can be killed: forty times what so many
bytes usually take. What recovers from errors takes up to 300 MB a second."""

_SMALL: Final = 500
_MOST_REPETITIVE: Final = 20
"""How many times smaller a source may become by compression at level 1. Half of 16,600 real files become 3 times
smaller, the most repetitive one 15 times; sources that make a parser recover from one error again and again,
90 times."""
_MOST_UNIFORM: Final = 9
"""The same of a source whose words are all the same. Of 3,000 real files, half become 5 times smaller, one in 25 more
than this; openings before other names 80 times. In a source that is less uniform they can be two thirds at most."""
_MOST_UNCLOSED: Final = 200
_WORD: Final = re.compile(rb"\w+")


def seconds_for(size: int) -> float:
    """Return the CPU time that parsing a source of so many bytes may take: many times what it usually takes."""
    return _SECONDS + _SECONDS_PER_BYTE * size


def is_suspicious(source: bytes, compressed: bytes) -> bool:
    """Return whether parsing a source may take much time or memory, judged by repetition and unclosed brackets.

    Parsers recover slowly from one error again and again; from errors of several kinds in turn they recover quickly.
    """
    if len(source) < _SMALL:
        return False
    if len(source) > _MOST_REPETITIVE * len(compressed):
        return True
    uniform = _WORD.sub(b"a", source)
    if len(uniform) > _MOST_UNIFORM * len(zlib.compress(uniform, 1)):
        return True
    pairs = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
    return any(source.count(opening) - source.count(closing) > _MOST_UNCLOSED for opening, closing in pairs)
