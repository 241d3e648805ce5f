"""How do rows become vectors and codes, and how do those of several segments become one?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import codes
from sleuth.dense.embedding import EmbeddingCache, Progress, check_embedder, embed_texts, unit
from sleuth.errors import ArgumentError
from sleuth.protocols import Embedder
from sleuth.store.legs import Rows, SegmentData, SegmentView, unpack

FORMAT = 1
"""Raised when the arrays change."""


class DenseLeg:
    """Vectors of rows: a leg of the store. Safe to share between threads, as far as its embedder is.

    A segment holds `vectors`, shape (n, dimension), float16, of length 1; `centre`, their mean; and one bit
    per dimension and row around that mean, `codes` and `factors` (see codes.h). Half precision costs less
    recall than can be measured over the exact product, and half the bytes; the mean belongs to the segment,
    so nothing is trained and a merge takes it anew.

    Attributes:
        name: "dense".
        embedder: makes the vectors; its fingerprint is recorded in each segment.
        fields: the row texts that are embedded, joined by a space in this order.
    """

    name = "dense"

    def __init__(
        self,
        embedder: Embedder,
        *,
        fields: Sequence[str] = ("title", "heading", "text"),
        cache: EmbeddingCache | None = None,
        batch_size: int = 256,
        threads: int = 4,
        progress: Progress | None = None,
    ) -> None:
        """A leg over this embedder.

        Args:
            embedder: see `sleuth.protocols.Embedder`.
            fields: names of row texts, at least one.
            cache: where vectors are looked up before they are made; worth it where embedding is slower than
                reading.
            batch_size, threads: texts per call of the embedder, and how many calls at a time.
            progress: told while rows are embedded.
        """
        if not fields:
            raise ArgumentError(f"fields must name at least one text, got {fields!r}")
        if batch_size < 1 or threads < 1:
            raise ArgumentError(
                f"batch_size and threads must be at least 1, got {batch_size!r} and {threads!r}"
            )
        self.embedder = embedder
        self.fields = tuple(fields)
        self._cache = cache
        self._batch_size = batch_size
        self._threads = threads
        self._progress = progress

    @property
    def fingerprint(self) -> str:
        """Format, embedder and fields."""
        return f"dense-{FORMAT}|{self.embedder.fingerprint}|{','.join(self.fields)}"

    def texts(self, rows: Rows) -> list[str]:
        """What is embedded of each row."""
        present = [rows.texts[name] for name in self.fields if name in rows.texts]
        return [" ".join(part for part in parts if part) for parts in zip(*present, strict=True)] or [
            ""
        ] * len(rows)

    def build(self, rows: Rows) -> SegmentData:
        """Vectors and codes of these rows; raises EmbeddingError where the embedder fails."""
        vectors = embed_texts(
            self.embedder,
            self.texts(rows),
            cache=self._cache,
            batch_size=self._batch_size,
            threads=self._threads,
            progress=self._progress,
        )
        return self.pack(unit(vectors).astype(np.float16))

    def merge(self, segments: Sequence[SegmentView]) -> SegmentData:
        """Vectors and codes of the live rows of these segments, in order."""
        parts: list[NDArray[np.float16]] = []
        for view in segments:
            self.check(view)
            if len(view):
                vectors = view.arrays["vectors"]
                parts.append(vectors if view.live is None else vectors[unpack(view.live, len(view))])
        return self.pack(np.concatenate(parts) if parts else np.zeros((0, 0), np.float16))

    def check(self, view: SegmentView) -> None:
        """Raises EmbedderMismatchError where another embedder made this segment."""
        check_embedder(str(view.meta["embedder"]), self.embedder.fingerprint)

    def pack(self, vectors: NDArray[np.float16]) -> SegmentData:
        """Arrays of these vectors, shape (n, dimension), of length 1."""
        halves = np.ascontiguousarray(vectors).view(np.uint16)
        centre = codes.mean(halves)
        bits, factors, spread = codes.encode(halves, centre)
        arrays: dict[str, NDArray[Any]] = {
            "vectors": vectors,
            "centre": centre,
            "codes": bits,
            "factors": factors,
        }
        facts = {"embedder": self.embedder.fingerprint, "dimension": vectors.shape[1], "spread": spread}
        return SegmentData(arrays, facts)
