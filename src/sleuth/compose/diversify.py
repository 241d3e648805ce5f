"""Chooses hits that differ from each other, by maximal marginal relevance."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sleuth.compose.items import PooledRetriever, rescored
from sleuth.compose.pools import normalise
from sleuth.errors import ArgumentError
from sleuth.types import Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.protocols import Embedder


def mmr(  # by default the hit itself counts more than how it differs
    relevance: NDArray[np.float64], vectors: NDArray[np.floating[Any]], k: int, trade_off: float = 0.7
) -> list[tuple[int, float, float]]:
    """Choose rows one by one, each for what it adds to the rows before it (maximal marginal relevance).

    A row's value is trade_off * relevance - (1 - trade_off) * its greatest cosine to a row chosen before; values never
    rise from one choice to the next. Source: Carbonell and Goldstein, SIGIR 1998.

    Args:
        relevance: shape (n,), higher is better, on the scale of a cosine.
        vectors: shape (n, dimension).
        k: how many to choose at most.
        trade_off: from 0, only difference, to 1, only relevance.

    Returns:
        Rows in order of choice, each with its value and its greatest cosine to a row chosen before, which is -1 for the
        first; the first row where values tie.
    """
    if not 0 <= trade_off <= 1:
        raise ArgumentError(f"trade_off must be a number from 0 to 1, got {trade_off!r}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(lengths == 0, 1, lengths)
    nearest = np.full(len(relevance), -1.0)  # below any cosine: the first choice is by relevance alone
    is_open = np.ones(len(relevance), bool)
    selection: list[tuple[int, float, float]] = []
    for _ in range(min(k, len(relevance))):
        values = np.where(is_open, trade_off * relevance - (1 - trade_off) * nearest, -np.inf)
        row = int(np.argmax(values))
        selection.append((row, float(values[row]), float(nearest[row])))
        is_open[row] = False
        nearest = np.maximum(nearest, directions @ directions[row])
    return selection


@dataclass(frozen=True)
class DiversifiedRetriever(PooledRetriever):
    """A retriever whose hits are chosen by maximal marginal relevance, over min-max scores.

    Attributes:
        embedder: its vectors measure how similar two passages are.
        trade_off: from 0, only difference, to 1, only relevance.
    """

    embedder: Embedder
    trade_off: float = 0.7  # as of `mmr`
    _: KW_ONLY
    pool: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        mmr(np.zeros(0), np.zeros((0, 1)), 0, self.trade_off)

    def ordered(self, query: str, ranking: Ranking, k: int) -> list[RetrievedItem]:
        """Return `k` hits in order of choice; their scores are the values they were chosen for."""
        if not ranking:
            return []
        scores = [len(ranking) - i if item.score is None else item.score for i, item in enumerate(ranking)]
        vectors = np.asarray(self.embedder.embed_documents([item.text for item in ranking]), np.float32)
        relevance = normalise(np.array(scores, np.float64))
        formula = "trade_off * relevance (min-max score) - (1 - trade_off) * nearest (greatest cosine to a hit above)"
        return [
            rescored(
                ranking[i],
                value,
                "diversify",
                formula,
                trade_off=self.trade_off,
                relevance=float(relevance[i]),
                nearest=nearest,
            )
            for i, value, nearest in mmr(relevance, vectors, k, self.trade_off)
        ]
