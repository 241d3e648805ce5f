"""MultiSliceRetriever: slices, filters, pages, boosts and errors."""

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import ArgumentError, FilterError, KnowledgeBaseError
from sleuth.knowledge_base import MultiSliceRetriever, deduplicate_results
from sleuth.knowledge_base.results import documented, uri_of
from sleuth.testing.aws import BedrockServer, encode
from sleuth.testing.serving import Reply
from tests.knowledge_base.conftest import DS, KB

SOURCE = {"equals": {"key": "x-amz-bedrock-kb-data-source-id", "value": DS}}
TOPIC = {"topic": {"$eq": "genealogy"}}


class Scripted:
    """A client that computes each response with a function and records the requests."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.requests: list[dict[str, Any]] = []

    def retrieve(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        response: dict[str, Any] = self._answer(request)
        return response

    def search(self, number: int) -> dict[str, Any]:
        search: dict[str, Any] = self.requests[number]["retrievalConfiguration"]["vectorSearchConfiguration"]
        return search


def result(uri: str | None, score: float = 0.5) -> dict[str, Any]:
    location = {"type": "S3", "s3Location": {"uri": uri}} if uri else {"type": "S3"}
    return {"content": {"text": f"text of {uri}"}, "location": location, "metadata": {}, "score": score}


def fixed(*results: dict[str, Any]) -> Scripted:
    return Scripted(lambda request: {"retrievalResults": list(results)})


def filters_of(client: Scripted) -> list[Any]:
    return sorted((client.search(number).get("filter") for number in range(len(client.requests))), key=str)


class TestSlices:
    @pytest.mark.parametrize(
        ("is_enabled", "filter", "conditions", "names"),
        [
            (True, None, SOURCE, ["unfiltered"]),
            (True, {}, SOURCE, ["unfiltered"]),
            (False, TOPIC, {"andAll": [SOURCE, {"equals": {"key": "topic", "value": "genealogy"}}]}, None),
        ],
    )
    def test_without_a_filter_or_disabled_it_is_one_request(
        self,
        is_enabled: bool,
        filter: dict[str, Any] | None,
        conditions: dict[str, Any],
        names: list[str] | None,
    ) -> None:
        """One request is sent, with the filter that there is, and nothing is boosted."""
        client = fixed(result("s3://b/a", 0.4))
        retriever = MultiSliceRetriever(client, enabled=is_enabled)
        assert [hit["score"] for hit in retriever.retrieve("q", KB, DS, filter)] == [0.4]
        assert filters_of(client) == [conditions]
        assert names is None or [part.name for part in retriever.last_report] == names

    @pytest.mark.parametrize("most", [1, 2, 3, 8])
    def test_max_slices(self, most: int) -> None:
        """At most `max_slices` run, filtered ones and the first query's first; the others are reported."""
        client = fixed(result("s3://b/a"))
        retriever = MultiSliceRetriever(client, max_slices=most)
        retriever.retrieve("q", KB, DS, TOPIC, data_source_ids=["DSOTHER000"], rewrites=["other words"])
        assert len(client.requests) == min(most, 8)
        names = [part.name for part in retriever.last_report]
        assert names[:4] == ["filtered", "unfiltered", "filtered (DSOTHER000)", "unfiltered (DSOTHER000)"]
        assert names[4] == "filtered (rewrite 1)" and names[-1] == "unfiltered (DSOTHER000, rewrite 1)"
        assert [part.status for part in retriever.last_report] == ["ok"] * most + ["skipped"] * (8 - most)
        assert {part.error for part in retriever.last_report[most:]} <= {f"max_slices is {most}"}

    def test_more_data_sources(self, server: BedrockServer, runtime: Any) -> None:
        """Each data source has its own request, and results come from all of them."""
        retriever = MultiSliceRetriever(runtime)
        results = retriever.retrieve("judy", KB, None, data_source_ids=[DS, "DSOTHER000"])
        assert {uri_of(result) for result in results} >= {"s3://bucket/judy.txt", "s3://other/judy.txt"}
        assert len(retriever.last_report) == 2

    def test_no_data_source_is_all_of_them(self, server: BedrockServer, runtime: Any) -> None:
        """Without a data source the whole base is searched."""
        assert len(MultiSliceRetriever(runtime).retrieve("judy", KB, None)) == 4
        assert len(MultiSliceRetriever(runtime).retrieve("judy", KB, DS)) == 3

    def test_ties_break_by_uri(self) -> None:
        """Equal scores are ordered by URI, whatever the order of arrival."""
        client = fixed(result("s3://b/c"), result("s3://b/a"), result("s3://b/b"))
        results = MultiSliceRetriever(client).retrieve("q", KB, None)
        assert [uri_of(one) for one in results] == ["s3://b/a", "s3://b/b", "s3://b/c"]


