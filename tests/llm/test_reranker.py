"""The client of reranking services against a local server that speaks the protocol of Cohere and Jina."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from sleuth import protocols
from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.llm import RemoteReranker
from sleuth.testing.serving import LocalServer, Reply, Request
from sleuth.types import RetrievedItem

KEY = "rerank-very-secret"
ITEMS = [RetrievedItem(id=f"{n}", text=f"{'moon ' * n}tide", score=1.0 - n / 10) for n in range(4)]


class RerankServer(LocalServer):
    """A server whose scores count the words of the query in each document, out of order."""

    answers: Any = None
    status = 200

    def answer(self, request: Request) -> Reply | None:
        body = json.loads(request.body)
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return Reply(401, json.dumps({"message": f"invalid api token {KEY}"}).encode())
        if self.answers is not None or self.status != 200:
            return Reply(self.status, json.dumps(self.answers).encode())
        assert set(body) == {"model", "query", "documents", "top_n"}
        scores = [text.split().count(body["query"]) / 10 for text in body["documents"]]
        results = [{"index": place, "relevance_score": score} for place, score in enumerate(scores)]
        return Reply(200, json.dumps({"id": "1", "results": results[: body["top_n"]]}).encode())


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with RerankServer() as running:
        yield running


@pytest.fixture
def reranker(server: RerankServer) -> RemoteReranker:
    return RemoteReranker("rerank-x", f"{server.url}/v2", api_key=KEY)


def test_items_are_ordered_by_the_scores(server: RerankServer, reranker: RemoteReranker) -> None:
    """One request holds all texts; items have the service's scores, best first, with an explanation."""
    assert isinstance(reranker, protocols.Reranker)
    items = reranker.rerank("moon", ITEMS)
    assert [(item.id, item.score) for item in items] == [("3", 0.3), ("2", 0.2), ("1", 0.1), ("0", 0.0)]
    assert items[0].explanation is not None
    assert items == asyncio.run(reranker.arerank("moon", ITEMS))
    assert reranker.rerank("moon", []) == []
    assert [request.path for request in server.requests] == ["/v2/rerank"] * 2


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"results": 3},
        {"results": [{"index": 4, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": None}]},
        {"results": [{"index": True, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": "nan"}]},
    ],
)
def test_an_answer_without_scores_is_refused(
    server: RerankServer, reranker: RemoteReranker, answer: object
) -> None:
    """Places that are not there or come twice, and scores that are no numbers, are an error with the answer."""
    server.answers = answer
    with pytest.raises(EmbeddingError, match="without scores of the documents"):
        reranker.rerank("moon", ITEMS)


def test_a_refused_key_is_not_shown(server: RerankServer) -> None:
    """The error names the variable of the key, and neither it nor the object shows a key."""
    wrong = RemoteReranker("rerank-x", f"{server.url}/v2", api_key="another-secret")
    with pytest.raises(EmbeddingError, match="RERANK_API_KEY") as caught:
        wrong.rerank("moon", ITEMS)
    assert "another-secret" not in f"{caught.value!r} {wrong!r}"


def test_address_and_key_come_from_the_environment(
    server: RerankServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RERANK_BASE_URL and RERANK_API_KEY are the defaults; without an address there is no client."""
    with pytest.raises(ArgumentError, match="RERANK_BASE_URL"):
        RemoteReranker("rerank-x")
    monkeypatch.setenv("RERANK_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("RERANK_API_KEY", KEY)
    assert [item.id for item in RemoteReranker("rerank-x").rerank("moon", ITEMS)] == ["3", "2", "1", "0"]
