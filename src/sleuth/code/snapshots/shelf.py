"""Writes the segments of a code index, opens them for a snapshot, and merges them.

Code search uses the lexical family by the protocols here, without importing it. `Words` is the seam: two legs over the
files of a snapshot, one row per file and one row per chunk, and a leg over the commits that led to it. The engine gives
the legs; statistics are taken over the rows that a snapshot holds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError
from sleuth.store import Hits, LegRequest, SegmentData, SegmentView
from sleuth.store.catalogue import manifest, merging, segments
from sleuth.store.catalogue.database import Database
from sleuth.store.catalogue.manifest import Built, SegmentEntry, SegmentMissingError
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.legs.leg import Leg, pack
from sleuth.store.record.layout import Connection

if TYPE_CHECKING:
    from sleuth.code.parsing.analyse import Analysed

ANALYZERS = {
    "files": {
        "body": "code-english",
        "path": "code-english",
        "names": "code-english",
        "defines": "names",
        "uses": "names",
    },
    "chunks": {"context": "code-english", "symbol": "code-english"},
    "commits": {"message": "code-english", "paths": "code-english", "changes": "code-english"},
}
"""By leg and field, the analyzer of `sleuth.text` that cuts it into terms."""

SOURCES: dict[str, dict[str, dict[str, int]]] = {
    "files": {name: {name: 1} for name in ANALYZERS["files"]},
    "chunks": {"context": {"body": 1, "symbol": 1, "path": 1}, "symbol": {"symbol": 1}},
    "commits": {name: {name: 1} for name in ANALYZERS["commits"]},
}
"""By leg and field, the texts that feed it and how often a token of each counts."""


class WordSearcher(Protocol):
    """Searches the rows of one snapshot by BM25."""

    def pool(self, query: str | Mapping[str, Mapping[str, float]], request: LegRequest) -> Hits:
        """Return the best rows for weighted terms by field."""

    def idf(self, terms: Iterable[str]) -> dict[str, float]:
        """Return how rare each term is among the rows; that of no rows for unknown terms."""


class WordBuilder(Protocol):
    """Makes a segment of rows that come in batches."""

    def add(self, texts: Mapping[str, Sequence[str]], n: int | None = None) -> None:
        """Append `n` rows, column-wise; all texts have that length."""

    def finish(self) -> SegmentData:
        """Return the segment."""


class WordLeg(Leg, Protocol):
    """A leg whose segments can be searched, and made bit by bit."""

    def builder(self) -> WordBuilder:
        """Create a builder."""

    def searcher(self, segments: Sequence[SegmentView]) -> WordSearcher:
        """Create a searcher of these rows, safe to share between threads."""


class Words(NamedTuple):
    """The three legs: their rows are file versions, chunks, and commits."""

    files: WordLeg
    chunks: WordLeg
    commits: WordLeg


MANY = 12
"""Segments of a leg before they are merged: a run merges while somebody waits for it."""
SMALL = 1 << 18
"""Bytes up to which a segment is kept in the database: a commit of ten files is one sync then."""
_MANY_ROWS = 10_000
"""Chunks whose segment is worth a thread of its own."""
_TRIES = 8

Connections = Callable[[], AbstractContextManager[Connection]]


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

    def add(self, files: Sequence[tuple[str, Analysed]]) -> None:
        """Append files, given with their hashes."""
        bodies: list[str] = []
        symbols: list[str] = []
        paths: list[str] = []
        for _, file in files:
            body = file.chunk_texts.get("body", [])
            bodies += body
            symbols += file.chunk_texts.get("symbol", [])
            paths += [file.texts.get("path", "")] * len(body)
        texts = {name: [file.texts.get(name, "") for _, file in files] for name in ANALYZERS["files"]}
        self.file_words.add(texts, len(files))
        self.chunk_words.add({"body": bodies, "symbol": symbols, "path": paths}, len(bodies))
        self.chunks += len(bodies)
        for _, file in files:
            file.chunks = len(file.chunk_texts.get("body", ()))
            file.texts, file.chunk_texts = {}, {}
        self.files += files


class Shelf:
    """The segments of one code index.

    Attributes:
        damage: what was found wrong with segments while they were open, by name.
    """

    def __init__(self, database: Database, words: Words) -> None:
        self._database = database
        self._folder = database.segments
        self._words = words
        self._opened: dict[str, segments.Opened] = {}
        self.damage: dict[str, str] = {}
        self._guard = threading.Lock()

    def batch(self) -> Batch:
        """Return a batch that gathers files until they are written."""
        return Batch(self._words)

    def build_batch(self, batch: Batch, key: int, chunk: int) -> list[Built]:
        """Build segments of these files, whose keys begin at `key` and those of their chunks at `chunk`."""
        keys, chunk_keys = np.arange(key, key + len(batch.files)), np.arange(chunk, chunk + batch.chunks)
        files = partial(self.build, self._words.files, keys, batch.file_words)
        chunks = partial(self.build, self._words.chunks, chunk_keys, batch.chunk_words)
        if not batch.chunks:
            return [files()]
        if batch.chunks < _MANY_ROWS:
            return [files(), chunks()]
        with ThreadPoolExecutor(1, "sleuth-write") as executor:
            chunk_future = executor.submit(chunks)
            return [files(), chunk_future.result()]

    def build(self, leg: WordLeg, keys: NDArray[np.int64], words: WordBuilder) -> Built:
        """Build a segment of the rows `keys`, ascending, that no manifest names yet."""
        first, last_key = int(keys[0]), int(keys[-1])
        encoded = segments.encode(leg.name, leg.fingerprint, first, last_key, keys, None, words.finish())
        return Built(self._folder, encoded, SMALL)

    def publish(self, connection: Connection, segments_built: Sequence[Built]) -> None:
        """Name segments in the manifest, in the open transaction; their files have their names before it commits."""
        for segment in segments_built:
            segment.publish(connection)
        if any(segment.held for segment in segments_built):
            sync_folder(self._folder)

    def views(self, connection: Connection, leg: WordLeg, live: NDArray[np.int64]) -> list[SegmentView]:
        """Return the segments of a leg restricted to the rows `live` (keys, ascending), without empty segments.

        Raises:
            IndexDamagedError: a segment is missing, damaged or made by other settings; says how to mend it.
        """
        views = [_view(segment, live) for _, segment in self._open_all(connection, leg)]
        return [view for view in views if view.live is None or view.live.any()]

    def _open_all(self, connection: Connection, leg: WordLeg) -> list[tuple[SegmentEntry, segments.Opened]]:
        missing_name = ""
        for _ in range(_TRIES):
            try:
                entries = manifest.entries(connection, leg.name)
                return [(entry, self._open(connection, leg, entry)) for entry in entries]
            except SegmentMissingError as error:  # merged by a writer since: it is another one now
                missing_name = error.name
        raise self._damaged(f"segment {missing_name}: its file is missing")

    def _open(self, connection: Connection, leg: WordLeg, entry: SegmentEntry) -> segments.Opened:
        if entry.fingerprint != leg.fingerprint:
            raise self._damaged(
                f"segment {entry.name} was made with {entry.fingerprint!r}, not {leg.fingerprint!r}"
            )
        with self._guard:
            if reason := self.damage.get(entry.name):
                raise self._damaged(reason)
            segment = self._opened.get(entry.name)
            if segment is None:
                try:
                    segment = manifest.open_segment(connection, self._folder, entry, leg)
                    self._opened[entry.name] = segment
                except IndexDamagedError as error:
                    raise self._damaged(str(error)) from error
        return segment

    def _damaged(self, what: str) -> IndexDamagedError:
        path = self._database.path
        return IndexDamagedError(
            f"the code index in {path} is damaged: {what}; run `sleuth doctor --repair`", path=str(path)
        )

    def check_files(self) -> None:
        """Look at the length of every mapped file: reading beyond the end of one that was cut off kills the process.

        Raises:
            IndexDamagedError: one is shorter than it was.
        """
        with self._guard:
            for name, segment in list(self._opened.items()):
                if segment.is_cut_off:
                    del self._opened[name]
                    raise self._damaged(f"segment {name} was cut off while it was open")

    def forget(self, names: Sequence[str] | None = None) -> None:
        """Segments are gone: those named, or any."""
        with self._guard:
            for name in [*self._opened, *self.damage] if names is None else names:
                self._opened.pop(name, None)
                self.damage.pop(name, None)

    def merge(
        self,
        leg: WordLeg,
        reading: Connections,
        transaction: Connections,
        live: Callable[[Connection, WordLeg], NDArray[np.int64]],
        *,
        whole: bool,
    ) -> bool:
        """Do the next merge of a leg; return whether one was due.

        Args:
            live: gives the keys of rows that a file version has.
            whole: merge all segments, and drop rows of no file version.
        """
        with reading() as connection:
            if not whole and len(manifest.entries(connection, leg.name)) <= MANY:
                return False
            entries_open = self._open_all(connection, leg)
            existing = live(connection, leg)
        views = {entry.name: _view(segment, existing) for entry, segment in entries_open}
        inputs = merging.choose([entry for entry, _ in entries_open], views, whole=whole)
        if not inputs:
            return False
        for entry, segment in entries_open:
            # Merged, it would have a checksum that fits.
            if entry in inputs and (reason := segments.verify(segment)):
                raise IndexDamagedError(
                    f"{reason}: run `sleuth doctor --repair`", path=str(self._folder.parent)
                )
        merge = merging.merge(leg, inputs, [views[entry.name] for entry in inputs], self._folder)
        names = [entry.name for entry in merge.inputs]
        with transaction() as connection:
            manifest.drop(connection, names)
            self.publish(connection, [merge.built] if merge.built else [])
        merging.settle(merge, self._folder)
        self.forget(names)
        return True


def _view(segment: segments.Opened, live: NDArray[np.int64]) -> SegmentView:
    """Return a view of a segment restricted to the rows `live` (keys, ascending)."""
    keys = segment.keys
    at = np.searchsorted(live, keys)
    is_live = np.zeros(len(keys), bool)
    is_inside = at < len(live)
    is_live[is_inside] = live[at[is_inside]] == keys[is_inside]
    mask = None if is_live.all() else pack(is_live)
    return SegmentView(segment.name, segment.key_list, segment.tie_ranks, mask, segment.arrays, segment.meta)


def ranges(firsts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """first, first + 1, … for each pair, one after the other; shape (sum of counts,)."""
    if not len(firsts):
        return np.zeros(0, np.int64)
    ends = np.cumsum(counts)
    return np.repeat(firsts - (ends - counts), counts) + np.arange(int(ends[-1]), dtype=np.int64)
