"""Scores how well a passage matches the words of a query one by one (late interaction).

A mean over a text's tokens blurs what a single token says. Here tokens are compared: each token of the query is
matched with the nearest token of the passage (ColBERT's late interaction: Khattab and Zaharia, SIGIR 2020), here over
WordLlama's static vectors, whose lengths say how much a token matters. It needs no model beyond the default embedder's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import matching
from sleuth.dense.encoding import begins_of
from sleuth.dense.wordllama import MOST_TOKENS, legible_or_plain, legible_query, load_model
from sleuth.types import Explanation

READ = 30
"""Hits that are read (table: quality.md at 885da4c9)."""

RARITY = 1.5
"""Exponent of a vector's length in its token's weight: lengths grow with a token's rarity, but slowly."""


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
