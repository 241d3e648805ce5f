"""The dense leg: turns rows into vectors and codes, and merges segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import codes, lists
from sleuth.dense.embedding import Progress, Reading, TokenEmbedder, dimension_of, embed_texts
from sleuth.dense.encoding import PIECE, encode
from sleuth.dense.search import DenseSearcher
from sleuth.errors import EmbedderMismatchError, EmbeddingError
from sleuth.logs import logger_of
from sleuth.protocols import Embedder
from sleuth.store import (
    IN_MEMORY,
    Corpus,
    EncodingCache,
    Finding,
    LegContext,
    LegSearcher,
    RankingLeg,
    Rows,
    Scratch,
    SegmentData,
    SegmentView,
    require,
    unpack,
)
from sleuth.store.disk.scratch import Growing, let_go
from sleuth.vectors import EMBEDDED_FIELDS, ask_embedder, ask_if_able, embedded_texts, unit

logger = logger_of("dense")

FORMAT = 3
"""Raised when the arrays change."""

_THREADS: Final = 4
"""Calls of the embedder at a time."""
ENCODER_WEIGHT: Final = 2.0
"""Of vectors of models that read whole texts (table: docs/measured/neural.md)."""


def embedder_of(fingerprint: str) -> str:
    """Return the fingerprint of the embedder that the fingerprint of a `DenseLeg` names; "" where it names none."""
    return fingerprint.partition("|")[2].rpartition(f"|{','.join(EMBEDDED_FIELDS)}")[0]


class DenseLeg(RankingLeg[NDArray[np.float32]]):
    """Vectors of rows: a leg that ranks by meaning. Safe to share between threads, as far as its embedder is.

    A segment holds `vectors` as rows of 12 bits for each dimension (see rows.h); `centre`, their mean; and one bit
    per dimension and row around that mean, `codes` and `factors` (see codes.h). 12 bits find what the exact product
    finds, 8 do not (docs/decisions/bits-of-vectors.md). The mean belongs to the segment, so nothing is trained and a
    merge computes it again. A large segment also lists its rows by clusters (lists.py).

    Over a `TokenEmbedder` it also holds the tokens of each row, which fusion matches with those of a query
    (late.py): `tokens`, one set after the other, and `sizes`, their bytes.

    Attributes:
        name: "dense".
        embedder: makes the vectors; its fingerprint is recorded in each segment.
        fields: the row texts that are embedded, joined by a space in this order; those that the embedder names, if any.
        dimension: that new vectors must have; 0 where none were made yet.
        progress: told while rows are embedded, of the texts of one call of `build`.
        deferred: whether vectors are so expensive that commits leave them out.
        missing: why the embedder gives no vectors, with the command that mends it.
    """

    name = "dense"
    fields = EMBEDDED_FIELDS
    meaning = "meaning"
    weight = 0.4  # of static vectors (docs/concepts/ranking.md)
    is_certain = False
    is_exact = False
    of_embedder = True
    takes_vectors = True

    def __init__(
        self, embedder: Embedder, *, cache: EncodingCache | None = None, progress: Progress | None = None
    ) -> None:
        """Create a leg over this embedder.

        Args:
            embedder: see `sleuth.protocols.Embedder`.
            cache: where vectors are looked up before they are made; worth it where embedding is slower than
                reading.
            progress: see `progress`.
        """
        self.embedder = embedder
        self.fields = getattr(embedder, "fields", self.fields)
        self._reader = embedder if isinstance(embedder, TokenEmbedder) else None
        self._cache = cache
        stated_size = getattr(embedder, "batch_size", None)
        self._batch_size = stated_size if isinstance(stated_size, int) and stated_size > 0 else 256
        self.progress = progress
        self.dimension = 0
        self.deferred = self.is_slow = getattr(embedder, "cheap", False) is not True
        self.missing = str(getattr(embedder, "missing", ""))
        usual = ENCODER_WEIGHT if self.deferred else self.weight
        self.weight = getattr(embedder, "weight", usual)

    @classmethod
    def open(cls, context: LegContext) -> DenseLeg | None:
        """Return the leg over the embedder of an index, or None without an embedder. Cheap vectors are not cached."""
        if context.embedder is None:
            return None
        leg = cls(context.embedder, cache=context.cache)
        leg._cache = context.cache if leg.deferred else None
        return leg

    def searcher(
        self,
        segments: Sequence[SegmentView],
        *,
        previous: LegSearcher[NDArray[np.float32]] | None = None,
        corpus: Corpus | None = None,
    ) -> DenseSearcher:
        """Open a searcher; see `RankingLeg.searcher`."""
        return DenseSearcher(self, segments, previous if isinstance(previous, DenseSearcher) else None)

    @cached_property
    def fingerprint(self) -> str:
        """Format, embedder, which stands for fields that it names, and the usual fields."""
        suffix = "|tokens" if self._reader else ""
        return f"dense-{FORMAT}|{self.embedder.fingerprint}|{','.join(EMBEDDED_FIELDS)}{suffix}"

    @property
    def token_weight(self) -> float:
        """What matching tokens may add to a fused score; 0 where the embedder has no tokens to match."""
        return self._reader.token_weight if self._reader else 0.0

    def knowledge(self, query: str) -> float:
        """Return how well the embedder knows the language of a query, 0 to 1; 1 where it does not tell."""
        knowledge = self._asked("knowledge", query)
        return 1.0 if knowledge is None else float(knowledge)

    def unrelated(self, query: str) -> float:
        """Return the cosine that texts without anything in common reach; 1 for a query that it does not know."""
        from sleuth.dense.wordllama import is_gibberish

        if hasattr(self.embedder, "has_meaning"):
            meaning = self._asked("has_meaning", query)
            is_meaningless = meaning is not None and not meaning
        else:
            is_meaningless = is_gibberish(query)
        if is_meaningless:
            return 1.0
        return float(getattr(self.embedder, "unrelated", 0.0))

    def _asked(self, method: str, query: str) -> Any:
        """Return what the embedder says of a query; None where it does not tell, or fails."""
        try:
            return ask_if_able(self.embedder, method, query)
        except (EmbeddingError, TimeoutError) as error:
            logger.warning("%s of a query is not known: %s", method, error)
            return None

    def begin(self, segments: Sequence[SegmentView], progress: Callable[[int, int], None]) -> None:
        """Require vectors as long as those of segments; raises EmbeddingError where these are of several lengths."""
        self.dimension = dimension_of(segments)
        self.progress = progress

    def end(self) -> None:
        """Forget cached vectors of texts that are gone."""
        if self._cache is not None:
            self._cache.forget(self.embedder.fingerprint, self.texts)

    def inspect(self, segments: Sequence[SegmentView]) -> Iterator[Finding]:
        """Yield an error where vectors are of several lengths."""
        try:
            dimension_of(segments)
        except EmbeddingError as error:
            yield Finding("error", self.name, str(error), "sleuth index --re-embed")

    def texts(self, rows: Rows, places: slice = slice(None)) -> list[str]:
        """Return what is embedded of each row, or of those in these places."""
        texts = {name: rows.texts[name][places] for name in self.fields if name in rows.texts}
        return embedded_texts(texts, len(rows.keys[places]), self.fields)

    def build(self, rows: Rows) -> SegmentData:
        """Return vectors and codes of these rows.

        Raises:
            EmbeddingError: the embedder fails, or gives vectors of another length than before.
        """
        if self._reader is not None:
            packed, tokens, sizes = self._read(self._reader, rows)
            return self.pack(packed, self.dimension, (tokens, sizes))
        vectors = self.embed(self.texts(rows))
        self.dimension = self.dimension or vectors.shape[1]
        return self.pack(codes.pack(unit(vectors)), vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of these texts as the embedder or the cache gives them, shape (len(texts), dimension).

        Raises:
            EmbeddingError: as `build`.
        """
        return embed_texts(
            self.embedder,
            texts,
            cache=self._cache,
            dimension=self.dimension,
            batch_size=self._batch_size,
            threads=_THREADS,
            progress=self.progress,
        )

    def merge(self, segments: Sequence[SegmentView], scratch: Scratch = IN_MEMORY) -> SegmentData:
        """Return vectors and codes of the live rows of these segments, in order.

        Raises:
            EmbeddingError: vectors are of several lengths.
        """
        dimension = dimension_of(segments)
        vectors = scratch.growing(np.uint8)
        tokens, sizes = scratch.growing(np.uint8), scratch.growing(np.uint16)
        for view in segments:
            self.check(view)
            if not len(view):
                continue
            live = None if view.live is None else unpack(view.live, len(view))
            _append_rows(vectors, view.arrays["vectors"], live)
            if self._reader is not None:
                sets, set_sizes = view.arrays["tokens"], view.arrays["sizes"]
                _append_rows(tokens, sets, live, set_sizes)
                _append_rows(sizes, set_sizes, live)
        width = codes.bytes_of_row(dimension)
        rows = vectors.array().reshape(-1, width) if width else np.zeros((0, 0), np.uint8)
        return self.pack(rows, dimension, (tokens.array(), sizes.array()), scratch)

    def check(self, view: SegmentView) -> None:
        """Raises EmbedderMismatchError where another embedder made this segment."""
        recorded, current = str(view.meta["embedder"]), self.embedder.fingerprint
        if recorded != current:
            raise EmbedderMismatchError(
                f"embedder must be {recorded!r}, with which this index was made, got {current!r}; "
                "to change it, embed everything again: sleuth index --re-embed"
            )

    def validate(self, data: SegmentData, n: int, *, full: bool = False) -> None:
        """Refuse arrays that this leg cannot have made; raises ValueError."""
        from sleuth.dense.validity import validate_arrays

        require(data.meta.get("embedder") == self.embedder.fingerprint, "its vectors are of another embedder")
        require(self._reader is None or "tokens" in data.arrays, "array 'tokens' is missing")
        validate_arrays(data.arrays, data.meta, n, full=full)

    def pack(
        self,
        vectors: NDArray[np.uint8],
        dimension: int,
        tokens: tuple[NDArray[np.uint8], NDArray[np.uint16]] | None = None,
        scratch: Scratch = IN_MEMORY,
    ) -> SegmentData:
        """Arrays of these vectors, rows as of `codes.pack`, and of rows' sets of tokens with sizes."""
        encoded = encode(vectors, dimension, scratch)
        arrays: dict[str, NDArray[Any]] = {
            "vectors": vectors,
            "centre": encoded.centre,
            "codes": encoded.codes,
            "factors": encoded.factors,
        }
        facts = {"embedder": self.embedder.fingerprint, "dimension": dimension, "spread": encoded.spread}
        if tokens is not None and self._reader is not None:
            streams, sizes = tokens
            arrays |= {"tokens": streams, "sizes": sizes}
        if len(vectors) >= lists.LISTED_FROM:
            row_lists, facts["list_spread"] = lists.list_rows(vectors, dimension, scratch)
            arrays |= row_lists.arrays()
        return SegmentData(arrays, facts)

    def _read(
        self, embedder: TokenEmbedder, rows: Rows
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint16]]:
        """Rows of vectors, and tokens as of `Reading`, in batches, which are so fast that no cache would help."""
        size, n = max(self._batch_size, 1024), len(rows.keys)

        def read_batch(first: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint16]]:
            texts = self.texts(rows, slice(first, first + size))
            reading: Reading = ask_embedder(embedder.read, texts, name=embedder.fingerprint)
            self.dimension = reading.vectors.shape[1]
            return codes.pack(reading.vectors), reading.tokens, reading.sizes

        vectors, tokens, sizes = zip(*map(read_batch, range(0, max(1, n), size)), strict=True)
        if self.progress is not None:
            self.progress(n, n)
        return np.concatenate(vectors), np.concatenate(tokens), np.concatenate(sizes)


def _append_rows(
    target: Growing,
    values: NDArray[Any],
    live: NDArray[np.bool_] | None,
    sizes: NDArray[np.uint16] | None = None,
) -> None:
    """Append the live rows, some at a time: a value each, or as many as `sizes` says."""
    n, end = len(values if sizes is None else sizes), 0
    for first in range(0, n, PIECE):
        rows = slice(first, first + PIECE)
        begin, end = end, end + (len(values[rows]) if sizes is None else int(sizes[rows].sum(dtype=np.int64)))
        is_live = None if live is None else live[rows]
        if is_live is not None and sizes is not None:
            is_live = np.repeat(is_live, sizes[rows])
        target.append(values[begin:end] if is_live is None else values[begin:end][is_live])
        let_go(values)
