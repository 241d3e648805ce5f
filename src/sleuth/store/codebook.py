"""How are texts kept small in the record?

Texts are written with codebooks (`textcode`) that were learned from texts of this index, each kept in the record for
ever under a number that begins every text written with it. The first is learned when enough text comes at once; a
later large batch that is of another kind gets its own. A text that does not get shorter stays as it is.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from sleuth.errors import IndexDamagedError
from sleuth.store.textcode import LONGEST_SYMBOL, MOST_SYMBOLS, Codebook

SAMPLE_BYTES = 1 << 19
ROUNDS = 5
LEARNING_BYTES = 1 << 20
"""Characters of text that must come at once for a codebook to be learned from them."""
WORTH = 0.92
"""A further codebook is tried where the present one does worse than usual by 1 / WORTH; it must gain as much."""
MOST_BOOKS = 200
_MEASURED_BYTES = 1 << 17
_BYTES = [bytes([value]) for value in range(256)]


def sample(texts: Sequence[str], size: int = SAMPLE_BYTES) -> bytes:
    """Some of the texts, from all over, of about `size` bytes in all."""
    total = sum(map(len, texts))
    step = max(1, total // size)
    return "\n".join(texts[::step]).encode()[: 2 * size]


def train(text: bytes) -> list[bytes]:
    """Symbols for texts like this one, the most frequent first.

    As in FSST: from single bytes on, the text is cut into the symbols so far; symbols and neighbours joined are
    counted; those that would save most become the symbols of the next round.
    """
    symbols = _BYTES
    for _ in range(ROUNDS):
        symbols = _next(symbols, text)
    counts = np.bincount(Codebook(symbols).codes_of(text), minlength=len(symbols))
    return [symbols[i] for i in np.argsort(-counts, kind="stable").tolist()]


def _next(symbols: list[bytes], text: bytes) -> list[bytes]:
    codes = Codebook(symbols).codes_of(text).astype(np.int64)
    lengths = np.array([len(symbol) for symbol in symbols])
    counts = np.bincount(codes, minlength=len(symbols))
    pairs, together = np.unique(codes[:-1] << 16 | codes[1:], return_counts=True)
    first, second = pairs >> 16, pairs & 0xFFFF
    joined = lengths[first] + lengths[second]
    fit = (joined <= LONGEST_SYMBOL) & (together > 2)
    gains: dict[bytes, float] = {}
    # A code takes about 1.7 bytes.
    for i in _best(np.where(lengths > 1, counts * (lengths - 1.7), -1.0)):
        gains[symbols[i]] = float(counts[i] * (lengths[i] - 1.7))
    for i in _best(np.where(fit, together * (joined - 1.7), -1.0)):
        name = symbols[first[i]] + symbols[second[i]]
        gains[name] = max(gains.get(name, 0.0), float(together[i] * (joined[i] - 1.7)))
    chosen = sorted(gains, key=lambda name: (-gains[name], name))[: MOST_SYMBOLS - len(_BYTES)]
    return _BYTES + chosen


def _best(gains: np.ndarray) -> list[int]:
    """Places of the largest positive gains, as many as there may be symbols."""
    if len(gains) > MOST_SYMBOLS:
        places = np.argpartition(-gains, MOST_SYMBOLS)[:MOST_SYMBOLS]
    else:
        places = np.arange(len(gains))
    return [int(i) for i in places.tolist() if gains[i] > 0]


class Codebooks:
    """The codebooks of one record, loaded when a text asks for them."""

    def __init__(self) -> None:
        self._books: dict[int, Codebook] = {}
        self._learned: list[int] = []  # in a transaction that is not committed

    def decode(self, connection: sqlite3.Connection, stored: str | bytes) -> str:
        """The text of what `encode` gave.

        Raises:
            IndexDamagedError: no text is written so.
        """
        if isinstance(stored, str):
            return stored
        try:
            book = self._books.get(stored[0]) or self._load(connection, stored[0])
            return book.decode(stored)
        except (ValueError, LookupError) as error:
            raise IndexDamagedError(f"the record holds a text that cannot be read ({error})") from error

    def encode(self, connection: sqlite3.Connection, texts: list[str]) -> Sequence[str | bytes]:
        """Texts as they are written, by the newest codebook; learns one where that pays, in the open transaction."""
        number = connection.execute("SELECT coalesce(max(book), 0) FROM codebooks").fetchone()[0]
        if number < MOST_BOOKS and sum(map(len, texts)) >= LEARNING_BYTES:
            number = self._learn(connection, texts, number)
        if not number:
            return texts
        book = self._books.get(number) or self._load(connection, number)
        return book.encode(texts, number)

    def keep(self) -> None:
        """The transaction that learned books was committed."""
        self._learned = []

    def forget(self) -> None:
        """It was rolled back: the numbers of the books that it learned will be given again."""
        while self._learned:
            self._books.pop(self._learned.pop(), None)

    def _learn(self, connection: sqlite3.Connection, texts: list[str], number: int) -> int:
        """The number of a codebook for these texts: the present one where it serves, else a new one if it is better."""
        taken = sample(texts)
        measured = taken[-_MEASURED_BYTES:].decode(errors="ignore")
        share = 1.0
        if number:
            present = self._books.get(number) or self._load(connection, number)
            usual = connection.execute("SELECT share FROM codebooks WHERE book = ?", (number,)).fetchone()[0]
            share = _share(present, measured)
            if share <= usual / WORTH:
                return number
        symbols = train(taken)
        book = Codebook(symbols)
        new = _share(book, measured)
        if new > WORTH * share:
            return number
        content = len(symbols).to_bytes(4, "little") + bytes(map(len, symbols)) + b"".join(symbols)
        values = (number + 1, zlib.crc32(content), new, content)
        connection.execute("INSERT INTO codebooks VALUES (?, ?, ?, ?)", values)
        self._books[number + 1] = book
        self._learned.append(number + 1)
        return number + 1

    def _load(self, connection: sqlite3.Connection, number: int) -> Codebook:
        found = connection.execute("SELECT symbols FROM codebooks WHERE book = ?", (number,)).fetchone()
        if found is None:
            raise LookupError(f"there is no codebook {number}")
        self._books[number] = book = Codebook(_symbols(found[0]))
        return book


def bad_codebooks(connection: sqlite3.Connection) -> list[int]:
    """Numbers of the codebooks that are not as they were written."""
    found: Iterable[tuple[int, int, bytes]] = connection.execute(
        "SELECT book, checksum, symbols FROM codebooks"
    )
    return [book for book, checksum, symbols in found if zlib.crc32(symbols) != checksum]


def _share(book: Codebook, text: str) -> float:
    """The bytes that a codebook makes of a text, as a share of its own."""
    return len(book.encode([text], 0)[0]) / max(1, len(text.encode()))


def _symbols(content: bytes) -> list[bytes]:
    """The list that was written as its length, the lengths of all symbols, and the symbols."""
    n = int.from_bytes(content[:4], "little")
    ends = (4 + n + np.cumsum(np.frombuffer(content, np.uint8, n, 4), dtype=np.int64)).tolist()
    return [content[start:end] for start, end in zip([4 + n, *ends], ends, strict=False)]
