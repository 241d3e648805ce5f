"""Compiles patterns whose search time is linear in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from sleuth.errors import ArgumentError, requires

_MEMORY: Final = 8 << 20
"""Bytes that a compiled pattern may take."""
_SPECIAL: Final = frozenset("\\.+*?()[]{}|^$")
_CODES: Final = frozenset("xpPQC01234567")
"""Letters after a backslash that begin more than one letter."""
_WIDEST: Final = 300
"""Characters of a line that are shown: some four lines of a terminal."""


@dataclass(frozen=True, slots=True)
class LinePattern:
    """A pattern over the lines of a text.

    Attributes:
        literal: bytes that every match has; b"" if that is not known.
        starts: yields where matches start in a text, ascending; a match never leaves its line.
    """

    literal: bytes
    starts: Callable[[bytes], Iterator[int]]

    def lines(self, text: bytes) -> list[LinePlace]:
        """Return the lines of a text that match, each once."""
        places: list[LinePlace] = []
        if self.literal not in text:
            return places
        line, position, end = 1, 0, -1
        for start in self.starts(text):
            if start < end or (start == len(text) and text[-1:] in (b"", b"\n")):
                continue  # of the same line, or behind the last one
            line += text.count(b"\n", position, start)
            position = start
            places.append(LinePlace(line, start))
            end = text.find(b"\n", start) + 1 or len(text) + 1
        return places


class LinePlace(NamedTuple):
    """A line that matches.

    Attributes:
        line: 1-based.
        start: the byte of the text at which its first match starts.
    """

    line: int
    start: int

    def shown(self, text: bytes) -> str:
        """Return the line, or 300 characters of it around the first match."""
        begin = text.rfind(b"\n", 0, self.start) + 1
        end = text.find(b"\n", self.start)
        line = text[begin : end if end >= 0 else None].decode("utf-8", "surrogatepass")
        if len(line) <= _WIDEST:
            return line
        column = len(text[begin : self.start].decode("utf-8", "surrogatepass"))
        first = max(0, min(column - _WIDEST // 3, len(line) - _WIDEST))
        return line[first : first + _WIDEST]


def compile_pattern(pattern: str, *, fixed: bool = False, ignore_case: bool = False) -> LinePattern:
    """Compile a regular expression in the syntax of RE2.

    Args:
        fixed: take the pattern as plain text.

    Raises:
        ArgumentError: an empty pattern, or one that is not a regular expression of RE2, which has no lookaround and no
            back references.
        MissingPackageError: a regular expression, and google-re2 is not installed.
    """
    if not pattern or "\n" in pattern:
        raise ArgumentError(f"pattern must be a text of one line that is not empty, got {pattern!r}")
    is_plain = fixed or _SPECIAL.isdisjoint(pattern)
    if is_plain and not ignore_case:
        literal = pattern.encode("utf-8", "surrogatepass")
        return LinePattern(literal, lambda text: _occurrences(text, literal))
    expression = re.escape(pattern) if fixed else pattern
    literal = b"" if ignore_case or fixed else required_literal(pattern).encode("utf-8", "surrogatepass")
    return LinePattern(literal, _regular(expression, pattern, ignore_case=ignore_case))


def required_literal(pattern: str) -> str:
    """Return the longest text that every match of a regular expression has; "" if that cannot be told simply.

    Only text outside of groups and classes counts, without a letter that a quantifier follows.
    """
    if "|" in pattern or "(?" in pattern:
        return ""
    runs, run, depth, at = [], "", 0, 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            if pattern[at + 1 : at + 2] in _CODES:
                return ""
            plain = pattern[at + 1 : at + 2] if not pattern[at + 1 : at + 2].isalnum() else ""
            width = 2
        elif letter == "[":
            end = pattern.find("]", at + (3 if pattern[at + 1 : at + 2] == "^" else 2))
            if end < 0 or "[" in pattern[at + 1 : end] or "\\" in pattern[at + 1 : end]:
                return ""
            plain, width = "", end + 1 - at
        else:
            depth += (letter == "(") - (letter == ")")
            plain, width = "" if letter in _SPECIAL else letter, 1
        at += width
        is_repeated = pattern[at : at + 1] in ("*", "?", "{", "+")
        if plain and depth == 0 and not is_repeated:
            run += plain
        else:
            runs.append(run)
            run = ""
        if pattern[at - 1] == "{" and letter == "{":
            at = pattern.find("}", at) + 1 or len(pattern)
    return max([*runs, run], key=len)


def _occurrences(text: bytes, literal: bytes) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + len(literal))


def _regular(expression: str, pattern: str, *, ignore_case: bool) -> Callable[[bytes], Iterator[int]]:
    with requires("google-re2", "grep", "a regular expression"):
        import re2
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    options.case_sensitive = not ignore_case
    options.max_mem = _MEMORY
    try:
        compiled = re2.compile(f"(?m){expression}".encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args else error
        raise ArgumentError(
            f"pattern must be a regular expression of RE2, got {pattern!r}: {reason}"
        ) from None

    def starts(text: bytes) -> Iterator[int]:
        return (match.start() for match in compiled.finditer(text))

    return starts
