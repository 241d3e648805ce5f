"""Scores texts and hits by a query alone, on scales from 0 to 1 that compare between queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sleuth.engine.engine import Engine
    from sleuth.types import RetrievedItem


def score_texts(query: str, texts: Sequence[str]) -> list[float]:
    """Return how well each text matches the tokens of a query: 1 where it holds all of them, 0 for an empty text.

    Each token of the query counts by its nearest token in the text (see `sleuth.dense.late`). A score depends on the
    query and its text alone, not on the other texts.
    """
    from sleuth.dense.late import match

    return [_bounded(float(score)) for score in match(query, texts)] if texts else []


def score_hits(engine: Engine, query: str, hits: Sequence[RetrievedItem]) -> list[float]:
    """Return the weighted mean of the scores that each leg gives a hit, each on a fixed scale from 0 to 1.

    The words count as their BM25 score divided by the greatest that any passage could reach, the sum of the idf of the
    query's tokens; the meaning as the cosine, 0 at least; the tokens, where the embedder matches them, as `score_texts`
    says. The weights are those of the default fusion. A score rises with each of the three, and the other hits do not
    matter. A leg that did not find the hit among its best counts 0.

    Args:
        hits: of that engine for that query, explained.
    """
    from sleuth.vectors import embedded_text

    weights = {name: leg.weight for name, leg in engine.legs.items()}
    greatest = {name: leg.greatest(query, engine.idf) for name, leg in engine.legs.items()}
    match_weight = getattr(engine.embedder, "token_weight", 0.0)
    total = sum(weights.values()) + match_weight
    matches = [0.0] * len(hits)
    if match_weight:
        matches = score_texts(query, [embedded_text({**hit.metadata, "text": hit.text}) for hit in hits])
    scores = []
    for hit, match in zip(hits, matches, strict=True):
        values = dict(hit.explanation.scores_of(weights)) if hit.explanation else {}
        score = sum(
            weight * _bounded(values.get(name, 0.0) / greatest[name]) for name, weight in weights.items()
        )
        scores.append((score + match_weight * _bounded(match)) / total)
    return scores


def _bounded(value: float) -> float:
    return min(1.0, max(0.0, value))
