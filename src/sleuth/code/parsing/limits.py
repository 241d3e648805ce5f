"""Limits of size, time and memory for one file."""

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
_SECONDS_PER_BYTE: Final = 5e-6  # 5 s for a million (docs/decisions/parsing.md)
IN_PLACE_BYTES: Final = 1_000
"""Longer sources are parsed in a process that can be killed. What a parser takes to recover from errors grows with the
square of the length and more, and tree-sitter cannot be stopped meanwhile: so many
bytes take .5 s and 42 MB at most, of 2,520 sources that repeat openings in 14 languages; 4,000 take 3 s and 625 MB."""


def seconds_for(size: int) -> float:
    """Return the CPU time that parsing a source of so many bytes may take: many times what it usually takes."""
    return _SECONDS + _SECONDS_PER_BYTE * size
