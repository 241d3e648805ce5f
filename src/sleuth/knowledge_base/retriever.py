"""Searches a hosted knowledge base in several slices at once and merges their results; ranks its documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from sleuth.arguments import (
    check_count,
    check_kind,
    check_mapping,
    check_method,
    check_name,
    check_names,
    check_positive,
    check_query,
    check_strings,
)
from sleuth.compose.items import best_first
from sleuth.compose.slices import run_slices
from sleuth.errors import ArgumentError, KnowledgeBaseError
from sleuth.filters import Filter, FilterForm, as_filter, to_bedrock
from sleuth.filters.bedrock import is_bedrock
from sleuth.knowledge_base.clients import default_client, endpoint_of
from sleuth.knowledge_base.errors import KnowledgeBaseTimeoutError, again_when_down, explain, wrapped
from sleuth.knowledge_base.results import SOURCE_KEY, deduplicate_results, documented, uri_of
from sleuth.remote import Deadline, async_twin, retry
from sleuth.remote.endpoints import TurnError
from sleuth.types import PartReport, Ranking, RetrievedItem

MAX_RESULTS = 100
"""Maximum results of one request (`numberOfResults` in the service's model)."""
_RETRIES = 5
_BACKOFF = 0.1  # seconds before the first retry; the wait doubles with each

Results = list[dict[str, Any]]

SEARCH_OPTIONS: Mapping[str, Sequence[str]] = {
    "vectorSearchConfiguration": (
        "overrideSearchType",
        "rerankingConfiguration",
        "implicitFilterConfiguration",
    ),
    "managedSearchConfiguration": ("rerankingModelType", "rerankingConfiguration"),
}
"""Options of each kind of search, beside those that slices set: the filter and the number of results."""
REQUEST_OPTIONS = ("userContext", "guardrailConfiguration")
"""Options of a request, whatever its kind of search."""


class MultiSliceRetriever:
    """Sends several queries, called slices, to a knowledge base at once and merges the results.

    With a metadata filter there are two slices: documents that match the filter, with raised scores, and all
    documents. Each further data source or rewritten query adds slices. A slice that is slow or fails loses only
    its own results.

    Args:
        bedrock_agent_client: of boto3's "bedrock-agent-runtime", or a `LocalKnowledgeBase`; None makes one
            for `AWS_REGION` with timeouts to match.
        timeout_seconds: for each slice, and so for the whole call, because slices run in parallel.
        max_slices: maximum number of slices; those with the filter, and those of the first query, come first.
        enabled: False runs one slice only, with the filter if there is one, and does not raise scores.
        filtered_score_boost: multiplies the scores of filtered slices.
        is_managed: the knowledge bases are managed ones: the request holds a `managedSearchConfiguration`.
        options: further members of each request in the service's own form, such as
            `{"overrideSearchType": "HYBRID"}`; see `SEARCH_OPTIONS` and `REQUEST_OPTIONS`.

    Attributes:
        last_report: each slice of the last call, in order: name, status, seconds, hits and error. If threads
            share a retriever, `retrieve_with_report` returns the report of each call.
    """

    def __init__(
        self,
        bedrock_agent_client: Any = None,
        timeout_seconds: float = 5.0,  # a question waits for it; a late slice is left out
        max_slices: int = 3,
        enabled: bool = True,
        filtered_score_boost: float = 1.25,  # so .75 of a filtered slice comes before .9 of an open one
        *,
        is_managed: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.timeout_seconds = check_positive(timeout_seconds, "timeout_seconds")
        check_count(max_slices, "max_slices", least=1)
        check_kind(enabled, bool, "enabled", "True or False")
        check_positive(filtered_score_boost, "filtered_score_boost")
        self._kind = "managedSearchConfiguration" if is_managed else "vectorSearchConfiguration"
        self._options = check_mapping(options, "options")
        check_names(
            self._options, (*SEARCH_OPTIONS[self._kind], *REQUEST_OPTIONS), f"options of {self._kind}"
        )
        self.max_slices = max_slices
        self.enabled = enabled
        self.filtered_score_boost = float(filtered_score_boost)
        self.last_report: tuple[PartReport, ...] = ()
        self._agent_client = bedrock_agent_client

    def __repr__(self) -> str:
        settings = f"{self.timeout_seconds}, {self.max_slices}, {self.enabled}, {self.filtered_score_boost}"
        return f"MultiSliceRetriever({self._agent_client!r}, {settings})"

    def retrieve(
        self,
        query: str,
        knowledge_base_id: str,
        data_source_id: str | None,
        metadata_filter: Mapping[str, Any] | Filter | None = None,
        num_results: int = 5,
        *,
        data_source_ids: Sequence[str] = (),
        rewrites: Sequence[str] = (),
    ) -> Results:
        """Return the best results of all slices, one per document.

        Args:
            data_source_id: only documents of this data source; None takes all.
            metadata_filter: in the style of S3 Vectors (`{"topic": {"$eq": "genealogy"}}`) or in the
                service's own form; an empty one means no filter.
            num_results: maximum number of results, 1 or more.
            data_source_ids: further data sources, each with slices of its own.
            rewrites: the query in other words, each with slices of its own.

        Returns:
            `{"score", "content", "location", "metadata"}` each, best first, equal scores by URI.

        Raises:
            FilterError: the service cannot express this filter; it is never dropped.
            KnowledgeBaseError: no slice answered. It is also an instance of the first failure's type, such as
                boto3's ClientError.
        """
        results, _ = self.retrieve_with_report(
            query, knowledge_base_id, data_source_id, metadata_filter, num_results,
            data_source_ids=data_source_ids, rewrites=rewrites,
        )  # fmt: skip
        return results

    aretrieve = async_twin(retrieve)

    def retrieve_with_report(
        self,
        query: str,
        knowledge_base_id: str,
        data_source_id: str | None,
        metadata_filter: Mapping[str, Any] | Filter | None = None,
        num_results: int = 5,
        *,
        data_source_ids: Sequence[str] = (),
        rewrites: Sequence[str] = (),
    ) -> tuple[Results, tuple[PartReport, ...]]:
        """Return the results of `retrieve`, and a report of each slice."""
        check_strings(data_source_ids, "data_source_ids")
        check_strings(rewrites, "rewrites")
        for name, text in (("query", query), *(("rewrites", rewrite) for rewrite in rewrites)):
            if not check_query(text).strip():
                raise ArgumentError(f"{name} must be a text that is not blank, got {text!r}")
        check_name(knowledge_base_id, "knowledge_base_id")
        for source in (data_source_id, *data_source_ids):
            if source is not None:
                check_name(source, "data_source_id")
        num_results = check_count(num_results, "num_results", least=1)
        tree = as_filter(metadata_filter)
        is_own = isinstance(metadata_filter, Mapping) and is_bedrock(metadata_filter)  # it is sent as written
        condition: Any = None if tree is None else metadata_filter if is_own else to_bedrock(tree)
        source_ids: list[str | None] = list(data_source_ids)
        sources = source_ids if source_ids and data_source_id is None else [data_source_id, *source_ids]
        slices: dict[str, Callable[[], Results]] = {}
        for name, filtered, text, source in _plan([query, *rewrites], sources, condition is not None):
            search: dict[str, Any] = {"numberOfResults": min(num_results, MAX_RESULTS)}
            required = [] if source is None else [{"equals": {"key": SOURCE_KEY, "value": source}}]
            if filtered and condition is not None:
                required += condition.get("andAll", [condition])
            if required:
                search["filter"] = required[0] if len(required) == 1 else {"andAll": required}
            request = {
                "knowledgeBaseId": knowledge_base_id,
                "retrievalQuery": {"text": text},
                "retrievalConfiguration": {self._kind: search | self._chosen(SEARCH_OPTIONS[self._kind])},
                **self._chosen(REQUEST_OPTIONS),
            }
            boost = self.filtered_score_boost if filtered and self.enabled else 1.0
            slices[name] = partial(self._ask, request, num_results, boost)
        slice_limit = self.max_slices if self.enabled else 1
        answers, reports = run_slices(slices, deadline=self.timeout_seconds, max_slices=slice_limit)
        self.last_report = tuple(reports)
        if not answers:
            failures = "; ".join(f"{part.name}: {part.error}" for part in reports if part.status != "skipped")
            cause = next((part.exception for part in reports if part.exception is not None), None)
            if cause is None:
                message = f"knowledge base {knowledge_base_id!r} did not answer in time ({failures})"
                raise KnowledgeBaseTimeoutError(
                    f"{message}; give a longer timeout_seconds", service="bedrock"
                )
            failure = wrapped(cause, explain(cause, knowledge_base_id))
            failure.add_note(f"no slice answered: {failures}")
            if failure is cause:
                raise cause
            raise failure from cause
        best_results = deduplicate_results([result for results in answers.values() for result in results])
        best_results.sort(key=lambda result: (-result["score"], uri_of(result) or ""))
        return best_results[:num_results], tuple(reports)

    aretrieve_with_report = async_twin(retrieve_with_report)

    def _chosen(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the options among these names."""
        return {name: value for name, value in self._options.items() if name in names}

    def _ask(self, request: Mapping[str, Any], num_results: int, boost: float) -> Results:
        """Fetch the results of one slice, page by page. Only clients made here are retried."""
        deadline = Deadline(self.timeout_seconds)
        client = self._agent_client
        if client is None:  # made within the deadline, because boto3 takes long to make one
            client = default_client("bedrock-agent-runtime", self.timeout_seconds)
        example = "a LocalKnowledgeBase or boto3.client('bedrock-agent-runtime')"
        ask = check_method(client, "retrieve", "bedrock_agent_client", example)
        results: Results = []
        tokens: list[str] = []  # of pages, the last is the next
        while len(results) < num_results and not deadline.passed():
            token_argument = {"nextToken": tokens[-1]} if tokens else {}
            try:
                page = retry.call(
                    lambda _: ask(**request, **token_argument),  # noqa: B023 - called before the next round
                    again=again_when_down,
                    retries=_RETRIES if self._agent_client is None else 0,
                    base=_BACKOFF,
                    deadline=deadline,
                    endpoint=endpoint_of(client),
                )
            except TurnError as error:
                raise KnowledgeBaseTimeoutError(str(error), service="bedrock") from error
            try:
                results += [documented(result, boost) for result in page["retrievalResults"]]
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                message = f"the service answered without retrievalResults, or with others: {error!r}"
                raise KnowledgeBaseError(message, service="bedrock") from error
            token = page.get("nextToken")
            if not token or token in tokens:
                break
            tokens.append(token)
        return results[:num_results]


def _plan(
    queries: Sequence[str], sources: Sequence[str | None], has_filter: bool
) -> Iterator[tuple[str, bool, str, str | None]]:
    """Yield slices in the order in which `max_slices` takes them: name, whether filtered, query, data source."""
    for number, query in enumerate(queries):
        for source in dict.fromkeys(sources):
            marks = [source] if source is not None and source != sources[0] else []
            marks += [f"rewrite {number}"] if number else []
            for filtered in (True, False) if has_filter else (False,):
                name = "filtered" if filtered else "unfiltered"
                yield (f"{name} ({', '.join(marks)})" if marks else name), filtered, query, source


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
            client, timeout_seconds, enabled=False, is_managed=is_managed, options=options
        )

    def __repr__(self) -> str:
        return f"KnowledgeBaseRetriever({self._base!r}, {self._source!r})"

    def retrieve(self, query: str, k: int = 10, *, filter: FilterForm = None) -> Ranking:
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
        return Ranking(best_first(items.values())[:k])

    aretrieve = async_twin(retrieve)


def item_of(result: Mapping[str, Any]) -> RetrievedItem:
    """Return a result of a knowledge base as an item of a ranking."""
    uri = uri_of(result)
    name = uri or sha256(result["content"].encode("utf-8", "replace")).hexdigest()[:16]
    metadata = {"source": uri, **result["metadata"]} if uri else result["metadata"]
    return RetrievedItem(id=name, text=result["content"], metadata=metadata, score=result["score"])
