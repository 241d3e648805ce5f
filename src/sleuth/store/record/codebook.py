"""Codebooks that keep texts small in the record.

Texts are written with codebooks (`textcode`) that were learned from texts of this index. Each is kept in the record for
ever, twice, under a number that begins every text written with it. The first is learned when enough text comes at once;
a later large batch that is of another kind gets its own. A text that does not get shorter stays as it is.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sleuth.errors import IndexDamagedError
from sleuth.store.record.textcode import LONGEST_SYMBOL, MOST_SYMBOLS, Codebook, decode_all

SAMPLE_BYTES = 1 << 19
ROUNDS = 5
LEARNING_BYTES = 1 << 20
"""Characters of text that must come at once for a codebook to be learned from them."""
LEARNING_REST = 32 << 20
"""Characters that a writer puts between learning two: to learn one costs as much as to write some 20 MB."""
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
    counts, first, second, together = Codebook(symbols).count(text)
    lengths = np.array([len(symbol) for symbol in symbols])
    joined = lengths[first] + lengths[second]
    # A code takes about 1.7 bytes.
    alone = np.where(lengths > 1, counts * (lengths - 1.7), 0.0)
    paired = np.where(joined <= LONGEST_SYMBOL, together * (joined - 1.7), 0.0)
    gained = np.concatenate((alone, paired))
    best = np.argsort(-gained, kind="stable")[:MOST_SYMBOLS]
    best = best[gained[best] > 0]
    pairs = best[best >= len(symbols)] - len(symbols)
    names = [symbols[i] for i in best[best < len(symbols)].tolist()]
    names += [
        symbols[i] + symbols[j] for i, j in zip(first[pairs].tolist(), second[pairs].tolist(), strict=True)
    ]
    return list(dict.fromkeys(_BYTES + names))[:MOST_SYMBOLS]


class Learned(NamedTuple):
    """A codebook that the record does not hold yet.

    Attributes:
        number: begins every text written with it.
        share: bytes that it made of some text, as a share of the text's own: what is usual for it.
    """

    number: int
    share: float
    symbols: list[bytes]
    book: Codebook


@dataclass(frozen=True, slots=True)
class Coder:
    """Writes texts with the newest codebook of a record, or a better one. Needs no connection; any thread.

    Attributes:
        number: of that codebook; 0 where there is none.
        book: None where there is none.
        share: what is usual for it.
        may_learn: whether a better one may be made.
    """

    number: int = 0
    book: Codebook | None = None
    share: float = 1.0
    may_learn: bool = True

    def encode(self, texts: list[str]) -> tuple[Sequence[str | bytes], Learned | None]:
        """Texts as they are written, and the codebook that this asks to be kept first."""
        learned = None
        if self.may_learn and self.number < MOST_BOOKS and sum(map(len, texts)) >= LEARNING_BYTES:
            learned = self._learn(texts)
        book, number = (learned.book, learned.number) if learned else (self.book, self.number)
        return (book.encode(texts, number) if book else texts), learned

    def _learn(self, texts: list[str]) -> Learned | None:
        """Return a codebook for these texts where the present one serves them badly and a new one is better."""
        text = sample(texts)
        measured = text[-_MEASURED_BYTES:].decode(errors="ignore")
        share = _share(self.book, measured) if self.book else 1.0
        if self.book and share <= self.share / WORTH:
            return None
        symbols = train(text)
        book = Codebook(symbols)
        new = _share(book, measured)
        return None if new > WORTH * share else Learned(self.number + 1, new, symbols, book)


class Codebooks:
    """The codebooks of one record, loaded when a text asks for them.

    Attributes:
        salt: of that record; None until a row asks for it.
    """

    def __init__(self) -> None:
        self.salt: int | None = None
        self._books: dict[int, Codebook] = {}
        self._learned: dict[int, bytes] = {}  # in a transaction that is not committed

    def decode(self, connection: sqlite3.Connection, stored: str | bytes) -> str:
        """Return the text of what a `Coder` wrote.

        Raises:
            IndexDamagedError: no text is written so.
        """
        if isinstance(stored, str):
            return stored
        if not isinstance(stored, bytes):
            raise _unreadable(f"it is {stored!r}")
        return self.decode_all(connection, stored, [len(stored)], [1])[0]

    def decode_all(
        self, connection: sqlite3.Connection, stored: bytes, sizes: list[int], coded: list[int]
    ) -> list[str]:
        """Return the texts of what a `Coder` wrote, one after the other.

        Args:
            sizes: bytes of each.
            coded: which are bytes of a codebook; the others are UTF-8.

        Raises:
            IndexDamagedError: no text is written so.
        """
        while True:
            try:
                return decode_all(stored, sizes, coded, self._books)
            except KeyError as missing:
                self._load(connection, missing.args[0])
            except ValueError as error:
                raise _unreadable(error) from error

    def coder(self, connection: sqlite3.Connection, *, may_learn: bool) -> Coder:
        """Return what writes texts now; until there is a book, it may always learn one."""
        newest = connection.execute("SELECT book, share FROM codebooks ORDER BY book DESC LIMIT 1").fetchone()
        if newest is None:
            return Coder()
        number, share = newest
        return Coder(number, self._books.get(number) or self._load(connection, number), share, may_learn)

    def add(self, connection: sqlite3.Connection, learned: Learned) -> None:
        """Keep a codebook, in the open transaction; `write_copies` keeps it again."""
        symbols = learned.symbols
        content = len(symbols).to_bytes(4, "little") + bytes(map(len, symbols)) + b"".join(symbols)
        _write(connection, learned.number, learned.share, content)
        self._books[learned.number] = learned.book
        self._learned[learned.number] = content

    def write_copies(self, connection: sqlite3.Connection) -> None:
        """Keep the books of the open transaction again, as its last rows.

        The texts that they were learned from then lie between both copies: no torn write takes both.
        """
        for number, content in self._learned.items():
            _write_copy(connection, number, content)

    def keep(self) -> None:
        """Keep the books that a committed transaction added."""
        self._learned = {}

    def forget(self) -> None:
        """It was rolled back: the numbers of the books that it added will be given again."""
        while self._learned:
            self._books.pop(self._learned.popitem()[0], None)

    def _load(self, connection: sqlite3.Connection, number: int) -> Codebook:
        sound = next((content for content in _copies(connection, number) if content is not None), None)
        if sound is None:
            raise _unreadable(f"there is no codebook {number}")
        try:
            self._books[number] = book = Codebook(_symbols(sound))
        except ValueError as error:
            raise _unreadable(error) from error
        return book


def _unreadable(why: object) -> IndexDamagedError:
    return IndexDamagedError(f"the record holds a text that cannot be read ({why})")


def _write(connection: sqlite3.Connection, number: int, share: float, content: bytes) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO codebooks VALUES (?, ?, ?, ?)", (number, zlib.crc32(content), share, content)
    )


def _write_copy(connection: sqlite3.Connection, number: int, content: bytes) -> None:
    """Keep a codebook a second time: without it, no text that is written with it can be read."""
    copy = zlib.crc32(content).to_bytes(4, "little") + content
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_copy_name(number), copy))


def _copy_name(number: int) -> str:
    return f"codebook {number}"


def _copies(connection: sqlite3.Connection, number: int) -> Iterator[bytes | None]:
    """Yield the copies of a codebook that there are; None for one that is not as it was written."""
    own = "SELECT checksum, symbols FROM codebooks WHERE book = ?"
    copy = "SELECT substr(value, 1, 4), substr(value, 5) FROM meta WHERE name = ?"
    for query, key in ((own, number), (copy, _copy_name(number))):
        try:
            row = connection.execute(query, (key,)).fetchone()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:  # a page of it is damaged
            yield None
            continue
        if row is None:
            continue
        checksum, content = row
        if isinstance(checksum, bytes):
            checksum = int.from_bytes(checksum, "little")
        yield content if isinstance(content, bytes) and zlib.crc32(content) == checksum else None


def bad_codebooks(connection: sqlite3.Connection) -> dict[int, bool]:
    """Return the codebooks that are not as they were written, by number: whether a sound copy is left."""
    bad = {}
    for (number,) in connection.execute("SELECT book FROM codebooks").fetchall():
        copies = list(_copies(connection, number))
        if None in copies:
            bad[number] = any(content is not None for content in copies)
    return bad


def restore_codebooks(connection: sqlite3.Connection) -> list[int]:
    """Write damaged copies anew from the sound ones, in the open transaction; the numbers of the codebooks."""
    restored = [number for number, is_left in bad_codebooks(connection).items() if is_left]
    for number in restored:
        sound = next(content for content in _copies(connection, number) if content is not None)
        (share,) = connection.execute("SELECT share FROM codebooks WHERE book = ?", (number,)).fetchone()
        _write(connection, number, share, sound)
        _write_copy(connection, number, sound)
    return restored


def _share(book: Codebook, text: str) -> float:
    """Return the bytes that a codebook makes of a text, as a share of its own."""
    return len(book.encode([text], 0)[0]) / max(1, len(text.encode()))


def _symbols(content: bytes) -> list[bytes]:
    """Return the list that was written as its length, the lengths of all symbols, and the symbols."""
    n = int.from_bytes(content[:4], "little")
    ends = (4 + n + np.cumsum(np.frombuffer(content, np.uint8, n, 4), dtype=np.int64)).tolist()
    return [content[start:end] for start, end in zip([4 + n, *ends], ends, strict=False)]
