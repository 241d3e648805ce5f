"""Protocols through which code search uses the lexical family without importing it.

`Words` is the seam: two legs over the files of a snapshot, one row per file and one row per chunk, and a leg over the
commits that led to it. The engine gives the legs; statistics are taken over the rows that a snapshot holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from sleuth.store import Hits, SegmentData, SegmentView
from sleuth.store.legs.leg import Bitmap, Leg

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

    def search(
        self,
        query: str | Mapping[str, Mapping[str, float]],
        k: int = 10,
        *,
        allowed: Sequence[Bitmap | None] | None = None,
    ) -> Hits:
        """Return the best `k` rows for weighted terms by field."""

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
