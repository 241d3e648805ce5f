"""A leg of synonyms as a plugin has it: one file and one registration.

A model gives texts weights over dimensions that may stand for words a text does not hold. This one has a few synonyms.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError
from sleuth.store import (
    IN_MEMORY,
    Corpus,
    Hits,
    LegContext,
    LegRequest,
    LegSearcher,
    RankingLeg,
    Rows,
    Scratch,
    SegmentData,
    SegmentView,
    array_of,
    best_hits,
    check_offsets,
    require,
    unpack,
)
from sleuth.store.legs.searching import Tally
from sleuth.types import Explanation

SYNONYMS = {"auto": "car", "automobile": "car", "vehicle": "car", "petrol": "fuel", "gasoline": "fuel"}


def encode(text: str) -> dict[str, float]:
    """Return weights by dimension: the model."""
    weights: dict[str, float] = {}
    for word in re.findall(r"[a-z]+", text.lower()):
        weights[word] = weights.get(word, 0.0) + 1.0
        if meaning := SYNONYMS.get(word):
            weights[meaning] = weights.get(meaning, 0.0) + 0.5
    return {word: weight**0.5 for word, weight in weights.items()}


class SynonymLeg(RankingLeg[dict[str, float]]):
    """Weights of passages by dimension. The argument "slow" leaves them to be made after commits."""

    name = "synonyms"
    fingerprint = "synonyms/1"
    meaning = "synonyms"
    weight = 0.7
    is_certain = False

    def __init__(self, deferred: bool = False) -> None:
        self.deferred = deferred

    @classmethod
    def open(cls, context: LegContext) -> SynonymLeg:
        if context.argument not in ("", "slow"):
            raise ArgumentError(
                f"synonyms must be written as synonyms or synonyms:slow, got {context.argument!r}"
            )
        return cls(deferred=bool(context.argument))

    def build(self, rows: Rows) -> SegmentData:
        return _packed([encode(text) for text in rows.texts.get("text", [""] * len(rows))])

    def merge(self, segments: Sequence[SegmentView], scratch: Scratch = IN_MEMORY) -> SegmentData:
        return _packed([weights for view in segments for weights in _unpacked(view, live=True)])

    def validate(self, data: SegmentData, n: int, *, full: bool = False) -> None:
        ends = array_of(data.arrays, "ends", np.int64, (n + 1,))
        weights = array_of(data.arrays, "weights", np.float32, (None,))
        check_offsets("ends", ends, len(weights))
        words = bytes(array_of(data.arrays, "words", np.uint8, (None,))).decode("ascii").split()
        require(len(words) == len(weights), "each weight must have a dimension")

    def searcher(
        self,
        segments: Sequence[SegmentView],
        *,
        previous: LegSearcher[dict[str, float]] | None = None,
        corpus: Corpus | None = None,
    ) -> SynonymSearcher:
        return SynonymSearcher(segments, corpus)

    def greatest(self, query: str, idf: Any) -> float:
        return 100.0


class SynonymSearcher(LegSearcher[dict[str, float]]):
    """Scores a row by the product of its weights and those of the query; rare dimensions count more."""

    def __init__(self, segments: Sequence[SegmentView], corpus: Corpus | None) -> None:
        self.segments = segments
        self.rows = [_unpacked(view) for view in segments]
        self.corpus = corpus

    def ask(self, query: str) -> dict[str, float]:
        return encode(query)

    def pool(self, query: dict[str, float], request: LegRequest) -> Hits:
        factors = self._factors(query)
        scored = []
        for number, (view, rows) in enumerate(zip(self.segments, self.rows, strict=True)):
            mask = _mask(view, None if request.allowed is None else request.allowed[number])
            for row in np.flatnonzero(mask).tolist():
                if score := self._score(factors, rows[row]):
                    tie = row if view.tie_ranks is None else int(view.tie_ranks[row])
                    scored.append((-score, number, tie, int(view.keys[row])))
        scored.sort()
        return best_hits(
            np.array([number for _, number, _, _ in scored], np.int32),
            np.array([key for *_, key in scored], np.int64),
            np.array([-minus for minus, *_ in scored], np.float32),
            True,
            request.k,
            request.ids or (lambda keys: keys.tolist()),
            ordered=request.ordered,
        )

    def explain(self, query: dict[str, float], key: int) -> Explanation:
        factors = self._factors(query)
        for view, rows in zip(self.segments, self.rows, strict=True):
            for row in np.flatnonzero(view.keys == key).tolist():
                parts = [
                    Explanation(word, factors[word] * weight, "factor * weight", {"weight": weight})
                    for word, weight in rows[row].items()
                    if word in factors
                ]
                return Explanation("synonyms", self._score(factors, rows[row]), "sum", {}, tuple(parts))
        raise KeyError(key)

    # What shards share: how many rows there are, and how many have each dimension of a query.

    def totals(self) -> Tally:
        return {"all": {"rows": sum(1 for _ in self._live())}}

    def names(self, query: dict[str, float]) -> Mapping[str, Collection[str]]:
        return {"dimensions": list(query)}

    def counts(self, names: Mapping[str, Collection[str]]) -> Tally:
        rows = list(self._live())
        return {
            group: {word: sum(word in row for row in rows) for word in words}
            for group, words in names.items()
        }

    def _live(self) -> Iterable[dict[str, float]]:
        return (
            row for view, rows in zip(self.segments, self.rows, strict=True) for row in _living(view, rows)
        )

    def _factors(self, query: dict[str, float]) -> dict[str, float]:
        totals = self.totals() if self.corpus is None else self.corpus.totals
        counts = self.counts({"dimensions": list(query)}) if self.corpus is None else self.corpus.counts
        n = totals["all"]["rows"]
        return {word: weight * log1p(n / (1 + counts["dimensions"][word])) for word, weight in query.items()}

    @staticmethod
    def _score(factors: dict[str, float], row: dict[str, float]) -> float:
        return float(
            np.float32(sum(factors[word] * weight for word, weight in row.items() if word in factors))
        )


def _packed(rows: Sequence[dict[str, float]]) -> SegmentData:
    words = " ".join(word for row in rows for word in row)
    return SegmentData(
        {
            "ends": np.cumsum([0, *map(len, rows)], dtype=np.int64),
            "weights": np.array([weight for row in rows for weight in row.values()], np.float32),
            "words": np.frombuffer(words.encode(), np.uint8),
        }
    )


def _unpacked(view: SegmentView, *, live: bool = False) -> list[dict[str, float]]:
    words = bytes(view.arrays["words"]).decode().split()
    weights, ends = view.arrays["weights"].tolist(), view.arrays["ends"].tolist()
    rows = [
        dict(zip(words[start:end], weights[start:end], strict=True))
        for start, end in zip(ends, ends[1:], strict=False)
    ]
    return _living(view, rows) if live else rows


def _living(view: SegmentView, rows: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    return [row for row, is_live in zip(rows, _mask(view, None).tolist(), strict=True) if is_live]


def _mask(view: SegmentView, allowed: NDArray[np.uint64] | None) -> NDArray[np.bool_]:
    mask = np.ones(len(view), np.bool_) if view.live is None else unpack(view.live, len(view))
    return mask if allowed is None else mask & unpack(allowed, len(view))