class TestFilters:
    def test_whole_filter_is_sent(self) -> None:
        """The request has all fields and operators of the filter, beside the data source, or its own form unchanged."""
        tree = {"year": {"$gte": 1, "$lt": 3}, "a": {"$ne": "x"}, "$not": {"b": "y"}}
        parts = [
            {name: {"key": key, "value": value}}
            for name, key, value in (
                ("greaterThanOrEquals", "year", 1), ("lessThan", "year", 3), ("notEquals", "a", "x"),
                ("notEquals", "b", "y"),
            )
        ]  # fmt: skip
        own = {"orAll": [{"startsWith": {"key": "a", "value": "x"}}, {"notIn": {"key": "b", "value": [1]}}]}
        for source, filter, conditions in ((DS, tree, {"andAll": [SOURCE, *parts]}), (None, own, own)):
            client = fixed()
            MultiSliceRetriever(client, enabled=False).retrieve("q", KB, source, filter)
            assert filters_of(client) == [conditions]

    def test_untranslatable_filters_are_refused(self) -> None:
        """A filter without a translation raises an error with the operator, and no request is sent."""
        client = fixed()
        with pytest.raises(FilterError, match="exists"):
            MultiSliceRetriever(client).retrieve("q", KB, DS, {"a": {"$exists": True}})
        assert client.requests == []


class TestPages:
    @pytest.mark.parametrize(("count", "requests"), [(1, 1), (5, 3), (7, 4), (100, 4)])
    def test_all_pages_are_read(self, server: BedrockServer, runtime: Any, count: int, requests: int) -> None:
        """Pages are read by `nextToken` until there are enough results, or no more."""

        def pages_of_two(operation: str, params: Mapping[str, Any]) -> Reply:
            start = int(params.get("nextToken", 0))
            page = [result(f"s3://bucket/{number}") for number in range(start, min(start + 2, 7))]
            more = {"nextToken": str(start + 2)} if start + 2 < 7 else {}
            return Reply(200, encode({"retrievalResults": page, **more}))

        server.rules.append(pages_of_two)
        results = MultiSliceRetriever(runtime).retrieve("judy", KB, DS, num_results=count)
        assert len(results) == min(count, 7)
        assert len(server.calls) == requests

    def test_more_than_the_service_gives_at_once(self) -> None:
        """One request asks for at most 100 results."""
        client = fixed()
        MultiSliceRetriever(client).retrieve("q", KB, None, num_results=250)
        assert client.search(0)["numberOfResults"] == 100

    def test_a_service_that_never_ends_is_left(self) -> None:
        """A service with endless tokens costs at most the deadline; a token that comes again is the end."""
        endless = Scripted(
            lambda request: {"retrievalResults": [], "nextToken": request.get("nextToken", "") + "1"}
        )
        with suppress(KnowledgeBaseError):  # the slice and its deadline end at one moment
            assert MultiSliceRetriever(endless, timeout_seconds=0.1).retrieve("q", KB, None) == []
        assert len(endless.requests) > 2
        again = Scripted(lambda request: {"retrievalResults": [result("s3://b/a")], "nextToken": "again"})
        assert len(MultiSliceRetriever(again).retrieve("q", KB, None, num_results=50)) == 1
        assert len(again.requests) == 2


