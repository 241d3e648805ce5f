"""Ingestion: retries, batches, statuses and waiting, with a real boto3 client."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sleuth import knowledge_base as kb
from sleuth.errors import ArgumentError, KnowledgeBaseError
from sleuth.knowledge_base import ingestion
from sleuth.testing.aws import BedrockServer, encode
from sleuth.testing.serving import Reply
from tests.knowledge_base.conftest import DS, KB, Account

FAST: dict[str, Any] = {"base_delay": 0.001}


VALUES: tuple[Any, ...] = (None, "", [], ["x", 1], {"b": 1}, math.nan)
UNSUPPORTED: list[dict[str, Any]] = [
    *({"metadata": {"a": value}} for value in VALUES),
    *({"metadata": "a"}, {"metadata": {1: "a"}}, {"metadta": {"a": 1}}),
]


def failing(server: BedrockServer, code: str, message: str = "", times: int = 10**6) -> None:
    """Make the next requests fail with these errors."""
    failures = [times]

    def rule(operation: str, params: Mapping[str, Any]) -> Reply | None:
        failures[0] -= 1
        return server.error(operation, code, message) if failures[0] >= 0 else None

    server.rules.append(rule)


def documents(count: int) -> list[dict[str, Any]]:
    return [{"dataSourceId": DS, "s3": {"uri": f"s3://bucket/{number}.txt"}} for number in range(count)]


class TestStart:
    @pytest.mark.parametrize(
        ("code", "message"),
        [
            ("ConflictException", "ongoing"),
            ("ValidationException", "An ingestion job is ongoing"),
            ("ThrottlingException", ""),
            ("InternalServerException", ""),
            ("ValidationException", "There is at least one running ingestion job for the data source."),
            ("ValidationException", "Number of concurrent ingestion jobs can't exceed 1."),
            ("ValidationException", "You can\u2019t exceed 10 concurrent IngestKnowledgeBaseDocuments."),
            ("ServiceQuotaExceededException", "Too many ingestion jobs are running."),
        ],
    )
    def test_retries(self, server: BedrockServer, agent: Any, code: str, message: str) -> None:
        """Transient errors, running jobs and their limit are waited for; attempts of one call have one token."""
        failing(server, code, message, times=3)
        assert kb.ingest_documents_with_retry(KB, DS, documents(1), client=agent, **FAST)["documentDetails"]
        failing(server, code, message, times=3)
        assert kb.start_ingestion_with_retry(KB, DS, client=agent, **FAST)["status"] == "STARTING"
        tokens = [params["clientToken"] for _, params in server.calls]
        assert tokens == [tokens[0]] * 4 + [tokens[4]] * 4
        assert tokens[0] != tokens[4]

    @pytest.mark.parametrize(
        ("code", "message"),
        [
            ("ValidationException", "The data source id is malformed"),
            ("AccessDeniedException", ""),
            ("ResourceNotFoundException", ""),
            ("ServiceQuotaExceededException", ""),
        ],
    )
    def test_final_errors(self, server: BedrockServer, agent: Any, code: str, message: str) -> None:
        """A permanent error is raised at once, as the service's own error."""
        failing(server, code, message)
        with pytest.raises(ClientError) as caught:
            kb.start_ingestion_with_retry(KB, DS, client=agent, **FAST)
        assert caught.value.response["Error"]["Code"] == code
        assert len(server.calls) == 1

    @pytest.mark.parametrize("retries", [0, 1, 5])
    def test_at_most_max_retries(self, server: BedrockServer, agent: Any, retries: int) -> None:
        """After `max_retries` the service's own error is raised, so that the documented `except` matches it."""
        failing(server, "ConflictException")
        with pytest.raises(ClientError) as caught:
            kb.start_ingestion_with_retry(KB, DS, max_retries=retries, client=agent, **FAST)
        assert caught.value.response["Error"]["Code"] == "ConflictException"
        assert len(server.calls) == retries + 1

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("max_retries", -1), ("max_retries", True), ("base_delay", -1.0), ("base_delay", None), ("kb_id", ""),
            ("ds_id", None), ("client", 5),
        ],
    )  # fmt: skip
    def test_arguments(self, server: BedrockServer, agent: Any, name: str, value: Any) -> None:
        """An argument out of range, or a client of another service, raises an error that names it."""
        arguments: dict[str, Any] = {"kb_id": KB, "ds_id": DS, "client": agent, name: value}
        with pytest.raises(ArgumentError, match=name):
            kb.start_ingestion_with_retry(**arguments)

    @pytest.mark.parametrize("body", [b"", b"{}", b"<html>Sign in</html>"])
    def test_answers_of_another_form(self, server: BedrockServer, agent: Any, body: bytes) -> None:
        """An answer without a job or without the documents is a failure, which says what is missing."""
        server.rules.append(lambda *_: Reply(202, body))
        with pytest.raises(KnowledgeBaseError, match="start_ingestion_job without ingestionJob"):
            kb.start_ingestion_with_retry(KB, DS, client=agent)
        with pytest.raises(KnowledgeBaseError, match="without documentDetails"):
            kb.ingest_documents_with_retry(KB, DS, documents(1), client=agent)


