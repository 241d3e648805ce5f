"""The keyword leg of code search: the best files by their signals, and the chunks that speak for them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.code.search.filters import CodeFilter
from sleuth.code.search.fusion import Piece, ordered
from sleuth.code.search.query import Query, parts_of
from sleuth.code.search.ranking import RankedFiles, rank_files
from sleuth.remote import check_cancelled
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.parsing.chunks import CodeChunk
    from sleuth.code.snapshots.snapshot import Snapshot

CHUNKS_PER_FILE = 3
_SHARE = 0.4
"""What the second chunk of a file counts, beside the first chunks of others (table: code.md at 885da4c9)."""
_IN_DEPTH = ("report", "trace")
"""Kinds of queries that tell of one fault, whose fix often changes several chunks of a file."""
_FURTHER = 0.999
_LEAST_FILES = 10


class Scored(NamedTuple):
    """A chunk of a file, by its place in it, and a score."""

    chunk: int
    score: float


def keyword_search(
    snapshot: Snapshot,
    query: Query,
    pool: int,
    allowed: CodeFilter,
    meaning: NDArray[np.float32] | None = None,
) -> list[Piece]:
    """Find the best chunks by the signals of `signals.py`: files first, then the chunks that speak for them.

    Args:
        pool: the chunks of so many files are looked at, and of files that tie with the last. The best `pool` chunks are
            among them, since the first chunk of a file has the score of the file. A file gives three chunks; if all
            files together give fewer than `pool`, the others follow. Unless the query reports a fault, the second and
            third chunks count less.
    """
    file_ranking = rank_files(snapshot, query, allowed.files, meaning)
    order = np.argsort(-file_ranking.scores, kind="stable")
    last = file_ranking.scores[order[min(max(pool, _LEAST_FILES), len(order)) - 1]] if len(order) else 0.0
    scores = file_ranking.scores[order]
    files = order[(scores >= last) & (scores > 0)].tolist()
    by_file = _chunks_by_file(snapshot, file_ranking, files)
    best: list[Piece] = []
    further: list[Piece] = []
    for file in files:
        check_cancelled()
        pieces = _chunks_of(
            snapshot, query, file_ranking, file, chunks=by_file.get(file, []), allowed=allowed
        )
        best += pieces[:CHUNKS_PER_FILE]
        further += pieces[CHUNKS_PER_FILE:]
    best = ordered(snapshot, best)
    if query.kind not in _IN_DEPTH:
        best = ordered(snapshot, list(_apart(best)))
    if further and len(best) < pool:
        least = _FURTHER * best[-1].score
        below = "below the first chunks of other files"
        best += ordered(snapshot, [_lowered(piece, min(piece.score, least), below) for piece in further])
    return best


def _apart(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Lower the second chunk of each file to `_SHARE` of its score, the third to the square of that."""
    depths: Counter[int] = Counter()  # by file
    for piece in pieces:
        depth = depths[piece.file]
        depths[piece.file] += 1
        score = piece.score * _SHARE**depth
        yield (
            _lowered(piece, score, f"score * {_SHARE} for each better chunk of the file") if depth else piece
        )


def _lowered(piece: Piece, score: float, formula: str) -> Piece:
    """Give a chunk a lower score, with the reason."""
    why = Explanation("keyword", score, formula, {}, (piece.explanation,))
    return replace(piece, score=score, explanation=why)


def _chunks_by_file(
    snapshot: Snapshot, file_ranking: RankedFiles, files: list[int]
) -> dict[int, list[Scored]]:
    keys, scores = file_ranking.signals.chunk_keys, file_ranking.signals.chunk_scores
    out: dict[int, list[Scored]] = {}
    positions = snapshot.positions_of_chunks(keys)
    is_selected = np.zeros(len(snapshot.files), bool)
    is_selected[files] = True
    at = is_selected[positions]
    places = keys[at] - snapshot.firsts[positions[at]]
    for position, place, score in zip(
        positions[at].tolist(), places.tolist(), scores[at].tolist(), strict=True
    ):
        out.setdefault(position, []).append(Scored(place, score))
    return out


def _chunks_of(
    snapshot: Snapshot,
    query: Query,
    file_ranking: RankedFiles,
    file: int,
    *,
    chunks: list[Scored],
    allowed: CodeFilter,
) -> list[Piece]:
    """Return the chunks of a file that match, best first: the first with the file's score, others with a share."""
    detail = snapshot.detail(snapshot.files[file])
    parts = {part for name in query.plain_names for part in parts_of(name)}
    scored: dict[int, float] = dict(chunks[:50])
    peak = max(scored.values(), default=1.0)
    for place, chunk in enumerate(detail.chunks):
        symbol = detail.symbols[chunk.symbol] if chunk.symbol >= 0 else None
        if symbol is not None and symbol.name in parts and chunk.kind != "part":
            whole = 0.6 if chunk.start <= symbol.line <= chunk.end else 0.1
            scored[place] = scored.get(place, 0.0) + peak * whole
    if not scored and detail.chunks:
        scored = {_first_definition(detail.chunks): peak}
    candidates = [Scored(p, s) for p, s in scored.items() if allowed.allows(file, p)]
    if not candidates:
        candidates = [Scored(p, peak / 10) for p in range(len(detail.chunks)) if allowed.allows(file, p)]
    candidates.sort(key=lambda item: (-item.score, item.chunk))
    candidates = _fragments_last(detail.chunks, candidates)
    best = max((item.score for item in candidates), default=1.0)
    base = float(file_ranking.scores[file])
    why = _explain(file_ranking, file)
    return [
        Piece(file, place, base * (0.5 + 0.5 * score / best), _scaled(why, score / best))
        for place, score in candidates
    ]


def _fragments_last(chunks: Sequence[CodeChunk], scored: list[Scored]) -> list[Scored]:
    """Put single lines between the members of a container after all else, none with a better score than those."""

    def is_fragment(place: int) -> bool:
        return chunks[place].kind == "outline" and chunks[place].start == chunks[place].end

    whole = [item for item in scored if not is_fragment(item.chunk)]
    least = whole[-1].score if whole else math.inf
    return whole + [Scored(place, min(score, least)) for place, score in scored if is_fragment(place)]


def _first_definition(chunks: Sequence[Any]) -> int:
    return next((i for i, chunk in enumerate(chunks) if chunk.symbol >= 0), 0)


def _explain(file_ranking: RankedFiles, file: int) -> Explanation:
    factor = float(file_ranking.factors[file])

    def by_share(pair: tuple[str, NDArray[np.float32]]) -> float:
        _, share = pair
        return -float(share[file])

    parts = tuple(
        Explanation(
            name,
            float(share[file]) * factor,
            "weight share * raw / best raw * category factor",
            {
                "raw": float(file_ranking.signals.values[name][file])
                * file_ranking.signals.peaks.get(name, 1.0)
            },
        )
        for name, share in sorted(file_ranking.shares.items(), key=by_share)
        if share[file] > 0
    )
    return Explanation(
        "file", float(file_ranking.scores[file]), "sum of signals", {"category factor": factor}, parts
    )


def _scaled(file: Explanation, share: float) -> Explanation:
    value = file.value * (0.5 + 0.5 * share)
    return Explanation("keyword", value, "file * (1/2 + 1/2 * chunk share)", {"chunk share": share}, (file,))
