"""Clients of other services work with the server unchanged."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cohere
import httpx
import openai
import pytest

from sleuth import Document, Engine, default_embedder
from sleuth.engine import score_hits
from sleuth.llm import RemoteReranker
from sleuth.types import RetrievedItem
from tests.surfaces.http.conftest import Local, keyed


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server with one key."""
    with keyed(tmp_path_factory.mktemp("clients"), {"client": {}}) as started:
        yield started


@pytest.fixture
def client(served: Local) -> Iterator[openai.OpenAI]:
    address, key = f"{served.url}/v1", served.keys["client"]
    with openai.OpenAI(base_url=address, api_key=key, max_retries=0) as openai_client:
        yield openai_client


def compared(type: str, key: str, value: Any) -> dict[str, Any]:
    return {"type": type, "key": key, "value": value}


def joined(type: str, *filters: dict[str, Any]) -> dict[str, Any]:
    return {"type": type, "filters": filters}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (compared("eq", "tenant", "zoo"), {"cats.md"}), (compared("lt", "year", 2021), {"bucket.md"}),
        (compared("ne", "tenant", "zoo"), {"limits.md", "bucket.md"}),
        (compared("in", "year", [2020, 1999]), {"bucket.md"}),
        (compared("nin", "year", [2020]), {"limits.md", "cats.md"}),
        (joined("and", compared("gte", "year", 2021), joined("or", compared("eq", "tenant", "acme"))), {"limits.md"}),
    ],
)  # fmt: skip
def test_openai_filters_are_applied(client: openai.OpenAI, filters: Any, expected: set[str]) -> None:
    """Each comparison, `and` and `or` select the same documents as at OpenAI."""
    page = client.vector_stores.search("index", query="tokens cats sleep day", filters=filters)
    assert {hit.file_id for hit in page.data} == expected


def test_openai_thresholds_errors_and_lists(client: openai.OpenAI) -> None:
    """A threshold omits lower scores, an unknown store is a 404, and several queries are one search."""
    whole = client.vector_stores.search("index", query=["tokens", "bucket"])
    assert sorted(hit.filename for hit in whole.data) == ["bucket.md", "cats.md", "limits.md"]
    scores = [hit.score for hit in whole.data]
    assert 1 >= scores[0] >= scores[1] >= scores[2] >= 0
    least = whole.data[0].score
    some = client.vector_stores.search(
        "index", query=["tokens", "bucket"], ranking_options={"score_threshold": least}
    )
    assert [hit.file_id for hit in some.data] == [whole.data[0].file_id]
    with pytest.raises(openai.NotFoundError, match="vector store must be"):
        client.vector_stores.search("other", query="a")
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").vector_stores.search("index", query="a")


def test_open_webui_searches_the_index_as_the_web(served: Local) -> None:
    """Its external search engine gets links, titles and snippets; a link opens the passage."""
    body = {"query": "how often are tokens refilled", "count": 2}
    hits = served.ask("client", "POST", "/v1/web_search", body).json()
    assert [set(hit) for hit in hits] == [{"link", "title", "snippet"}] * 2
    assert hits[0]["snippet"] == "Tokens are refilled every second."
    assert hits[0]["title"] == "limits.md"
    assert hits[0]["link"] == f"{served.url}/source?id=limits.md%230#cited"
    assert served.ask("", "POST", "/v1/web_search", body).status_code == 401
    refused = served.ask("client", "POST", "/v1/web_search", body | {"count": 0})
    assert (refused.status_code, "count" in refused.text) == (422, True)


def test_open_webui_connects(served: Local) -> None:
    """Models are listed, a chat is streamed, and passages are ordered: its requests, with the key of a connection."""
    (model,) = served.ask("client", "GET", "/v1/models").json()["data"]
    question = {"role": "user", "content": "how often are tokens refilled"}
    chat = {"model": model["id"], "messages": [question], "stream": True}
    stream = served.ask("client", "POST", "/v1/chat/completions", chat).text
    chunks = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    assert chunks.pop() == "[DONE]"
    deltas = [json.loads(chunk)["choices"][0]["delta"] for chunk in chunks]
    assert "Tokens are refilled every second." in "".join(delta.get("content") or "" for delta in deltas)
    body = {
        "model": "reranker",
        "query": question["content"],
        "documents": DOCUMENTS,
        "top_n": len(DOCUMENTS),
    }
    results = served.ask("client", "POST", "/v1/rerank", body).json()["results"]
    scores = [each["relevance_score"] for each in sorted(results, key=lambda each: int(each["index"]))]
    assert max(scores) == scores[2] and min(scores) == scores[1] == 0
    refused = served.ask("client", "POST", "/v1/chat/completions", chat | {"temperature": 0.5})
    assert (refused.status_code, "temperature" in refused.text) == (422, True)