class TestDocuments:
    @pytest.mark.parametrize("batches", [[1], [10], [10, 10, 3], [4, 4, 1]])
    def test_batches(
        self, server: BedrockServer, agent: Any, batches: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Documents are sent in batches of the size that the client's model allows, and each has a status."""
        shape = agent.meta.service_model._service_description["shapes"]["KnowledgeBaseDocuments"]
        monkeypatch.setitem(shape, "max", 4 if batches[0] == 4 else shape["max"])
        count = sum(batches)
        answer = kb.ingest_documents_with_retry(KB, DS, documents(count), client=agent)
        assert [len(params["documents"]) for _, params in server.calls] == batches
        assert len(answer["documentDetails"]) == count
        assert answer["ingestionJobId"]

    def test_metadata_and_own_form(self, server: BedrockServer, agent: Any) -> None:
        """Metadata become typed attributes; a document in the service's form is sent unchanged."""
        own = {"content": {"dataSourceType": "CUSTOM", "custom": {
            "customDocumentIdentifier": {"id": "note"}, "sourceType": "IN_LINE",
            "inlineContent": {"type": "TEXT", "textContent": {"data": "hello"}}}}}  # fmt: skip
        document = {"s3": {"uri": "s3://bucket/a"}, "metadata": {"a": True, "b": 2, "c": "x", "d": ["y"]}}
        kb.ingest_documents_with_retry(KB, DS, [document, own], client=agent)
        [(_, params)] = server.calls
        values = [entry["value"] for entry in params["documents"][0]["metadata"]["inlineAttributes"]]
        assert values == [
            {"type": "BOOLEAN", "booleanValue": True},
            {"type": "NUMBER", "numberValue": 2},
            {"type": "STRING", "stringValue": "x"},
            {"type": "STRING_LIST", "stringListValue": ["y"]},
        ]
        assert params["documents"][1] == own
        assert kb.check_document_status(KB, DS, "note", sleep_first=False, client=agent) == "INDEXED"

    def test_a_failure_says_what_was_accepted(self, server: BedrockServer, agent: Any) -> None:
        """An error in a later batch says how many documents were accepted."""
        replies = iter([None, server.error("IngestKnowledgeBaseDocuments", "AccessDeniedException")])
        server.rules.append(lambda *_: next(replies))
        with pytest.raises(ClientError) as caught:
            kb.ingest_documents_with_retry(KB, DS, documents(12), client=agent)
        assert caught.value.__notes__ == ["10 of 12 documents had been accepted"]

    @pytest.mark.parametrize(
        "bad",
        [
            [], [{"dataSourceId": "OTHER", "s3": {"uri": "s3://b/a"}}], [{"s3": {}}], None, iter(documents(1)),
            *([*documents(1), {"s3": {"uri": "s3://b/a"}, **more}] for more in UNSUPPORTED),
        ],
    )  # fmt: skip
    def test_arguments(self, server: BedrockServer, agent: Any, bad: Any) -> None:
        """Nothing is sent of what has an unknown member, another source, no place or unsupported metadata."""
        with pytest.raises(ArgumentError, match=r"s3://b/a'|document"):
            kb.ingest_documents_with_retry(KB, DS, bad, client=agent)
        assert server.calls == []


class TestStatus:
    def test_every_uri_has_a_key(self, server: BedrockServer, agent: Any) -> None:
        """Statuses are in the order of the URIs, in batches of the two limits; UNKNOWN stands for a missing one."""
        uris = [f"s3://bucket/{number}" for number in range(30)] + ["s3://bucket/judy.txt"]
        statuses = kb.batch_check_document_statuses(KB, DS, uris, client=agent)
        assert list(statuses) == uris
        assert statuses["s3://bucket/judy.txt"] == "INDEXED"
        kb.batch_check_document_statuses(KB, DS, uris[:12], batch_size=5, client=agent)
        sizes = [len(params["documentIdentifiers"]) for _, params in server.calls]
        assert sizes == [10, 10, 10, 1, 5, 5, 2]
        server.rules.append(lambda operation, params: Reply(200, b"{}"))
        assert set(kb.batch_check_document_statuses(KB, DS, uris, client=agent).values()) == {"UNKNOWN"}

    def test_answers_outlive_a_batch_that_fails(
        self, server: BedrockServer, agent: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The statuses of other batches are returned, and documents of the failed batch are UNKNOWN."""
        uris = ["s3://bucket/judy.txt", *(f"s3://bucket/{number}" for number in range(29))]
        refusal = server.error("GetKnowledgeBaseDocuments", "ValidationException", "bad name")
        server.rules.append(lambda _, params: refusal if repr(uris[10]) in str(params) else None)
        statuses = kb.batch_check_document_statuses(KB, DS, uris, client=agent)
        assert list(statuses) == uris
        assert [statuses[uris[at]] for at in (0, 10, 25)] == ["INDEXED", "UNKNOWN", "NOT_FOUND"]
        assert "bad name" in caplog.text
        with pytest.raises(ClientError, match="bad name"):
            kb.batch_check_document_statuses(KB, DS, uris[10:12], client=agent)

    def test_sleeping_first(self, server: BedrockServer, agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """The status of a new document is requested after a moment."""
        monkeypatch.setattr(ingestion, "SETTLE_SECONDS", 0.05)
        assert kb.check_document_status(KB, DS, "s3://bucket/judy.txt", client=agent) == "INDEXED"
        status = kb.check_document_status(KB, DS, "s3://bucket/none", sleep_first=False, client=agent)
        assert status == "NOT_FOUND"


class TestWaiting:
    @pytest.mark.parametrize("with_job", [True, False])
    def test_for_a_job(self, server: BedrockServer, account: Account, agent: Any, with_job: bool) -> None:
        """A job is polled until it is done, also where a poll is throttled; `progress` gets every response."""
        account.put("s3://bucket/new.txt", "new")
        job = kb.start_ingestion_with_retry(KB, DS, client=agent)
        failing(server, "ThrottlingException", times=1)
        statuses: list[str] = []
        status = kb.wait_for_ingestion(
            KB, DS, job["ingestionJobId"] if with_job else None,
            poll=0.001, progress=lambda response: statuses.append(response["status"]), client=agent,
        )  # fmt: skip
        assert statuses[-1] == "COMPLETE"
        assert status["statistics"]["numberOfDocumentsScanned"] == 4

    def test_for_documents(self, server: BedrockServer, account: Account, agent: Any) -> None:
        """Documents are polled until all are final; failed ones are returned, not raised."""
        account.put("s3://bucket/new.txt", "new")
        uris = ["s3://bucket/new.txt", "s3://bucket/gone.txt"]
        kb.ingest_documents_with_retry(KB, DS, [{"s3": {"uri": uri}} for uri in uris], client=agent)
        statuses = kb.wait_for_ingestion(KB, DS, s3_uris=uris, poll=0.001, client=agent)
        assert statuses == {"s3://bucket/new.txt": "INDEXED", "s3://bucket/gone.txt": "FAILED"}

    def test_failures(self, server: BedrockServer, agent: Any) -> None:
        """A stopped job, a missing job and a timeout raise errors."""
        with pytest.raises(KnowledgeBaseError, match="has no ingestion job"):
            kb.wait_for_ingestion(KB, DS, client=agent)
        job = {"knowledgeBaseId": KB, "dataSourceId": DS, "ingestionJobId": "JOB0000000"}
        times = {"startedAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"}
        for status, message in (("IN_PROGRESS", "not done within"), ("STOPPED", "is STOPPED")):
            reply = Reply(200, encode({"ingestionJob": {**job, **times, "status": status}}))
            server.rules[:] = [lambda *_, reply=reply: reply]
            with pytest.raises(KnowledgeBaseError, match=message):
                kb.wait_for_ingestion(KB, DS, "JOB0000000", timeout=0.0001, client=agent)


def test_arguments_of_statuses_are_checked(agent: Any) -> None:
    """A batch size below 1, a job with documents, a text for a list, and a poll interval of 0 raise an error."""
    with pytest.raises(ArgumentError, match="batch_size"):
        kb.batch_check_document_statuses(KB, DS, ["s3://b/a"], batch_size=0, client=agent)
    with pytest.raises(ArgumentError, match="either"):
        kb.wait_for_ingestion(KB, DS, "JOB", s3_uris=["s3://b/a"], client=agent)
    with pytest.raises(ArgumentError, match="poll"):
        kb.wait_for_ingestion(KB, DS, poll=0, client=agent)
    with pytest.raises(ArgumentError, match="s3_uris"):
        kb.wait_for_ingestion(KB, DS, s3_uris="s3://b/a", client=agent)
    with pytest.raises(ArgumentError, match="s3_uris must be a list of strings, got <list_iterator"):
        kb.batch_check_document_statuses(KB, DS, iter(["s3://b/a"]), client=agent)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="s3_uri must be a text that is not blank, got ''"):
        kb.check_document_status(KB, DS, "", sleep_first=False, client=agent)


def test_clients_are_made_from_the_environment(aws: BedrockServer) -> None:
    """Without a client, one is created for AWS_REGION, with short timeouts and one attempt."""
    assert kb.start_ingestion_with_retry(KB, DS)["status"] == "STARTING"
    from sleuth.knowledge_base.clients import default_client

    config = default_client("bedrock-agent-runtime", 5.0).meta.config
    assert (config.connect_timeout, config.read_timeout) == (2.0, 5.0)
    assert config.retries["total_max_attempts"] == 1
