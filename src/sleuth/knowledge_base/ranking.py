"""Ranks documents of a knowledge base for a query, as a `Retriever`."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from sleuth.arguments import check_count, check_query
from sleuth.filters import Filter, as_filter
from sleuth.knowledge_base.results import uri_of
from sleuth.knowledge_base.retriever import MAX_RESULTS, MultiSliceRetriever
from sleuth.remote import async_twin
from sleuth.types import Ranking, RetrievedItem


class KnowledgeBaseRetriever:
    """A `Retriever` over one knowledge base, to be fused with others.

    An item is a document, by its URI, with its best passage. Every call requests at least 100 passages, takes
    the best of each document and then cuts, so that the ranking for k is the head of that for k + 1.

    Args:
        knowledge_base_id: the base.
        data_source_id: only documents of this data source; None takes all.
        client: of boto3's "bedrock-agent-runtime", or a `LocalKnowledgeBase`; None makes one for
            `AWS_REGION`.
        timeout_seconds: for a whole call.
        is_managed, options: of the requests, as `MultiSliceRetriever` takes them.
    """

    def __init__(
        self,
        knowledge_base_id: str,
        data_source_id: str | None = None,
        *,
        client: Any = None,
        timeout_seconds: float = 5.0,  # as of `MultiSliceRetriever`
        is_managed: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._base = knowledge_base_id
        self._source = data_source_id
        self._asking = MultiSliceRetriever(
            client,
            timeout_seconds,
            enabled=False,
            filtered_score_boost=1.0,
            is_managed=is_managed,
            options=options,
        )

    def __repr__(self) -> str:
        return f"KnowledgeBaseRetriever({self._base!r}, {self._source!r})"

    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """Return the best `k` documents among those that match `filter`.

        Raises:
            FilterError: the service cannot express this filter.
            KnowledgeBaseError: it did not answer.
        """
        k = check_count(k)
        condition = as_filter(filter)
        if k == 0 or not check_query(query).strip():
            return Ranking(())
        results, _ = self._asking.retrieve_with_report(
            query, self._base, self._source, condition, max(k, MAX_RESULTS)
        )
        # Results are best first: reversed, so that the best passage of a document overwrites its others.
        items = {item.id: item for item in reversed([item_of(result) for result in results])}
        return Ranking(sorted(items.values(), key=lambda item: (-(item.score or 0.0), item.id))[:k])

    aretrieve = async_twin(retrieve)


def item_of(result: Mapping[str, Any]) -> RetrievedItem:
    """Return a result of a knowledge base as an item of a ranking."""
    uri = uri_of(result)
    name = uri or sha256(result["content"].encode("utf-8", "replace")).hexdigest()[:16]
    metadata = {"source": uri, **result["metadata"]} if uri else result["metadata"]
    return RetrievedItem(id=name, text=result["content"], metadata=metadata, score=result["score"])
