"""A reranking model behind an endpoint that Cohere, Jina, vLLM, Infinity, LocalAI and Sleuth's own server offer.

They take `POST {base_url}/rerank` with `{model, query, documents, top_n}`, and answer
`{results: [{index, relevance_score}]}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import ClassVar

from sleuth.compose.items import best_first, rescored
from sleuth.errors import EmbeddingError
from sleuth.llm.http import AnswerError, ServiceModel
from sleuth.llm.openai import OpenAIFailures, connect
from sleuth.remote import async_twin
from sleuth.types import RetrievedItem


class _RerankFailures(OpenAIFailures):
    service = "rerank"
    url_variable: ClassVar[str] = "RERANK_BASE_URL"
    key_variable: ClassVar[str] = "RERANK_API_KEY"
    default_url: ClassVar[str] = ""


class RemoteReranker(ServiceModel):
    """A `Reranker` by a model of a service; safe to share between threads.

    Args:
        model: its name there.
        base_url: up to and including the version, such as `https://api.cohere.com/v2`, `https://api.jina.ai/v1` or the
            address of a server of your own; None takes RERANK_BASE_URL.
        api_key: None takes RERANK_API_KEY; "" sends no key. Never shown.
        timeout: seconds of silence after which a call fails.
    """

    def __init__(  # 30 s: a search waits for the order
        self, model: str, base_url: str | None = None, *, api_key: str | None = None, timeout: float = 30.0
    ) -> None:
        self.model = model
        self._client = connect(EmbeddingError, base_url, api_key, timeout, _RerankFailures)
        self.base_url = self._client.base_url

    def rerank(self, query: str, items: Sequence[RetrievedItem]) -> list[RetrievedItem]:
        """Return the items with the model's scores, best first, ties by id.

        Raises:
            EmbeddingError: the service failed, or answered without scores.
        """
        if not items:
            return []
        texts = [item.text for item in items]
        answer = self._client.post(
            "/rerank", {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}
        )
        with self._client.described("/rerank"):
            try:
                pairs = [(result["index"], float(result["relevance_score"])) for result in answer["results"]]
                is_sound = all(type(place) is int and isfinite(score) for place, score in pairs)
            except (KeyError, TypeError, ValueError):
                is_sound = False
            places = [place for place, _ in pairs] if is_sound else []
            if not is_sound or len({*places}) < len(places) or not {*places} <= {*range(len(items))}:
                raise AnswerError(f"answered without scores of the documents: {self._client.shown(answer)}")
        formula = f"the score of {self.model}"
        return best_first(rescored(items[place], score, "rerank", formula) for place, score in pairs)

    arerank = async_twin(rerank)
