"""Scores how well a passage matches the words of a query one by one (late interaction).

A mean over a text's tokens blurs what a single token says. This reranker compares tokens: each token of the query is
matched with the nearest token of the passage (ColBERT's late interaction: Khattab and Zaharia, SIGIR 2020), here over
WordLlama's static vectors, whose lengths say how much a token matters. It needs no model beyond the default embedder's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_count
from sleuth.dense import matching
from sleuth.dense.encoding import begins_of
from sleuth.dense.wordllama import MOST_TOKENS, WordLlamaEmbedder, legible_or_plain, legible_query, load_model
from sleuth.errors import ArgumentError
from sleuth.types import Explanation, RetrievedItem

WEIGHT = WordLlamaEmbedder.token_weight
READ = 30
"""Hits that are read (table: quality.md at 885da4c9)."""

RARITY = 1.5
"""Exponent of a vector's length in its token's weight: lengths grow with a token's rarity, but slowly."""


class TokenReranker:
    """Adds to the scores of the best hits what matching their tokens with the query's says. Safe to share.

    Args:
        weight: of the best score, what the best match among the hits gains; 0 and more. The worst gains nothing.
        depth: hits to read, 1 or more; the others keep their scores.
    """

    def __init__(self, *, weight: float = WEIGHT, depth: int = READ) -> None:
        if not 0 <= weight < float("inf"):
            raise ArgumentError(f"weight must be a number of 0 and more, got {weight!r}")
        self.weight = weight
        self.depth = check_count(depth, "depth", least=1)

    def rerank(self, query: str, items: Sequence[RetrievedItem]) -> list[RetrievedItem]:
        """Return all items, best first, ties by id; those without a score are taken to have 0."""
        head, tail = list(items[: self.depth]), list(items[self.depth :])
        matches = match(query, [item.text for item in head])
        scores = matching.lift(np.array([item.score or 0.0 for item in head]), matches, self.weight)
        lifted = [
            item
            if score == (item.score or 0.0)
            else item.model_copy(
                update={"score": float(score), "extra": {**item.extra, "explanation": explanation}}
            )
            for item, score, value in zip(head, scores, matches, strict=True)
            for explanation in [
                explain(float(score), float(value), item.score or 0.0, self.weight, item.explanation)
            ]
        ]
        return sorted([*lifted, *tail], key=lambda item: (-(item.score or 0.0), item.id))


def explain(
    score: float, value: float, before: float, weight: float, below: Explanation | None
) -> Explanation:
    """Explain the score of a hit after its tokens were matched.

    Args:
        value: match of the tokens, scaled to 0 to 1 over the hits that were matched.
        before: score before the match.
        below: explanation of that score.
    """
    facts: dict[str, float | int | str] = {"match": value, "gain": score - before, "weight": weight}
    formula = "score + weight * best score * min-max match of tokens"
    return Explanation("tokens", score, formula, facts, (below,) if below else ())


def match(query: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return how well each text matches the query's tokens, shape (len(texts),): 1 if it holds all of them, 0 if empty.

    The mean over the query's distinct tokens of the greatest cosine to a token of the text, weighted by the root of how
    often a token comes and by the length of its vector to the power of `RARITY`.
    """
    places = np.arange(len(texts), dtype=np.int64)
    tokens, sizes = load_model().vocabulary.read(list(map(legible_or_plain, texts)), MOST_TOKENS)
    matches = match_rows(query, [(places, tokens, sizes, begins_of(sizes))], places)
    return cast("NDArray[np.float64]", matches)  # every place is there


def match_rows(query: str, parts: list[matching.Part], keys: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return the same for rows whose tokens are kept; None where a key is in no part."""
    model = load_model()
    ids = model.vocabulary.encode(legible_query(query))[:MOST_TOKENS]
    return matching.match(ids, model.halves, model.lengths, RARITY, parts, keys)
