"""Scores of a hybrid search that compare between queries: how much of the query a piece of code holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from sleuth.code.search.fusion import Piece
from sleuth.code.search.query import weigh
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.search.similarity import Similar
    from sleuth.code.snapshots.snapshot import Snapshot

_STEP: Final = 0.999  # of the score before, so that scores tell the order
_LEAST: Final = 0.01  # above 0: a leg ranked it
_FORMULA = "the greater of words * keyword score / best and similarity, at most .999 times the score of the hit before"


def with_fixed_scores(
    snapshot: Snapshot,
    query: str,
    pieces: Sequence[Piece],
    similar: Similar | None,
    by_words: Mapping[int, float],
) -> Iterator[Piece]:
    """Yield pieces of a ranking in their order, with scores from 0 to 1 that do not depend on other files.

    A score is the greater of two shares: that of the query's words which the piece, its path and its name hold, each
    weighing its idf, times what the keyword leg gives it of its best score; and its similarity, counted from that of
    unrelated texts. No score is above that of a better hit. What the whole query names keeps its score.

    Args:
        similar: of the vector leg; None where it did not answer.
        by_words: score of the keyword leg by file.
    """
    idf = snapshot.chunk_words[0].idf(weigh(query))
    total = sum(idf.values()) or 1.0
    keys = [snapshot.firsts[piece.file] + np.array(piece.chunks, np.int64) for piece in pieces]
    all_keys = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]))
    keys_by_word: dict[str, set[int]] = {}  # which of these chunks hold each word in their text, path or name
    if len(all_keys):
        searcher, views = snapshot.chunk_words
        masks = snapshot.bitmaps(views, all_keys)
        for word in idf:
            hits = searcher.search({"context": {word: 1.0}}, len(all_keys), allowed=masks)
            keys_by_word[word] = set(hits.keys.tolist())
    ceiling = 1.0
    top_score = max(by_words.values(), default=0.0) or 1.0
    for piece, own_keys in zip(pieces, keys, strict=True):
        if piece.explanation.name == "exact":
            yield piece
            ceiling = piece.score * _STEP
            continue
        held = [word for word, rows in keys_by_word.items() if not rows.isdisjoint(own_keys.tolist())]
        words = sum(idf[word] for word in held) / total * by_words.get(piece.file, 0.0) / top_score
        similarity = 0.0 if similar is None else similar.share_of(piece.file, piece.chunks)
        score = min(ceiling, max(words, similarity, _LEAST))
        facts = {"words": words, "similarity": similarity}
        explanation = Explanation("scale", score, _FORMULA, facts, (piece.explanation,))
        yield replace(piece, score=score, explanation=explanation)
        ceiling = score * _STEP
