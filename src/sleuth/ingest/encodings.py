"""Which text do these bytes hold?"""

from __future__ import annotations

import codecs
from typing import Final

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE: Final = 64 << 10
_SNIFF: Final = 8 << 10


def marked_encoding(data: bytes) -> str | None:
    """The encoding that a byte order mark names."""
    return next((name for bom, name in _BOMS if data.startswith(bom)), None)


def is_binary(data: bytes) -> bool:
    """Whether the first 8 KiB hold a NUL and are not UTF-16 or UTF-32: git's test, with eyes for wide text."""
    head = data[:_SNIFF]
    return b"\0" in head and marked_encoding(head) is None and _wide_encoding(head) is None


def _wide_encoding(head: bytes) -> str | None:
    """UTF-16 without a mark, where every other byte of mostly Latin text is NUL."""
    even, odd = head[0::2], head[1::2]
    zeros = even.count(0), odd.count(0)
    if len(head) < 4 or max(zeros) < 0.6 * len(odd) or min(zeros) > 0.05 * len(odd):
        return None
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def decode(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """The text, its lines ended by line feeds alone, and the encoding it was read in.

    In this order: a byte order mark, UTF-8, UTF-16 without a mark, the encoding that the file declares, a guess by
    charset-normalizer from the first 64 KiB, Latin-1, which can read anything. A few damaged bytes do not make
    UTF-8 another encoding: they become U+FFFD and the encoding is "utf-8 (damaged)".
    """
    text, encoding = _decode(data, declared)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, encoding


def _decode(data: bytes, declared: str | None) -> tuple[str, str]:
    head = data[:_SNIFF]
    named = marked_encoding(data) or (_wide_encoding(head) if b"\0" in head else None)
    if named:
        return data.decode(named, "replace"), named.removesuffix("-sig")
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        damage_at = error.start
    if declared and (text := _try(data, declared)) is not None:
        return text, declared.lower()
    damaged = data.decode("utf-8", "replace")
    if _mostly_utf8(damaged):
        return damaged, "utf-8 (damaged)"
    guess = _guess(data, damage_at)
    guessed = _try(data, guess) if guess else None
    return (data.decode("latin-1"), "latin-1 (guessed)") if guessed is None else (guessed, str(guess))


def _mostly_utf8(text: str) -> bool:
    """Whether at most one in twenty of the signs beyond ASCII is a replacement."""
    wrong = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return wrong * 20 <= beyond_ascii


def _guess(data: bytes, damage_at: int) -> str | None:
    from charset_normalizer import from_bytes

    start = max(0, damage_at - _SAMPLE // 2)
    best = from_bytes(data[start : start + _SAMPLE]).best()
    return best.encoding if best else None


def _try(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (LookupError, UnicodeDecodeError, ValueError):
        return None
