"""Whole definitions as hits: the files of a ranking in their order, and in each file what answers best.

A long definition is cut into chunks, of which a search finds some; a reader wants all of it. In a file count

    text      BM25 of its best chunk
    symbol    words of the query in its qualified name (BM25)
    frame     it is in a stack trace of the query
    size      longer definitions are changed more often: log of lines

text and symbol as shares of the best ones of the file, so that no other file has a say (docs/measured/code.md). A
single line between definitions comes after them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from sleuth.code.parsing.chunks import MODULE, OUTLINE, unit_at
from sleuth.code.search.fusion import STEP, Piece
from sleuth.remote import check_cancelled
from sleuth.store import LegRequest
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.search.filters import CodeFilter
    from sleuth.code.search.query import Query
    from sleuth.code.search.vectors import Similar
    from sleuth.code.snapshots.snapshot import Snapshot

WEIGHTS: Final = {"text": 2.0, "symbol": 1.0, "frame": 1.0, "size": 1.5}
"""Of the facts about a definition (docs/decisions/whole-definitions.md)."""
_LONG: Final = 200
"""Lines from which on `size` grows no more."""
_DEPTH: Final = 0.7
"""The n-th hit of a file counts the score of the file by its words / n^.7: one far above the next shows more of its
definitions before it (docs/decisions/whole-definitions.md)."""
_FORMULA: Final = (
    "score of the file * (1/2 + 1/2 * share of its best definition), at most .999 times the score before"
)


class _RankedUnit(NamedTuple):
    """A definition of a file by its chunks: what it is file_score there, and why."""

    value: float
    unit: range
    facts: dict[str, float]


def whole_definitions(
    snapshot: Snapshot,
    query: Query,
    pieces: Sequence[Piece],
    k: int,
    *,
    by_words: Mapping[int, float],
    allowed: CodeFilter,
    similar: Similar | None = None,
) -> list[Piece]:
    """Return what answers best in the first `k` files of a ranking, best first: `k` definitions or all there are.

    Args:
        pieces: best first; they tell the order of files.
        by_words: score of the keyword leg by file.
        similar: of the vector leg, for files that hold no word of the query.
    """
    piece_of_file = {piece.file: piece for piece in reversed(pieces)}
    files = list(dict.fromkeys(piece.file for piece in pieces))[:k]
    searcher, views = snapshot.chunk_words
    keys = snapshot.chunks_of(files)
    masks = snapshot.bitmaps(views, keys)
    scores: dict[str, dict[int, float]] = {"text": {}, "symbol": {}}  # what words give the chunks, by key
    for name, field in (("text", "context"), ("symbol", "symbol")) if query.terms and files else ():
        found = searcher.pool({field: query.terms}, LegRequest(len(keys), allowed=masks))
        scores[name] = dict(zip(found.keys.tolist(), found.scores.tolist(), strict=True))
    ranking: list[tuple[float, _RankedUnit, Piece, float]] = []
    file_score = max(by_words.values(), default=1.0)
    for file in files:
        check_cancelled()
        file_score = min(file_score, by_words.get(file, file_score))  # never more than a better file's
        piece = piece_of_file[file]
        answers = _definitions_of(snapshot, query, piece, scores, allowed=allowed, similar=similar)
        peak = (answers[0].value if answers else 0.0) or 1.0
        for n, answer in enumerate(answers, 1):
            ranking.append((file_score / n**_DEPTH, answer, piece, answer.value / peak))
    ranking.sort(key=lambda item: -item[0])  # equal ones as the files come
    hits: list[Piece] = []
    for _, answer, piece, share in ranking:
        score = piece.score * (0.5 + 0.5 * share)
        score = min(score, STEP * hits[-1].score) if hits else score
        facts, unit = {"share": share, **answer.facts}, answer.unit
        why = Explanation("definition", score, _FORMULA, facts, (piece.explanation,))
        hits.append(replace(piece, chunk=unit[0], parts=len(unit), score=score, explanation=why))
    return hits


def _definitions_of(
    snapshot: Snapshot,
    query: Query,
    piece: Piece,
    scores: Mapping[str, Mapping[int, float]],
    *,
    allowed: CodeFilter,
    similar: Similar | None,
) -> list[_RankedUnit]:
    """Return what answers in the file of a piece, best first; at least the definition of it."""
    row = snapshot.files[piece.file]
    detail = snapshot.detail(row)
    name = row.path.rpartition("/")[2]
    called = {f.name.rpartition(".")[2] for f in query.frames if f.path.rpartition("/")[2] == name}
    units: list[range] = []
    stop = 0
    while stop < len(detail.chunks):  # definition by definition
        unit = unit_at(detail.chunks, stop)
        stop = unit.stop
        if allowed.allows(piece.file, unit[0]):
            units.append(unit)
    chunk_keys = range(row.first_chunk, row.first_chunk + len(detail.chunks))
    rows = {name: [by_key.get(key, 0.0) for key in chunk_keys] for name, by_key in scores.items()}
    words = {name: [max(values[u.start : u.stop]) for u in units] for name, values in rows.items()}
    if similar is not None and not any(words["text"]):
        words["text"] = [similar.share_of(piece.file, unit) for unit in units]
    peaks = {name: max(values, default=0.0) or 1.0 for name, values in words.items()}
    answers: list[_RankedUnit] = []
    for at, unit in enumerate(units):
        shares = {name: values[at] / peaks[name] for name, values in words.items()}
        if any(shares.values()) or piece.chunk in unit:
            first, last_chunk = detail.chunks[unit[0]], detail.chunks[unit[-1]]
            in_frame = first.symbol >= 0 and detail.symbols[first.symbol].name in called
            size = min(1.0, math.log1p(last_chunk.end - first.start + 1) / math.log1p(_LONG))
            facts = shares | {"frame": float(in_frame), "size": size}
            is_lone_line = first.start == last_chunk.end and first.kind in (OUTLINE, MODULE)
            value = 0.0 if is_lone_line else sum(WEIGHTS[name] * value for name, value in facts.items())
            answers.append(_RankedUnit(value, unit, facts))
    answers.sort(key=lambda answer: (-answer.value, answer.unit[0]))
    return answers
