"""The keyword leg of code search: the best files by their signals, each with the chunk that speaks for it most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth.code.search.filters import CodeFilter
from sleuth.code.search.fusion import Piece, ordered
from sleuth.code.search.query import Query
from sleuth.code.search.ranking import RankedFiles, rank_files
from sleuth.remote import check_cancelled
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot

_LEAST_FILES = 10


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