class TestErrors:
    def test_unknown_knowledge_base(self, server: BedrockServer, runtime: Any) -> None:
        """An unknown base raises an error that names it and is of Sleuth's and of boto3's types."""
        from botocore.exceptions import ClientError

        with pytest.raises(KnowledgeBaseError, match="'KB00000000' was not found") as caught:
            MultiSliceRetriever(runtime).retrieve("q", "KB00000000", None)
        assert isinstance(caught.value, ClientError)
        assert isinstance(caught.value, runtime.exceptions.ResourceNotFoundException)
        assert caught.value.response["Error"]["Code"] == "ResourceNotFoundException"
        assert caught.value.status == 404

    def test_ids_that_aws_cannot_have(self, server: BedrockServer, runtime: Any) -> None:
        """boto3's parameter check is reported in one line."""
        with pytest.raises(KnowledgeBaseError, match="'KB123' was not asked: Invalid length"):
            MultiSliceRetriever(runtime).retrieve("q", "KB123", None)

    @pytest.mark.parametrize(
        ("settings", "arguments"),
        [
            *(({name: value}, {}) for name, value in (
                ("timeout_seconds", 0), ("timeout_seconds", float("nan")), ("max_slices", 0), ("max_slices", True),
                ("filtered_score_boost", 0), ("filtered_score_boost", float("inf")), ("options", 5), ("enabled", "no"),
                ("bedrock_agent_client", 5),
            )),
            *(({}, {name: value}) for name, value in (
                ("query", " "), ("num_results", 0), ("knowledge_base_id", ""), ("data_source_id", ""),
                ("data_source_id", 5), ("data_source_ids", None), ("data_source_ids", [5]), ("data_source_ids", DS),
                ("rewrites", [None]), ("rewrites", [""]),
            )),
        ],
    )  # fmt: skip
    def test_settings_and_arguments(self, settings: dict[str, Any], arguments: dict[str, Any]) -> None:
        """A setting or an argument out of range raises an error that names it."""
        values = {"query": "q", "knowledge_base_id": KB, "data_source_id": DS, **arguments}
        with pytest.raises(ArgumentError, match=next(iter({**settings, **arguments}))):
            MultiSliceRetriever(settings.pop("bedrock_agent_client", fixed()), **settings).retrieve(**values)

    def test_no_credentials(self, server: BedrockServer, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without credentials the error says what to set."""
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        with pytest.raises(KnowledgeBaseError, match="no AWS credentials were found"):
            MultiSliceRetriever().retrieve("q", KB, DS)

    def test_errors_of_other_kinds_are_raised_as_they_are(self) -> None:
        """An exception that is not a failure of the service is raised unchanged."""

        def broken(request: Mapping[str, Any]) -> dict[str, Any]:
            raise ZeroDivisionError("a bug")

        with pytest.raises(ZeroDivisionError, match="a bug") as caught:
            MultiSliceRetriever(Scripted(broken)).retrieve("q", KB, DS, TOPIC)
        assert "filtered: a bug; unfiltered: a bug" in caught.value.__notes__[0]

    @pytest.mark.parametrize(
        "results", [None, [None], *([{"score": bad}] for bad in ("high", math.nan, True))]
    )
    def test_an_answer_of_another_form(self, results: Any) -> None:
        """A malformed response is a failure, not an empty result or one without an order."""
        client = Scripted(lambda request: {"retrievalResults": results})
        with pytest.raises(KnowledgeBaseError, match="without retrievalResults, or with others"):
            MultiSliceRetriever(client).retrieve("q", KB, DS)


URIS = st.one_of(st.none(), st.sampled_from(["s3://b/a", "s3://b/b", "s3://b/c"]))


class TestResults:
    @given(st.lists(st.tuples(URIS, st.sampled_from([0.0, 0.25, 0.5, 1.0]))))
    def test_deduplicate(self, pairs: list[tuple[str | None, float]]) -> None:
        """For each URI the first result with the highest score stays, results without a URI all stay, and the input is
        unchanged.
        """
        results = [result(uri, score) for uri, score in pairs]
        unique = deduplicate_results(results)
        for uri in {uri for uri, _ in pairs if uri}:
            scores = [score for other, score in pairs if other == uri]
            first = next(one for one in results if uri_of(one) == uri and one["score"] == max(scores))
            assert [id(one) for one in unique if uri_of(one) == uri] == [id(first)]
        assert sum(uri_of(one) is None for one in unique) == sum(uri is None for uri, _ in pairs)
        assert [one["score"] for one in unique] == sorted((one["score"] for one in unique), reverse=True)
        assert deduplicate_results(iter(unique)) == unique
        assert results == [result(uri, score) for uri, score in pairs]

    @pytest.mark.parametrize(
        "bad", [None, 5, "a", [None], [result("s3://b/a", math.nan)], [{"score": "high"}]]
    )
    def test_other_things_than_results(self, bad: Any) -> None:
        """Something else than dicts, and a score that is not a finite number, raises an error that names it."""
        with pytest.raises(ArgumentError, match=r"(results|score) must be"):
            deduplicate_results(bad)

    @pytest.mark.parametrize(
        "location",
        [
            {"type": "WEB", "webLocation": {"url": "u"}},
            {"type": "CONFLUENCE", "confluenceLocation": {"url": "u"}},
            {"type": "SALESFORCE", "salesforceLocation": {"url": "u"}},
            {"type": "SHAREPOINT", "sharePointLocation": {"url": "u"}},
            {"type": "CUSTOM", "customDocumentLocation": {"id": "u"}},
            {"type": "KENDRA", "kendraDocumentLocation": {"uri": "u"}},
            {"type": "SQL", "sqlLocation": {"query": "u"}},
            {"type": "S3", "s3Location": {"uri": "u"}},
        ],
    )
    def test_every_kind_of_place(self, location: dict[str, Any]) -> None:
        """Each type of location has its own address."""
        assert uri_of({"location": location}) == "u"

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            ({"text": "t", "type": "TEXT"}, "t"),
            ("t", "t"),
            ({"type": "AUDIO", "audio": {"s3Uri": "s3://b/a", "transcription": "t"}}, "t"),
            ({"type": "VIDEO", "video": {"s3Uri": "s3://b/a", "summary": "t"}}, "t"),
            ({"type": "ROW", "row": [{"columnName": "a", "columnValue": "1"}]}, "a: 1"),
            ({"type": "IMAGE", "byteContent": "data:..."}, ""),
            (None, ""),
        ],
    )  # fmt: skip
    def test_content_is_text(self, content: Any, text: str) -> None:
        """The content of every type of result is a str."""
        assert documented({"content": content})["content"] == text
