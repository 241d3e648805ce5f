"""Fuses the rankings of the legs of a code search by reciprocal rank, and gives scores that compare between queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.code.search.query import weigh
from sleuth.compose.fuse import Pool, fuse_hits
from sleuth.compose.methods import RANK_CONSTANT
from sleuth.store import LegRequest
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot

STEP: Final = 0.999  # what a score is at most of the one before, so that scores tell the order
_LEAST: Final = 0.01  # above 0: a leg ranked it
_FORMULA = "the greater of words * keyword score / best and similarity, at most .999 times the score of the hit before"
_CHUNK: Final = (1 << 32) - 1
"""The bits of a key that number a chunk in its file; the file is above them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Chunks of a file, ranked: its position, the place of the first, a score in [0, 1], why, and how many they are."""

    file: int
    chunk: int
    score: float
    explanation: Explanation
    parts: int = 1

    @property
    def chunks(self) -> range:
        """The places in the file."""
        return range(self.chunk, self.chunk + self.parts)


def fuse(
    snapshot: Snapshot, answers: Mapping[str, Sequence[Piece]], weights: Mapping[str, float]
) -> list[Piece]:
    """Fuse by reciprocal rank with a weight above 0 per leg, scaled so that the first of every leg has 1."""
    scale = (RANK_CONSTANT + 1) / sum(weights[name] for name in answers)
    pools = {
        name: Pool(
            np.array([piece.file << 32 | piece.chunk for piece in pieces], np.int64),
            np.array([piece.score for piece in pieces], np.float64),
        )
        for name, pieces in answers.items()
    }
    reasons = {
        name: dict(zip(pools[name].keys.tolist(), (piece.explanation for piece in pieces), strict=True))
        for name, pieces in answers.items()
    }

    def order(keys: NDArray[np.int64]) -> list[tuple[str, int]]:
        return [(snapshot.files[key >> 32].path, key & _CHUNK) for key in keys.tolist()]

    fusion = fuse_hits(pools, {name: weights[name] * scale for name in answers}, "rrf", order=order)
    ranking: list[Piece] = []
    for i, (key, score) in enumerate(zip(fusion.keys.tolist(), fusion.scores.tolist(), strict=True)):
        parts = {name: by_key[key] for name, by_key in reasons.items() if key in by_key}
        ranking.append(Piece(key >> 32, key & _CHUNK, score, fusion.explain(i, parts)))
    return ranking


def ordered(snapshot: Snapshot, pieces: Sequence[Piece]) -> list[Piece]:
    """Best first; equal scores by path and line."""
    return sorted(pieces, key=lambda hit: (-hit.score, snapshot.files[hit.file].path, hit.chunk))


def with_fixed_scores(
    snapshot: Snapshot,
    query: str,
    pieces: Sequence[Piece],
    share_of: Callable[[int, range], float] | None,
    by_words: Mapping[int, float],
) -> Iterator[Piece]:
    """Yield pieces of a ranking in their order, with scores from 0 to 1 that do not depend on other files.

    A score is the greater of two shares: that of the query's words which the piece, its path and its name hold, each
    weighing its idf, times what the keyword leg gives it of its best score; and its similarity, counted from that of
    unrelated texts. No score is above that of a better hit. What the whole query names keeps its score.

    Args:
        share_of: gives the similarity of chunks of a file, from 0 to 1; None where the vector leg did not answer.
        by_words: score of the keyword leg by file.
    """
    idf = snapshot.chunk_words[0].idf(weigh(query))
    total_idf = sum(idf.values()) or 1.0
    keys = [snapshot.firsts[piece.file] + np.array(piece.chunks, np.int64) for piece in pieces]
    all_keys = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]))
    keys_by_word: dict[str, set[int]] = {}  # which of these chunks hold each word in their text, path or name
    if len(all_keys):
        searcher, views = snapshot.chunk_words
        masks = snapshot.bitmaps(views, all_keys)
        for word in idf:
            hits = searcher.pool({"context": {word: 1.0}}, LegRequest(len(all_keys), allowed=masks))
            keys_by_word[word] = set(hits.keys.tolist())
    ceiling = 1.0
    top_score = max(by_words.values(), default=0.0) or 1.0
    for piece, own_keys in zip(pieces, keys, strict=True):
        if piece.explanation.name == "exact":
            yield piece
            ceiling = piece.score * STEP
            continue
        own_words = [word for word, rows in keys_by_word.items() if not rows.isdisjoint(own_keys.tolist())]
        words = sum(idf[word] for word in own_words) / total_idf * by_words.get(piece.file, 0.0) / top_score
        similarity = 0.0 if share_of is None else share_of(piece.file, piece.chunks)
        score = min(ceiling, max(words, similarity, _LEAST))
        facts = {"words": words, "similarity": similarity}
        explanation = Explanation("scale", score, _FORMULA, facts, (piece.explanation,))
        yield replace(piece, score=score, explanation=explanation)
        ceiling = score * STEP
