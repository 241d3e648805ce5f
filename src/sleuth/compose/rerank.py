"""Scores the best hits again with a slower, more exact model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any

from sleuth.arguments import check_count, check_score
from sleuth.compose.items import best_first, rescored
from sleuth.errors import ArgumentError, MissingPackageError, RetrievalError
from sleuth.remote import async_twin
from sleuth.types import Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.filters import Filter
    from sleuth.protocols import Reranker, Retriever


@dataclass(frozen=True)
class RerankedRetriever:
    """A retriever that scores its best hits again.

    Attributes:
        reranker: see `sleuth.protocols.Reranker`.
        pool: hits requested from the retriever and scored again. Hits beyond the pool are never returned.
    """

    retriever: Retriever
    reranker: Reranker
    pool: int = 100

    def __post_init__(self) -> None:
        check_count(self.pool, "pool", least=1)

    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """Return the best `k` by the reranker's scores."""
        k = check_count(k)
        if not k:
            return Ranking(())
        ranking = self.retriever.retrieve(query, self.pool, filter=filter)
        return Ranking(reranked(self.reranker, query, ranking.items)[:k], ranking.parts, ranking.notes)

    aretrieve = async_twin(retrieve)


def reranked(
    reranker: Reranker, query: str, items: Sequence[RetrievedItem], *, explain: bool = True
) -> list[RetrievedItem]:
    """Return items as a reranker orders them, with its scores.

    Where a reranker orders items and leaves their scores, these do not fall, and belong to another ranking. Then the
    items have no scores.

    Args:
        explain: whether items keep explanations, also those that the reranker made.

    Raises:
        RetrievalError: the reranker returned something that is not among the items, or a score that is not finite.
    """
    ids = {item.id for item in items}
    answer = list(reranker.rerank(query, items))
    name = type(reranker).__name__
    scores: list[float | None] = []
    for item in answer:
        if not isinstance(item, RetrievedItem) or item.id not in ids:
            raise RetrievalError(f"reranker {name} must return some of its items, got {item!r}")
        try:
            scores.append(check_score(item.score))
        except ArgumentError as error:
            raise RetrievalError(f"reranker {name}, item {item.id!r}: {error}") from None
    values = [score for score in scores if score is not None]
    if len(values) < len(scores) or any(score < later for score, later in pairwise(values)):
        scores = [None] * len(answer)
    dropped = set() if explain else {"explanation"}
    return [
        item.model_copy(
            update={"score": score, "extra": {key: item.extra[key] for key in item.extra.keys() - dropped}}
        )
        for item, score in zip(answer, scores, strict=True)
    ]


class CrossEncoderReranker:
    """A sentence-transformers model that reads query and passage together. Thread-safe.

    Args:
        model: a name or a folder that sentence-transformers knows, or any object with its `predict(pairs)` method.
        batch_size: pairs per call of the model.
    """

    def __init__(
        self, model: str | Any = "cross-encoder/ms-marco-MiniLM-L6-v2", *, batch_size: int = 32
    ) -> None:
        self._model = load_cross_encoder(model) if isinstance(model, str) else model
        self._batch_size = batch_size
        self._lock = Lock()  # concurrent calls would only take turns inside the model

    def rerank(self, query: str, items: Sequence[RetrievedItem]) -> list[RetrievedItem]:
        """Return all items with the model's scores, best first, ties by id."""
        if not items:
            return []
        pairs = [(query, item.text) for item in items]
        with self._lock:
            scores = self._model.predict(pairs, batch_size=self._batch_size, show_progress_bar=False)
        return best_first(
            rescored(item, float(score), "rerank", "the cross-encoder's score of query and passage")
            for item, score in zip(items, scores, strict=True)
        )


def load_cross_encoder(name: str) -> Any:
    """Load the model of this name, without running code that came with it."""
    try:
        from sentence_transformers import CrossEncoder  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise MissingPackageError(
            "sentence-transformers", "models", "Reranking by a cross-encoder"
        ) from error
    return CrossEncoder(name, trust_remote_code=False)
