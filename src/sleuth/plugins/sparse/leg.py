"""The sparse leg: passages as weights of tokens that a model learned, also of words that they do not hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

import numpy as np

from sleuth.errors import ArgumentError, EmbeddingError, MissingPackageError
from sleuth.lexical import (
    Arrays,
    FieldIndex,
    FieldPostings,
    Found,
    SegmentRows,
    merge_field,
    number_rows,
    validate_fields,
)
from sleuth.logs import logger_of
from sleuth.plugins.neural import OnnxSparseEncoder, TokenWeights
from sleuth.plugins.sparse.impacts import (
    GREATEST,
    LEVELS,
    NORM,
    SATURATION,
    SCALE,
    Levels,
    facts_of,
    levels_of,
    postings_of,
    weight_of,
)
from sleuth.store import (
    IN_MEMORY,
    CachedForm,
    Corpus,
    EncodingCache,
    Finding,
    Hits,
    LegContext,
    LegRequest,
    LegSearcher,
    RankingLeg,
    Rows,
    Scratch,
    SegmentData,
    SegmentView,
    batches_of,
    encode_once,
    require,
)
from sleuth.types import Explanation
from sleuth.vectors import embedded_texts

logger = logger_of("sparse")

FIELD: Final = "sparse"
FORMAT: Final = 1
"""Raised when the arrays change."""
BATCH: Final = 64
"""Texts that are encoded, and kept in the cache, at a time."""
UNRELATED: Final = 0.15
"""Share of the greatest score that passages about something else reach. The best passage of another collection reaches
.04 to .14 with a SPLADE of 4 million parameters (medians of six collections), that of the own one .16 to .33."""


class SparseLeg(RankingLeg[TokenWeights]):
    """Postings of tokens with learned weights. Safe to share between threads.

    Attributes:
        name: "sparse".
        missing: why the model gives no weights, with the command that mends it; "" where it does.
        model: fingerprint of the model; "" where it is missing.
    """

    name = "sparse"
    meaning = "words that a model adds"
    weight = 0.7  # below words, which count 1; with other weights it is not measured
    is_certain: ClassVar[bool] = False
    deferred = True
    is_slow = True

    def __init__(
        self,
        encoder: OnnxSparseEncoder | None,
        model_name: str,
        *,
        cache: EncodingCache | None = None,
        missing: str = "",
    ) -> None:
        """Create a leg.

        Args:
            encoder: None where it is missing.
            model_name: as written in the settings of the index: NAME of "sparse:NAME".
            cache: stores encoded passages, so that each text is encoded once.
            missing: why there is no encoder; "" with one.
        """
        self._encoder, self._cache, self.missing = encoder, cache, missing
        self.model = encoder.fingerprint if encoder else ""
        self._model_name = model_name
        self._progress: Callable[[int, int], None] = lambda done, total: None

    @classmethod
    def open(cls, context: LegContext) -> SparseLeg:
        """Return the leg over the model that the settings name: "sparse:MODEL"."""
        if not context.argument:
            raise ArgumentError(
                "legs must name the model of the sparse leg, as in sparse:MODEL, got 'sparse'"
            )
        try:
            encoder = OnnxSparseEncoder(context.argument)
        except (EmbeddingError, MissingPackageError) as error:
            return cls(None, context.argument, cache=context.cache, missing=str(error))
        return cls(encoder, context.argument, cache=context.cache)

    @property
    def fingerprint(self) -> str:
        """Format and name of the model. Segments name the model itself: it may be missing for a while."""
        return f"sparse-{FORMAT}|{self._model_name}"

    def searcher(
        self,
        segments: Sequence[SegmentView],
        *,
        previous: LegSearcher[TokenWeights] | None = None,
        corpus: Corpus | None = None,
    ) -> SparseSearcher:
        """Open a searcher; see `RankingLeg.searcher`.

        Args:
            corpus: is not used: the score of a row does not depend on other rows.
        """
        return SparseSearcher(self, segments, previous if isinstance(previous, SparseSearcher) else None)

    def greatest(self, query: str, idf: Callable[[Iterable[str]], Mapping[str, float]]) -> float:
        """Return the score of a row that has the greatest weight for each token of the query; 1 without the model."""
        weights = {} if self._encoder is None else self._encoder.encode_query(query)
        return GREATEST * sum(weights.values()) or 1.0

    def unrelated(self, query: str) -> float:
        """Return the share of the greatest score that unrelated rows reach; 1 for gibberish."""
        return UNRELATED if self._encoder is not None and self._encoder.has_meaning(query) else 1.0

    def begin(self, segments: Sequence[SegmentView], progress: Callable[[int, int], None]) -> None:
        """Tell of progress from now on."""
        self._progress = progress

    def end(self) -> None:
        """Forget what was encoded of texts that are gone."""
        if self._cache is not None:
            self._cache.forget(self.model, lambda rows: embedded_texts(rows.texts, len(rows)))

    def inspect(self, segments: Sequence[SegmentView]) -> Iterator[Finding]:
        """Yield a warning where the model is missing, which names the command that gets it."""
        if self.missing:
            yield Finding("warning", self.name, self.missing)

    def build(self, rows: Rows) -> SegmentData:
        """Return postings of these rows.

        Raises:
            EmbeddingError: the model is missing, or fails.
        """
        texts, form = embedded_texts(rows.texts, len(rows)), CachedForm(self._cache, self.model)
        levels = encode_once(
            texts,
            self._encode,
            form,
            read=_read,
            write=lambda row: json.dumps(row).encode(),
            progress=self._progress,
        )
        return self._pack(postings_of(levels))

    def merge(self, segments: Sequence[SegmentView], scratch: Scratch = IN_MEMORY) -> SegmentData:
        """Return postings of the live rows of these segments, in order."""
        rows, _ = number_rows(segments)
        lengths = scratch.growing(np.uint32)
        lengths.append(
            *(its.values_of(view.arrays["lengths"]) for view, its in zip(segments, rows, strict=True))
        )
        parts = [postings_in(view) for view in segments]
        return self._pack(merge_field(parts, rows, lengths.array(), NORM, scratch))

    def validate(self, data: SegmentData, n: int, *, full: bool = False) -> None:
        """Refuse arrays that this leg cannot have made; raises ValueError."""
        require(not self.model or data.meta.get("model") == self.model, "its weights are of another model")
        validate_fields({FIELD: data.arrays}, {FIELD: data.meta}, n, full=full)

    def encode_query(self, query: str) -> TokenWeights:
        """Return the weights of a query.

        Raises:
            EmbeddingError: the model is missing, or fails.
        """
        return self._model().encode_query(query)

    def _model(self) -> OnnxSparseEncoder:
        if self._encoder is None:
            raise EmbeddingError(self.missing, service="sparse")
        return self._encoder

    def _encode(self, texts: list[str]) -> Iterator[list[Levels]]:
        """Yield the levels of texts, batch by batch."""
        model = self._model()
        for batch in batches_of(texts, BATCH):
            yield [levels_of(weights) for weights in model.encode_documents(batch)]

    def _pack(self, arrays: Arrays) -> SegmentData:
        return SegmentData(arrays, {"model": self.model, **facts_of(arrays)})


def _read(raw: bytes) -> Levels | None:
    """Return cached levels; None for bytes that were not written here."""
    try:
        levels = json.loads(raw)
    except ValueError:
        return None
    is_sound = isinstance(levels, dict) and all(
        isinstance(level, int) and 1 <= level <= LEVELS for level in levels.values()
    )
    return levels if is_sound else None


class SparseSearcher(LegSearcher[TokenWeights]):
    """Scores a row by the sum over tokens of its weight times that of the query. Immutable; safe to share."""

    def __init__(
        self, leg: SparseLeg, segments: Sequence[SegmentView], previous: SparseSearcher | None = None
    ) -> None:
        """Create a searcher of these segments; what did not change since `previous` is taken from it."""
        self._leg = leg
        postings_by_name: dict[str, FieldPostings] = previous._by_name if previous else {}
        self._postings = [postings_by_name.get(view.name) or postings_in(view) for view in segments]
        self._by_name: dict[str, FieldPostings] = {
            view.name: postings for view, postings in zip(segments, self._postings, strict=True)
        }
        self._rows = SegmentRows(segments)
        self._index = FieldIndex(
            FIELD,
            self._postings,
            [view.live for view in segments],
            n=sum(map(len, segments)),
            c0=SATURATION,
            c1=0.0,
            drifts=[1.0] * len(segments),
            sparse=[False] * len(segments),
        )

    def ask(self, query: str) -> TokenWeights:
        """Return the weights of a query."""
        return self._leg.encode_query(query)

    def pool(self, query: TokenWeights, request: LegRequest) -> Hits:
        """Return the best rows."""
        return self._rows.search(self._weigh(query), request)

    def explain(self, query: TokenWeights, key: int) -> Explanation:
        """Return why the row has its score: a part per token; the parts sum to the score."""
        terms = self._weigh(query)
        parts = [
            Explanation(
                f"{FIELD}:{token}",
                query_weight * (row_weight := weight_of(count.tf)),
                "query_weight * weight",
                {"query_weight": query_weight, "weight": row_weight},
            )
            for (_, _, token, query_weight, _), count in self._rows.terms_in_row(
                terms, key, [{FIELD: postings} for postings in self._postings]
            )
        ]
        (score,) = self._rows.scores(terms, np.array([key], np.int64)).tolist()
        facts: Mapping[str, float] = {"terms": len(terms), "matched": len(parts)}
        return Explanation(FIELD, score, "sum of query_weight * weight", facts, tuple(parts))

    def _weigh(self, query: TokenWeights) -> list[tuple[float, str, str, float, Found]]:
        """Return the tokens of a query that some live row has, heaviest first."""
        entries = ((token, weight, self._index.find(token)) for token, weight in query.items() if weight > 0)
        return sorted(
            (-weight * SCALE, FIELD, token, weight, entry) for token, weight, entry in entries if entry.df
        )


def postings_in(view: SegmentView) -> FieldPostings:
    """Return the postings of a segment."""
    return FieldPostings(view.arrays, f"segment {view.name}")
