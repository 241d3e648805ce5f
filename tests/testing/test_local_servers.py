"""The local servers respond as the real services do."""

import http.client
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from sleuth import Document, Engine
from sleuth.filters import from_bedrock, matches
from sleuth.knowledge_base import LocalKnowledgeBase
from sleuth.testing.aws import BedrockServer
from sleuth.testing.faults import FaultServer
from sleuth.testing.tavily import MESSAGES, TavilyServer, error, page

KB, DS = "KB12345678", "DS12345678"


@pytest.fixture(scope="module")
def bedrock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BedrockServer]:
    folder: Path = tmp_path_factory.mktemp("bedrock")
    (folder / "cats").mkdir()
    with (
        Engine.open(folder / "index", create=True) as engine,
        LocalKnowledgeBase(engine, sources={DS: folder / "cats"}) as base,
        BedrockServer(base) as server,
    ):
        engine.add([Document("a cat", {"animal": "cat", "year": 1990}, id="cat")])
        yield server


def send(
    url: str, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, Any, dict[str, str]]:
    """Send a plain request; return status, body and headers."""
    link = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        link.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = link.getresponse()
        return answer.status, json.loads(answer.read()), dict(answer.getheaders())
    finally:
        link.close()


ANIMALS = {"animal": "cat", "animals": ["dog", "cat"], "year": 1990}


class TestFiltersOfBedrock:
    @pytest.mark.parametrize(
        ("name", "key", "value", "holds"),
        [
            ("equals", "animal", "cat", True), ("equals", "animal", "dog", False),
            ("notEquals", "animal", "cat", False), ("notEquals", "missing", "cat", True),
            ("greaterThan", "year", 1989, True), ("greaterThan", "year", 1990, False),
            ("greaterThanOrEquals", "year", 1990, True), ("lessThan", "year", 1990, False),
            ("lessThanOrEquals", "year", 1990, True), ("in", "animal", ["cat", "dog"], True),
            ("notIn", "animal", ["dog", "cow"], True), ("notIn", "missing", ["dog"], False),
            ("startsWith", "animal", "ca", True), ("listContains", "animals", "cat", True),
            ("listContains", "animal", "cat", False), ("stringContains", "animal", "at", True),
            ("stringContains", "animals", "at", True), ("greaterThan", "missing", 0, False),
            ("equals", "year", True, False),
        ],
    )  # fmt: skip
    def test_documented_examples(self, name: str, key: str, value: Any, holds: bool) -> None:
        """The examples of the service's documentation, and its rules for missing keys, hold."""
        assert matches(from_bedrock({name: {"key": key, "value": value}}), ANIMALS) is holds


