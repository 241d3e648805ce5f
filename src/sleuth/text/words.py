"""Words, pairs and emoji in a run of text that is not ASCII.

A *run* is a stretch without ASCII separators. It is cut into words (letters, digits and the marks on them), pairs of
neighbours in scripts written without spaces (as in Lucene's CJKBigramFilter), and emoji; everything else separates.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from operator import add

from sleuth.text.runs import has_unspaced

JOINERS = frozenset("\u00ad\u200c\u200d\u2060\ufeff")
"""Invisible characters inside a word; they are dropped."""
APOSTROPHES = frozenset("'\u2019\u02bc\uff07")
IN_WORD = (
    r"[\w\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c5\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963"
    r"\u0981-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ece\u102b-\u103f\u17b4-\u17d3\u200c\u200d\u3099\u309a]"
)
"""The pattern of a letter, digit or mark inside of a word: vowel signs, too, which `\\w` leaves out."""
WORD = re.compile(rf"\w{IN_WORD}*")
"""A word as it is written."""
_BEYOND_LATIN = "\u0250"
_FIXED = dict.fromkeys(JOINERS, "j") | dict.fromkeys(APOSTROPHES, "'") | {"_": "w"}
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul letters
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x318F),  # kana, bopomofo, Hangul letters
    (0x31A0, 0x31FF),
    (0x3400, 0x9FFF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul syllables
    (0xF900, 0xFAFF),
    (0x1AFF0, 0x1B2FF),
    (0x20000, 0x3FFFF),
)
_EMOJI = ((0x1F000, 0x1FAFF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x2300, 0x23FF))

Piece = tuple[int, int, str]
"""Start and end in the run, and the normalised token."""


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= code <= high for low, high in ranges)


def _kind(char: str) -> str:
    """Return the kind of a character: "w" word, "m" mark, "j" joiner, "'" apostrophe, "c" unspaced script, "e" emoji,
    " " separator.
    """
    if char in _FIXED:
        return _FIXED[char]
    code = ord(char)
    category = unicodedata.category(char)
    if category[0] == "M" or 0x1160 <= code <= 0x11FF or 0x1F3FB <= code <= 0x1F3FF:
        return "m"
    if category == "So" and _within(code, _EMOJI):
        return "e"
    plain = unicodedata.normalize("NFKC", char)
    if category[0] in "LN":
        plain = char if len(plain) > 1 else plain
        if plain != char:
            return _kind(plain)
    elif category != "So" or not any(c.isalnum() for c in plain):
        return " "
    return "c" if _within(ord(plain[0]), _UNSPACED) else "w"


def fold(text: str) -> str:
    """Apply NFKC and casefold, so that compatible and differently cased spellings are one token."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return folded if folded.isascii() else unicodedata.normalize("NFKC", folded.casefold())


_PLAIN_LETTERS = {"æ": "ae", "ð": "d", "ø": "o", "þ": "th", "đ": "d", "ħ": "h", "ı": "i", "ł": "l", "œ": "oe"}
"""Letters whose marks Unicode does not take apart, as keyboards without them write them."""
_OTHER_SCRIPTS = {
    code: str(unicodedata.decimal(chr(code))) for code in range(0x660, 0xDF0) if chr(code).isdecimal()
} | dict.fromkeys(range(0x591, 0x5C8))  # Hebrew points


def without_accents(text: str) -> str:
    """Remove the marks of Latin letters: "café" becomes "cafe", "łódź" "lodz".

    Of other scripts, digits become those of ASCII and Hebrew points are removed; all else stays as it is.
    """
    if text.isascii():
        return text
    if max(text) < _BEYOND_LATIN:
        return text.translate(_plain_latin())
    decomposed = unicodedata.normalize("NFD", text)
    if min(decomposed) >= _BEYOND_LATIN:
        return unicodedata.normalize("NFC", decomposed.translate(_OTHER_SCRIPTS))
    chars: list[str] = []
    latin = False
    for char in decomposed:
        if unicodedata.category(char)[0] == "M":
            if latin:
                continue
        else:
            latin = char < _BEYOND_LATIN
        chars.append(_PLAIN_LETTERS.get(char, char))
    return unicodedata.normalize("NFC", "".join(chars).translate(_OTHER_SCRIPTS))


@cache
def _plain_latin() -> dict[int, str]:
    """Return the Latin letters that have marks, without these."""
    plain = {code: unicodedata.normalize("NFD", chr(code))[0] for code in range(0x80, ord(_BEYOND_LATIN))}
    return {code: _PLAIN_LETTERS.get(a, a) for code, a in plain.items() if a < _BEYOND_LATIN}


