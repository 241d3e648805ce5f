"""The keyword leg of code search: ranks files by a weighted sum of signals, each with the chunk that answers best.

The weights were learned by `benchmarks/code_quality.py --fit` over all its collections together, each counting the same
(table: code.md at 885da4c9): a softmax over the candidates of a query, the weights 0 and more. Later figures took out
four signals, doubled `told`, halved `path` and raised `names` from .67 (docs/decisions/signals-of-code.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.labels import CATEGORIES
from sleuth.code.search.filters import CodeFilter
from sleuth.code.search.fusion import Piece, ordered
from sleuth.code.search.signals import Scores, Signals
from sleuth.code.search.stems import Twins
from sleuth.remote import check_cancelled
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.search.query import Query
    from sleuth.code.snapshots.snapshot import Snapshot

WEIGHTS: dict[str, float] = {
    "title": 1.91,  # learned, as is all that has no other reason beside it
    "prose": 1.64,
    "chunks": 2.96,
    "path": 0.94,  # half of what was learned
    "names": 1.0,  # .67 was learned
    "told": 1.54,  # twice what was learned
    "named": 0.87,
    "phrases": 2.08,  # of the best files alone (docs/decisions/phrases-of-code.md)
    "stem": 0.25,
}

_LEAST_FILES = 10

SHORT = {"title": 0.4, "path": 1.4, "names": 0.7, "stem": 1.7}
"""Weights that differ for a short query, chosen over half of the public board (docs/decisions/signals-of-code.md): its
title and its prose are the same text, and it often says what a file is called."""

MEANING = 1.5
"""What the vector leg counts among the signals: a tenth of all others (docs/measured/code.md)."""

SHORT_MEANING = 2.2
"""What the vector leg counts for a short query."""

CATEGORY_FACTORS = {"code": 1.0, "test": 0.6, "docs": 0.7, "config": 0.8, "generated": 0.5}
"""What a file counts that is not what people mostly ask for; 1 where the query asks for it."""


@dataclass(frozen=True, slots=True)
class RankedFiles:
    """Files, scored.

    Attributes:
        scores: shape (n,), in [0, 1]; 0 where nothing speaks for a file.
        shares: by signal, what it adds to each file's score before the category counts; shape (n,).
        factors: what the category, and a twin in a newer version, makes of it, shape (n,).
    """

    scores: NDArray[np.float32]
    shares: dict[str, NDArray[np.float32]]
    factors: NDArray[np.float32]
    signals: Signals


def weights_for(query: Query) -> dict[str, float]:
    """Return what each signal of words and names counts for a query."""
    return WEIGHTS | (SHORT if query.is_short else {})


def rank_files(
    snapshot: Snapshot, query: Query, allowed: NDArray[np.bool_] | None = None, meaning: Scores | None = None
) -> RankedFiles:
    """Score all files that may answer.

    Args:
        meaning: of the vector leg, scaled as signals are, or None.
    """
    weights = weights_for(query)
    if meaning is not None:
        weights["meaning"] = SHORT_MEANING if query.is_short else MEANING
    signals = Signals(snapshot, query, allowed)
    n = len(snapshot.files)
    if not n:
        return RankedFiles(np.zeros(0, np.float32), {}, np.ones(0, np.float32), signals)
    if meaning is not None:
        signals.values["meaning"] = meaning
    wants = {"test": query.wants_tests, "docs": query.wants_docs}
    by_category = CATEGORY_FACTORS | {name: 1.0 for name, is_wanted in wants.items() if is_wanted}
    factors = np.array([by_category[name] for name in CATEGORIES], np.float32)[snapshot.categories]
    factors *= snapshot.shared(Twins).factors(query.text, n)
    so_far = sum(weights.get(name, 0.0) * values for name, values in signals.values.items())
    signals.read(query, np.asarray(so_far * factors, np.float32))
    total = sum(weights.values())
    shares = {
        name: values * np.float32(weights.get(name, 0.0) / total) for name, values in signals.values.items()
    }
    scores = np.sum(list(shares.values()), axis=0) * factors
    return RankedFiles(np.clip(scores, 0, 1).astype(np.float32), shares, factors, signals)


def keyword_search(
    snapshot: Snapshot,
    query: Query,
    pool: int,
    allowed: CodeFilter,
    meaning: NDArray[np.float32] | None = None,
) -> list[Piece]:
    """Find the best `pool` files by the signals of `signals.py`, and those that tie with the last of them.

    Returns:
        A piece of each: the chunk that answers best by its words, else its first definition.
    """
    file_ranking = rank_files(snapshot, query, allowed.files, meaning)
    order = np.argsort(-file_ranking.scores, kind="stable")
    floor = file_ranking.scores[order[min(max(pool, _LEAST_FILES), len(order)) - 1]] if len(order) else 0.0
    scores = file_ranking.scores[order]
    files = order[(scores >= floor) & (scores > 0)].tolist()
    keys = file_ranking.signals.chunk_keys
    positions = snapshot.positions_of_chunks(keys)
    places = keys - snapshot.firsts[positions]
    best: dict[int, int] = {}  # by file the chunk with the best words that may answer
    for file, place in zip(positions.tolist(), places.tolist(), strict=True):
        if file not in best and allowed.allows(file, place):
            best[file] = place
    pieces = []
    for file in files:
        check_cancelled()
        chunk = best.get(file)
        if chunk is None:
            chunks = snapshot.detail(snapshot.files[file]).chunks
            allowed_places = [place for place in range(len(chunks)) if allowed.allows(file, place)]
            first = next(iter(allowed_places), None)
            chunk = next((place for place in allowed_places if chunks[place].symbol >= 0), first)
        if chunk is not None:
            why = _explain(file_ranking, file)
            pieces.append(Piece(file, chunk, why.value, why))
    return ordered(snapshot, pieces)


def _explain(file_ranking: RankedFiles, file: int) -> Explanation:
    factor, signals = float(file_ranking.factors[file]), file_ranking.signals
    shares = {name: float(share[file]) for name, share in file_ranking.shares.items()}
    parts = tuple(
        Explanation(
            name,
            shares[name] * factor,
            "weight share * raw / best raw * category factor",
            {"raw": float(signals.values[name][file]) * signals.peaks.get(name, 1.0)},
        )
        for name in sorted(shares, key=shares.__getitem__, reverse=True)
        if shares[name] > 0
    )
    return Explanation(
        "file", float(file_ranking.scores[file]), "sum of signals", {"category factor": factor}, parts
    )
