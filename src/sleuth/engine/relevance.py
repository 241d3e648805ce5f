"""Scores texts and hits by a query alone, on scales from 0 to 1 that compare between queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sleuth.engine.fusion import WEIGHTS
from sleuth.text import get_analyzer

if TYPE_CHECKING:
    from sleuth.engine.engine import Engine
    from sleuth.types import Explanation, RetrievedItem


def score_texts(query: str, texts: Sequence[str]) -> list[float]:
    """Return how well each text matches the tokens of a query: 1 where it holds all of them, 0 for an empty text.

    Each token of the query counts by its nearest token in the text (see `sleuth.dense.late`). A score depends on the
    query and its text alone, not on the other texts.
    """
    from sleuth.dense import match

    return [_bounded(float(score)) for score in match(query, texts)] if texts else []


def score_hits(engine: Engine, query: str, hits: Sequence[RetrievedItem]) -> list[float]:
    """Return the weighted mean of what each leg of the index says of a hit, each on a fixed scale from 0 to 1.

    The words count as their BM25 score divided by the greatest that any passage could reach, the sum of the idf of the
    query's tokens; the meaning as the cosine, 0 at least; the tokens, where the embedder matches them, as `score_texts`
    says. The weights are those of the default fusion. A score rises with each of the three, and the other hits do not
    matter. A leg that did not find the hit among its best counts 0.

    Args:
        hits: of that engine for that query, explained.
    """
    from sleuth.dense import embedded_text

    analyzer = get_analyzer(engine.settings.analyzer)
    greatest = sum(engine.idf(dict.fromkeys(analyzer.tokens(query))).values()) or 1.0
    weights = {"lexical": WEIGHTS["lexical"]}
    if engine.embedder is not None:
        weights |= {"dense": WEIGHTS["dense"], "tokens": getattr(engine.embedder, "token_weight", 0.0)}
    total = sum(weights.values())
    matches = [0.0] * len(hits)
    if weights.get("tokens"):
        matches = score_texts(query, [embedded_text({**hit.metadata, "text": hit.text}) for hit in hits])
    scores = []
    for hit, match in zip(hits, matches, strict=True):
        values = {"lexical": 0.0, "dense": 0.0, **dict(_legs(hit.explanation)), "tokens": match}
        values["lexical"] /= greatest
        scores.append(sum(weight * _bounded(values[name]) for name, weight in weights.items()) / total)
    return scores


def _legs(explanation: Explanation | None) -> Iterator[tuple[str, float]]:
    """Return the score that each leg gives a hit."""
    if explanation is None:
        return
    if explanation.name in WEIGHTS:
        yield explanation.name, float(explanation.facts.get("score", explanation.value))
        return
    for part in explanation.parts:
        yield from _legs(part)


def _bounded(value: float) -> float:
    return min(1.0, max(0.0, value))
