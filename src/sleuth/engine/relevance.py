"""Scores texts by a query, without an index."""

from __future__ import annotations

from collections.abc import Sequence


def score_texts(query: str, texts: Sequence[str]) -> list[float]:
    """Return how well each text matches the tokens of a query: 1 where it holds all of them, 0 for an empty text.

    Each token of the query counts by its nearest token in the text (see `sleuth.dense.late`). A score depends on the
    query and its text alone, not on the other texts.
    """
    from sleuth.dense import match

    return [min(1.0, max(0.0, float(score))) for score in match(query, texts)] if texts else []