def pieces(run: str, *, apostrophes: bool = False) -> list[Piece]:
    """Return the tokens of a run with their places, folded; they overlap in a script without spaces.

    Args:
        run: text without ASCII separators.
        apostrophes: whether words keep those inside of them.
    """
    if _is_word(run) and _is_word(folded := fold(run)):
        return [(0, len(run), folded)]
    tokens: list[Piece] = []
    kinds = kinds_of(run)
    part, end = _part_with_apostrophes if apostrophes else _part, 0
    while match := part.search(kinds, end):
        start, end = match.span()
        if kinds[start] == "w":
            word = kinds[start:end].rstrip("j'")
            tokens += _word(run[start : start + len(word)], word, start)
        elif kinds[start] == "c":
            for a, b in _pairs(kinds, start, end):
                unit = "".join(c for c in run[a:b] if kinds_of(c) != "j" and not "\ufe00" <= c <= "\ufe0f")
                tokens.append((a, b, fold(unit)))
        else:
            end = _end_of_emoji(run, start)
            emoji = (c for c in run[start:end] if kinds_of(c) == "e" or c == "\u200d")
            tokens.append((start, end, "".join(emoji).strip("\u200d")))
    return tokens


class _KindsByCode(dict[int, str]):
    """The kind of each character, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _MOST_KINDS:
            self.clear()
        self[code] = what = _kind(chr(code))
        return what


_MOST_KINDS = 1 << 16
_kinds = _KindsByCode()
# Of kinds: words, stretches of scripts written without spaces, and emoji.
_part = re.compile("w[wmj]*+|c[cmj]*+|e")
_part_with_apostrophes = re.compile("w[wmj']*+|c[cmj]*+|e")
_stretch = re.compile("(c[cmj]*+)|[^c]++")


def _is_word(run: str) -> bool:
    """Return whether a run consists of letters that are written in words, which most runs do."""
    return run.isalpha() and APOSTROPHES.isdisjoint(run) and not has_unspaced(run)


def _word(text: str, kinds: str, start: int) -> list[Piece]:
    """Return one token, or several if folding brings in a separator ("½" is "1⁄2"): those share the place."""
    if "j" in kinds or "'" in kinds:
        text = "".join("'" if c in APOSTROPHES else c for c in text if kinds_of(c) != "j")
    end, folded = start + len(kinds), fold(text)
    if folded.isascii() and folded.isalnum():
        return [(start, end, folded)]
    folded = "".join(c for c in folded if not ("\ufe00" <= c <= "\ufe0f" or c == "\u20e3"))
    return [(start, end, part) for part in _cut(folded) if part]


def _cut(folded: str) -> list[str]:
    """Return the stretches of word characters in a run, without apostrophes at their ends; joiners are dropped."""
    out = [""]
    for char in folded:
        if kinds_of(char) in "wmc" or char == "'":
            out[-1] += char
        elif kinds_of(char) != "j":
            out.append("")
    return [part.strip("'") for part in out]


def _pairs(kinds: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return places of pairs of neighbours with their marks in a stretch, or the place of its only character."""
    borders = [i for i in range(start, end) if kinds[i] == "c"] + [end]
    return list(zip(borders, borders[2:], strict=False)) or [(start, end)]


def kinds_of(run: str) -> str:
    """Return the kind of each character of a run."""
    return run.translate(_kinds)


def stretches(kinds: str) -> list[tuple[int, int, bool]]:
    """Return where scripts written without spaces begin and end in a run, given by the kinds of its characters.

    Each part has its start, its end, and whether it is of such a script.
    """
    return [(match.start(), match.end(), match[1] is not None) for match in _stretch.finditer(kinds)]


def spaced(run: str) -> str:
    """Write the unspaced stretches of a run as pairs: the same tokens in shorter runs.

    NUL is before each pair and stretch: to what precedes it, the run goes on as it did. A blank ends the run.
    """
    kinds = kinds_of(run) if has_unspaced(run) else ""
    if "c" not in kinds:
        return run
    shorter: list[str] = []
    for start, end, unspaced in stretches(kinds):
        part = run[start:end]
        if unspaced and kinds.count("c", start, end) == len(part) > 1:
            shorter += map(add, part, part[1:])  # no character has a mark
        else:
            shorter += [run[a:b] for a, b in (_pairs(kinds, start, end) if unspaced else [(start, end)])]
    return "\0" + "\0".join(shorter) + " "


def _end_of_emoji(run: str, i: int) -> int:
    """Return where the emoji at i ends: a flag is two letters, and joiners and skin tones belong to it."""
    n = len(run)
    flag = "\U0001f1e6" <= run[i] <= "\U0001f1ff"
    i += 1
    if flag and i < n and "\U0001f1e6" <= run[i] <= "\U0001f1ff":
        return i + 1
    while i < n and (kinds_of(run[i]) == "m" or run[i] == "\u200d"):
        is_joiner = run[i] == "\u200d"
        i += 1
        if is_joiner and i < n and kinds_of(run[i]) == "e":
            i += 1
    return i