class TestBedrock:
    @pytest.mark.parametrize(
        ("search", "message"),
        [
            ({"numberOfResults": 0}, "numberOfResults"),
            ({"numberOfResults": 101}, "less than or equal to 100"),
            ({"filter": {"equals": {"key": "x" * 101, "value": 1}}}, "less than or equal to 100"),
            ({"filter": {"in": {"key": "a", "value": "text"}}}, "a list of at least one value"),
            ({"filter": {"greaterThan": {"key": "a", "value": "text"}}}, "a number"),
            ({"overrideSearchType": "MAGIC"}, "enum value set"),
        ],
    )
    def test_requests_are_checked(self, bedrock: BedrockServer, search: dict[str, Any], message: str) -> None:
        """A request that the model or the documentation forbids is refused by botocore or by the server."""
        client = bedrock.client("bedrock-agent-runtime")
        with pytest.raises((ClientError, ParamValidationError), match=message):
            client.retrieve(
                knowledgeBaseId=KB,
                retrievalQuery={"text": "cat"},
                retrievalConfiguration={"vectorSearchConfiguration": search},
            )

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"{", "not JSON"),
            (b"[]", "not a JSON object"),
            (b"{}", 'Missing required parameter in input: "retrievalQuery"'),
            (b'{"retrievalQuery": {"text": 5}}', "Invalid type for parameter retrievalQuery.text"),
            (
                b'{"retrievalQuery": {"text": "x"}, "retrievalConfiguration": {"vectorSearchConfiguration":'
                b'{"filter": {"andAll": [{"equals": {"key": "a", "value": 1}}]}}}}',
                "valid min length: 2",
            ),
            (
                b'{"retrievalQuery": {"text": "x"}, "retrievalConfiguration": {"vectorSearchConfiguration":'
                b'{"filter": {"equals": {"key": "a", "value": 1}, "in": {"key": "a", "value": [1]}}}}}',
                "Can only set one of the following keys",
            ),
        ],
    )
    def test_what_botocore_would_not_send_is_checked_too(
        self, bedrock: BedrockServer, body: bytes, message: str
    ) -> None:
        """Other clients get the service's errors: status, type in the header, message in the body."""
        status, answer, headers = send(
            bedrock.url, "POST", f"/knowledgebases/{KB}/retrieve", body, Authorization="AWS4-HMAC-SHA256 x"
        )
        assert (status, headers["x-amzn-ErrorType"]) == (400, "ValidationException")
        assert message in answer["message"]

    def test_requests_without_a_signature_or_an_operation(self, bedrock: BedrockServer) -> None:
        """Unsigned requests and unknown paths are refused."""
        assert send(bedrock.url, "POST", f"/knowledgebases/{KB}/retrieve", b"{}")[0] == 403
        assert send(bedrock.url, "GET", "/nowhere", Authorization="AWS4-HMAC-SHA256 x")[0] == 404

    def test_times_and_ids_are_read_by_botocore(self, bedrock: BedrockServer) -> None:
        """Responses are in the wire format of the model."""
        agent = bedrock.client("bedrock-agent")
        job = agent.start_ingestion_job(knowledgeBaseId=KB, dataSourceId=DS)["ingestionJob"]
        assert isinstance(job["startedAt"], datetime)
        summaries = agent.list_ingestion_jobs(knowledgeBaseId=KB, dataSourceId=DS)["ingestionJobSummaries"]
        assert summaries[0]["ingestionJobId"] == job["ingestionJobId"]
        with pytest.raises(agent.exceptions.ResourceNotFoundException):
            agent.start_ingestion_job(knowledgeBaseId=KB, dataSourceId="DSUNKNOWN0")


class TestTavily:
    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ({}, "Query is missing"),
            ({"query": "x" * 401}, "Max query length"),
            ({"query": "x", "max_results": 21}, "max_results"),
            ({"query": "x", "topic": "sport"}, "topic"),
        ],
    )
    def test_requests_are_checked(self, body: dict[str, Any], message: str) -> None:
        """An invalid request is a 400 with the service's body."""
        with TavilyServer([page(0)]) as server:
            status, answer, _ = send(
                server.url, "POST", "/search", json.dumps(body).encode(), Authorization="Bearer tvly-local"
            )
        assert status == 400
        assert message in answer["detail"]["error"]

    def test_keys_are_checked(self) -> None:
        """A missing or wrong key is a 401; a key in the body is accepted, as old clients send it."""
        with TavilyServer([page(0)]) as server:
            body = {"query": "climate"}
            assert send(server.url, "POST", "/search", json.dumps(body).encode())[0] == 401
            with_key = json.dumps({**body, "api_key": "tvly-local"}).encode()
            status, answer, _ = send(server.url, "POST", "/search", with_key)
            assert (status, len(answer["results"])) == (200, 1)

    @pytest.mark.parametrize("status", sorted(MESSAGES))
    def test_errors(self, status: int) -> None:
        """Errors have the documented status and body, and a `Retry-After` if requested."""
        with TavilyServer() as server:
            server.next(error(status, retry_after="7"))
            code, answer, headers = send(server.url, "POST", "/search", b"{}")
        assert (code, headers["Retry-After"]) == (status, "7")
        assert answer == {"detail": {"error": MESSAGES[status]}}


def test_faults_end_with_their_server() -> None:
    """A server of faults stops at the end of its block, with its hanging connections."""
    import socket

    with FaultServer() as server:
        parts = urlsplit(server.url("hang"))
        link = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60)
        link.sendall(b"GET /hang HTTP/1.1\r\n\r\n")
    assert link.recv(1) == b""
    link.close()
