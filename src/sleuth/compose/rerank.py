"""Scores the best hits again with a slower, more exact model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from sleuth.arguments import check_count, check_score
from sleuth.compose.items import PooledRetriever, best_first, rescored
from sleuth.errors import ArgumentError, RetrievalError
from sleuth.remote import Deadline
from sleuth.types import Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.protocols import Reranker


@dataclass(frozen=True)
class RerankedRetriever(PooledRetriever):
    """A retriever that scores its best hits again.

    Attributes:
        reranker: see `sleuth.protocols.Reranker`.
    """

    reranker: Reranker
    _: KW_ONLY
    pool: int = 100

    def ordered(self, query: str, ranking: Ranking, k: int) -> list[RetrievedItem]:
        """Return the hits by the reranker's scores."""
        return reranked(self.reranker, query, ranking.items)


def reranked(
    reranker: Reranker, query: str, items: Sequence[RetrievedItem], *, explain: bool = True
) -> list[RetrievedItem]:
    """Return items as a reranker orders them, with its scores.

    Where a reranker orders items and leaves their scores, these do not fall, and belong to another ranking. Then the
    items have no scores. Items that a reranker did not score come last.

    Args:
        explain: whether items keep explanations, also those that the reranker made.

    Raises:
        RetrievalError: the reranker returned something that is not among the items, or a score that is not finite.
    """
    ids = {item.id for item in items}
    answer, name = reranker.rerank(query, items), type(reranker).__name__
    answer = list(answer) if isinstance(answer, Iterable) else [answer]
    scores: list[float | None] = []
    for item in answer:
        if not isinstance(item, RetrievedItem) or item.id not in ids:
            raise RetrievalError(f"reranker {name} must return some of its items, got {item!r}")
        try:
            scores.append(check_score(item.score))
        except ArgumentError as error:
            raise RetrievalError(f"reranker {name}, item {item.id!r}: {error}") from None
    values = [score for score in scores if score is not None]
    if values != scores[: len(values)] or any(score < later for score, later in pairwise(values)):
        scores = [None] * len(answer)
    dropped = set() if explain else {"explanation"}
    return [
        item.model_copy(
            update={"score": score, "extra": {key: item.extra[key] for key in item.extra.keys() - dropped}}
        )
        for item, score in zip(answer, scores, strict=True)
    ]


class PairScorer(Protocol):
    """A model that reads query and passage together, as `sleuth.plugins.neural.OnnxCrossEncoder` does."""

    def predict(self, pairs: list[tuple[str, str]], /) -> Iterable[float]:
        """Return one score for each pair, higher for better passages."""
        ...


@dataclass(frozen=True)
class CrossEncoderReranker:
    """A `Reranker` by a model that reads query and passage together; as safe for threads as the model.

    Attributes:
        model: see `PairScorer`; `CrossEncoder` of sentence-transformers is one, too.
        batch_size: passages that are scored at a time, best first.
        seconds: after these no more are scored, once the first batch is; None scores all. Passages without a score
            follow those that have one, in their order.
    """

    model: PairScorer
    batch_size: int = 8
    seconds: float | None = None

    def __post_init__(self) -> None:
        check_count(self.batch_size, "batch_size", least=1)

    def rerank(self, query: str, items: Sequence[RetrievedItem]) -> list[RetrievedItem]:
        """Return all items with the model's scores, best first, ties by id."""
        deadline = Deadline(self.seconds)
        scores: list[float] = []
        for start in range(0, len(items), self.batch_size):
            if start and deadline.passed():
                break
            texts = [item.text for item in items[start : start + self.batch_size]]
            scores += map(float, self.model.predict([(query, text) for text in texts]))
        scored = [
            rescored(item, score, "rerank", "the cross-encoder's score of query and passage")
            for item, score in zip(items, scores, strict=False)
        ]
        unscored = [item.model_copy(update={"score": None}) for item in items[len(scores) :]]
        return [*best_first(scored), *unscored]
