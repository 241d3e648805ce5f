"""Compounds become one token as well: "e-mail", "version 7", "U.S.", "C++", "3.5mm".

A run of an analyzer with compounds may hold a few ASCII separators: the dots of an acronym or of a number, the signs of
the name of a language, and the blank before a single letter or digit. The kernel (`tokens.h`) cuts the same runs.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from sleuth.text import words
from sleuth.text.runs import has_unspaced, short_parts
from sleuth.text.words import Piece

SINGLES: Final = "0123456789bcdefghjklmnopqrtuvwxyz"
"""What makes a compound with the word before it, in small letters. "a" and "I" are words, "s" is left of "dog's"."""

Find = Callable[[str], list[Piece]]
"""Finds the tokens of a run, with their places in it."""

_SEPARATOR = re.compile(r"[. \n#+]")
_ACRONYM = re.compile(r"[a-z](?:\.[a-z])+")
_DOTTED = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)+")
_DECIMAL = re.compile(r"\d+\.\d+[a-z]*", re.ASCII)


def run_pattern(separators: str) -> str:
    """Return a pattern of the runs with compounds, for ASCII characters that separate runs."""
    separator = re.escape(separators)
    word = f"[^{separator}]"
    separator = separator.replace("\x00", "")  # NUL is before the parts of a run, see `words.spaced`
    border = f"(?![^{separator}])"
    number = rf"(?>(?:\.(?<=[0-9]\.)(?=[0-9]){word}++)*)"
    letter = r"[^\x00-@\[-`{-\x7f]"
    single = rf"[ \n][{SINGLES}{SINGLES.upper()}](?![^{separator}]|[#+]|\.[^{separator}])(?<={letter}[ \n][A-Za-z0-9])"
    sign = rf"(?:#|\+\+)(?![^{separator}0-9])"
    acronym = rf"(?:\.[A-Za-z]{border})+"
    return rf"{word}++{number}(?:{single}|(?=[.#+])(?<=[A-Za-z])(?<!{word}[A-Za-z])(?:{acronym}|{sign}))?"


def byte_kinds() -> bytes:
    """Return what the kernel knows of each byte of a text; `tokens.h` has the names of the bits."""
    letter, digit, single, separator = 1, 2, 4, 8
    kinds = bytearray(256)
    for code in range(128, 256):
        kinds[code] = letter
    for char in string.ascii_letters:
        kinds[ord(char)] = letter
    for char in string.digits:
        kinds[ord(char)] = digit
    for char in SINGLES + SINGLES.upper():
        kinds[ord(char)] |= single
    for char in " \n.#+":
        kinds[ord(char)] = separator
    return bytes(kinds)


class Compounds(NamedTuple):
    """Finds the tokens of runs with compounds.

    Attributes:
        find_words: finds the words of a run without ASCII separators.
        stop: words that make no compound. An acronym that is spelt like one of them keeps its dots: "U.S." and "us".
        particles: single letters that make no compound.
        runs: see `run_pattern`.
    """

    find_words: Find
    stop: frozenset[str]
    particles: frozenset[str]
    runs: re.Pattern[str]

    def find(self, run: str) -> list[Piece]:
        """Find the tokens of a run in small letters, its compounds among them."""
        if run.isascii() or not has_unspaced(run):
            return self._find_in_run(run)
        kinds = words.kinds_of(run)
        if kinds == "cc":
            return [(0, 2, words.fold(run))]
        spans: list[Piece] = []
        for start, end, unspaced in words.stretches(kinds):
            if unspaced:
                spans += _moved(words.pieces(run[start:end]), start)
            else:
                for match in self.runs.finditer(run[start:end]):
                    spans += _moved(self._find_in_run(match[0]), start + match.start())
        return spans

    def _find_in_run(self, run: str) -> list[Piece]:
        """Find the tokens of a run without scripts that are written without spaces."""
        if not _SEPARATOR.search(run):
            return self.find_words(run)
        if run[-1] in "#+":
            return [(0, len(run), run)]
        if _ACRONYM.fullmatch(run):
            letters = run.replace(".", "")
            return [(0, len(run), f"{run}." if letters in self.stop else letters)]
        if run[-2:-1] not in (" ", "\n"):
            return self._find_numbers(run)
        head, single = run[:-2], run[-1]
        spans = self._find_numbers(head)
        if single not in self.particles:
            spans += self._joined(head, single)
        spans.append((len(run) - 1, len(run), single))
        return spans

    def _words(self, run: str) -> list[Piece]:
        """Find the words of a run without ASCII separators; a word of ASCII letters and digits is its own token."""
        return [(0, len(run), run)] if run.isascii() and run.isalnum() else self.find_words(run)

    def _joined(self, head: str, single: str) -> list[Piece]:
        """Join the last word before a single letter or digit with it."""
        base = head.rfind("-") + 1
        word = head[base:]
        if not word or words.kinds_of(word[-1]) not in "wm":
            return []
        return [
            (base + start, len(head) + 2, token + single)
            for start, _, token in self._words(word)
            if len(token) > 1 and token.isalpha() and token not in self.stop
        ]

    def _find_numbers(self, run: str) -> list[Piece]:
        """Find words and numbers: a decimal number is one token, "2.10.3" is one token beside its parts."""
        if "." not in run:
            return self._words(run)
        spans: list[Piece] = []
        for part in re.finditer("[^-]+", run):
            dotted = _DOTTED.fullmatch(part[0])
            if dotted:
                spans.append((*part.span(), part[0]))
            if not (dotted and _DECIMAL.fullmatch(part[0])):
                for piece in re.finditer(r"[^.]+", part[0]):
                    spans += _moved(self._words(piece[0]), part.start() + piece.start())
        return spans


def _moved(spans: Iterable[Piece], by: int) -> list[Piece]:
    return [(start + by, end + by, token) for start, end, token in spans]


def hyphen_compounds(run: str, fold: Callable[[str], str]) -> list[Piece]:
    """Find compounds of two words, one of them up to three letters long, as one word: "e-mail" is also "email"."""
    spans: list[Piece] = []
    for start, end in short_parts(run):
        if not (_goes_on(run[start - 1 : start]) or _goes_on(run[end : end + 1])):
            letters = run[start:end].replace("-", "")
            token = letters.lower() if letters.isascii() else fold(words.fold(letters))
            if token.isalnum():
                spans.append((start, end, token))
    return spans


def _goes_on(char: str) -> bool:
    """Return whether a neighbour of a compound belongs to it; "" stands for the end of the run."""
    return bool(char) and (char == "-" or words.kinds_of(char) in "wmj'")
