"""How are the legs' segments of a code index written, opened for a snapshot, and merged?"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth.code.search.words import WordBuilder, WordLeg, Words
from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import segment_files, segments
from sleuth.store.legs import SegmentView, pack
from sleuth.store.scratch import Scratch

if TYPE_CHECKING:
    from sleuth.code.parsing.analyse import Analysed
    from sleuth.code.snapshots.storage import CodeStorage

MANY = 12
"""Segments of a leg before the small ones are merged."""
SMALL = 1 << 18
"""Bytes up to which a segment is kept in the record."""
_TRIES = 8
_MANY_ROWS = 10_000
"""Chunks whose segment is worth a thread of its own."""

_FILE_FIELDS = ("body", "path", "names", "defines", "uses")


class Batch:
    """Files that become one segment per leg. Their texts are counted as they come, and let go.

    Attributes:
        files: with the hash of each.
        chunks: of them all.
    """

    def __init__(self, words: Words) -> None:
        self.files: list[tuple[str, Analysed]] = []
        self.chunks = 0
        self.file_words = words.files.builder()
        self.chunk_words = words.chunks.builder()

    def add(self, found: Sequence[tuple[str, Analysed]]) -> None:
        """Append files, given with their hashes."""
        bodies: list[str] = []
        symbols: list[str] = []
        paths: list[str] = []
        for _, file in found:
            body = file.chunk_texts.get("body", [])
            bodies += body
            symbols += file.chunk_texts.get("symbol", [])
            paths += [file.texts.get("path", "")] * len(body)
        self.file_words.add(
            {name: [f.texts.get(name, "") for _, f in found] for name in _FILE_FIELDS}, len(found)
        )
        self.chunk_words.add({"body": bodies, "symbol": symbols, "path": paths}, len(bodies))
        self.chunks += len(bodies)
        for _, file in found:
            file.chunks = len(file.chunk_texts.get("body", ()))
            file.texts, file.chunk_texts = {}, {}
        self.files += found


class Shelf:
    """The segment files of one code index."""

    def __init__(self, folder: Path, words: Words) -> None:
        self._folder = folder
        self._words = words
        self._opened: dict[str, segments.Opened] = {}
        self._guard = threading.Lock()

    def batch(self) -> Batch:
        """Where files are gathered until they are written."""
        return Batch(self._words)

    def write(
        self, connection: sqlite3.Connection, batch: Batch, key: int, chunk: int
    ) -> list[segment_files.Held]:
        """Segments for these files, whose keys begin at `key` and those of their chunks at `chunk`."""
        files = partial(self._encoded, self._words.files, key, len(batch.files), batch.file_words)
        chunks = partial(self._encoded, self._words.chunks, chunk, batch.chunks, batch.chunk_words)
        if not batch.chunks:
            made = [files()]
        elif batch.chunks < _MANY_ROWS:
            made = [files(), chunks()]
        else:
            with ThreadPoolExecutor(1, "sleuth-write") as executor:
                other = executor.submit(chunks)
                made = [files(), other.result()]
        for encoded, held in made:
            self._name(connection, encoded, in_file=held is not None)
        written = [held for _, held in made if held is not None]
        if written:
            segment_files.sync_folder(self._folder)
        return written

    def _encoded(
        self, leg: WordLeg, first: int, n: int, words: WordBuilder
    ) -> tuple[segments.Encoded, segment_files.Held | None]:
        """A segment, in a file where it is not small."""
        keys = np.arange(first, first + n, dtype=np.int64)
        encoded = segments.encode(leg.name, leg.fingerprint, first, first + n - 1, keys, None, words.finish())
        return encoded, None if encoded.size <= SMALL else segment_files.Held(self._folder, encoded)

    def _put(self, connection: sqlite3.Connection, encoded: segments.Encoded) -> segment_files.Held | None:
        """Write a segment: a small one into the record, which saves its own syncs."""
        held = None if encoded.size <= SMALL else segment_files.Held(self._folder, encoded)
        self._name(connection, encoded, in_file=held is not None)
        return held

    @staticmethod
    def _name(connection: sqlite3.Connection, encoded: segments.Encoded, *, in_file: bool) -> None:
        data = None if in_file else b"".join(encoded.parts)
        connection.execute(
            "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (encoded.name, encoded.leg, encoded.fingerprint, encoded.first, encoded.last, encoded.rows,
             encoded.size, encoded.checksum, data),
        )  # fmt: skip

    def views(
        self, connection: sqlite3.Connection, leg: WordLeg, live: NDArray[np.int64]
    ) -> list[SegmentView]:
        """The segments of a leg, with the rows `live` (keys, ascending) and no others; empty segments left out.

        Raises:
            IndexDamagedError: a segment is missing or made by other settings; says how to mend it.
        """
        out = []
        for opened in self._open_all(connection, leg):
            at = np.searchsorted(live, opened.keys)
            here = np.zeros(len(opened.keys), bool)
            inside = at < len(live)
            here[inside] = live[at[inside]] == opened.keys[inside]
            if here.any():
                mask = None if here.all() else pack(here)
                out.append(
                    SegmentView(opened.name, opened.keys, opened.tie_ranks, mask, opened.arrays, opened.meta)
                )
        return out

    def _open_all(self, connection: sqlite3.Connection, leg: WordLeg) -> list[segments.Opened]:
        for _ in range(_TRIES):
            with suppress(
                FileNotFoundError
            ):  # merged by a writer since the list was read: the list is another now
                return self._open_listed(connection, leg)
        raise IndexDamagedError(
            f"segments of {self._folder} are missing; remove code.db and the folder code beside it, and index again",
            path=str(self._folder),
        )

    def _open_listed(self, connection: sqlite3.Connection, leg: WordLeg) -> list[segments.Opened]:
        rows = connection.execute(
            "SELECT name, fingerprint, size, checksum FROM segments WHERE leg = ? ORDER BY first", (leg.name,)
        ).fetchall()
        out = []
        for name, fingerprint, size, checksum in rows:
            if fingerprint != leg.fingerprint:
                raise IndexDamagedError(
                    f"the code index was made with {fingerprint!r}, this version uses {leg.fingerprint!r}; "
                    "remove code.db and the folder code beside it, and index again",
                    path=str(self._folder),
                )
            with self._guard:
                opened = self._opened.get(name)
                if opened is None:
                    opened = self._read(connection, name, size, checksum)
                    segments.validate(opened, leg)
                    self._opened[name] = opened
            out.append(opened)
        return out

    def _read(self, connection: sqlite3.Connection, name: str, size: int, checksum: int) -> segments.Opened:
        row = connection.execute("SELECT data FROM segments WHERE name = ?", (name,)).fetchone()
        if row is None or row[0] is None:
            return segment_files.read(self._folder, name, size, checksum)
        return segments.decode(name, row[0], checksum)

    def merge_all(self, storage: CodeStorage, *, everything: bool = False) -> None:
        """Merge the small segments of a leg that has many, or all of them; rows of gone file versions are dropped."""
        counted = dict(storage.connection.execute("SELECT leg, count(*) FROM segments GROUP BY leg"))
        merged = everything
        for leg in (self._words.files, self._words.chunks):
            if not everything and counted.get(leg.name, 0) <= MANY:
                continue
            merged = True
            opened = self._open_all(storage.connection, leg)
            chosen = opened if everything else _small_tail(opened)
            if len(chosen) > 1 or everything:
                self._merge(storage, leg, chosen)
        if merged:
            self._sweep(storage.connection)

    def _merge(self, storage: CodeStorage, leg: WordLeg, chosen: Sequence[segments.Opened]) -> None:
        live = _live_rows(storage.connection, chunks=leg is self._words.chunks)
        parts = []
        for opened in chosen:
            mask = np.isin(opened.keys, live)
            parts.append(
                SegmentView(
                    opened.name, opened.keys, opened.tie_ranks, pack(mask), opened.arrays, opened.meta
                )
            )
        keys = (
            np.concatenate([o.keys[np.isin(o.keys, live)] for o in chosen])
            if chosen
            else np.zeros(0, np.int64)
        )
        with storage.transaction() as connection:
            connection.executemany("DELETE FROM segments WHERE name = ?", [(o.name,) for o in chosen])
            held = None
            if len(keys):
                data = leg.merge(parts, Scratch(self._folder))
                encoded = segments.encode(
                    leg.name, leg.fingerprint, int(keys[0]), int(keys[-1]), keys, None, data
                )
                held = self._put(connection, encoded)
                if held is not None:
                    segment_files.sync_folder(self._folder)
        if held is not None:
            held.release()

    def _sweep(self, connection: sqlite3.Connection) -> None:
        named = {row[0] for row in connection.execute("SELECT name FROM segments")}
        segment_files.sweep(self._folder, named)
        with self._guard:
            self._opened = {name: opened for name, opened in self._opened.items() if name in named}


def _small_tail(opened: Sequence[segments.Opened]) -> list[segments.Opened]:
    """The newest segments, as far back as each is smaller than all after it together, times three."""
    chosen: list[segments.Opened] = []
    total = 0
    for segment in reversed(opened):
        if len(chosen) > MANY // 2 and len(segment.keys) > 3 * total:
            break
        chosen.append(segment)
        total += len(segment.keys)
    return chosen[::-1]


def _live_rows(connection: sqlite3.Connection, *, chunks: bool) -> NDArray[np.int64]:
    rows = connection.execute("SELECT key, first_chunk, chunks FROM files ORDER BY key").fetchall()
    if not chunks:
        return np.array([row[0] for row in rows], np.int64)
    return ranges(np.array([row[1] for row in rows], np.int64), np.array([row[2] for row in rows], np.int64))


def ranges(firsts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """first, first + 1, … for each pair, one after the other; shape (sum of counts,)."""
    if not len(firsts):
        return np.zeros(0, np.int64)
    ends = np.cumsum(counts)
    return np.repeat(firsts - (ends - counts), counts) + np.arange(int(ends[-1]), dtype=np.int64)
