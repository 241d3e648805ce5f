"""Scores the best hits again with a slower, more exact model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from sleuth.arguments import check_count
from sleuth.compose.items import best_first, rescored
from sleuth.errors import MissingPackageError
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
        return Ranking(self.reranker.rerank(query, tuple(ranking))[:k], ranking.parts, ranking.notes)

    aretrieve = async_twin(retrieve)


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