def test_openai_embeds_with_the_embedder_of_the_index(client: openai.OpenAI) -> None:
    """Vectors are those of the index's embedder, as numbers or base64, in the order of the texts."""
    texts = ["tokens are refilled", "cats sleep"]
    answer = client.embeddings.create(model="sleuth", input=texts)
    plain = client.embeddings.create(model="sleuth", input=texts, encoding_format="float")
    expected = default_embedder().embed_documents(texts)
    for i in range(2):
        assert answer.data[i].embedding == pytest.approx(list(expected[i]), abs=1e-6)
        assert plain.data[i].embedding == pytest.approx(answer.data[i].embedding)
    assert answer.usage.prompt_tokens > 0
    with pytest.raises(openai.UnprocessableEntityError, match="dimensions"):
        client.embeddings.create(model="sleuth", input="a", dimensions=7)
    with pytest.raises(openai.UnprocessableEntityError, match="valid string"):
        client.embeddings.create(model="sleuth", input=[15339, 1917])


DOCUMENTS = ["Cats sleep most of the day.", "", "Tokens are refilled every second.", "A bucket holds tokens."]


def test_cohere_reranks(served: Local) -> None:
    """Clients of Cohere, ours and Open WebUI's request get places, most relevant first, with scores from 0 to 1."""
    url, key, query = served.url, served.keys["client"], "when are tokens refilled"
    items = [RetrievedItem(id=str(place), text=text) for place, text in enumerate(DOCUMENTS)]
    body = {"model": "m", "query": query, "documents": [{"text": DOCUMENTS[2]}], "return_documents": True}
    plain = served.ask("client", "POST", "/v1/rerank", body).json()
    with httpx.Client() as connections:
        new = cohere.ClientV2(api_key=key, base_url=url, httpx_client=connections)
        first = cohere.Client(api_key=key, base_url=url, httpx_client=connections)
        answer = new.rerank(model="sleuth", query=query, documents=DOCUMENTS, top_n=3)
        old = first.rerank(model="sleuth", query=query, documents=DOCUMENTS)
    for version in ("v1", "v2"):
        ours = RemoteReranker("sleuth", f"{url}/{version}", api_key=key)
        assert [item.id for item in ours.rerank(query, items)] == ["2", "3", "0", "1"]
    alone = plain["results"][0]
    assert alone["document"] == {"text": DOCUMENTS[2]}
    assert alone["relevance_score"] == answer.results[0].relevance_score  # of the document alone
    assert plain["usage"]["total_tokens"] > 0
    assert [result.index for result in answer.results] == [2, 3, 0]
    scores = [result.relevance_score for result in answer.results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert [result.index for result in old.results] == [2, 3, 0, 1]
    assert old.results[3].relevance_score == 0


def test_scores_do_not_depend_on_other_hits(tmp_path: Path) -> None:
    """A passage has the same score alone and among better hits."""
    query = "how often are tokens refilled"
    texts = ("Tokens are refilled every second.", "A bucket holds tokens.", "Cats sleep most of the day.")
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add(Document(text, {"kind": f"k{n}"}, id=f"d{n}") for n, text in enumerate(texts))

        def scores(filter: str | None) -> dict[str, float]:
            hits = engine.retrieve(query, k=3, explain=True, filter=filter)
            return dict(zip([hit.id for hit in hits], score_hits(engine, query, hits), strict=True))

        among = scores(None)
        assert 1 > among["d0#0"] > among["d1#0"] > among["d2#0"] >= 0
        for n in range(3):
            assert scores(f"kind:k{n}") == {f"d{n}#0": pytest.approx(among[f"d{n}#0"])}
        assert score_hits(engine, "", []) == []
    with Engine.open(tmp_path / "words", create=True, embedder="") as engine:
        engine.add([Document(texts[0], id="d0")])
        hits = engine.retrieve("tokens refilled", explain=True)
        assert 0 < score_hits(engine, "tokens refilled", hits)[0] < 1
