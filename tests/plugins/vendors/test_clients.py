"""Clients of other services work with the server unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from sleuth import Document, Engine
from sleuth.engine import score_hits
from sleuth.llm import RemoteReranker
from sleuth.surfaces.http import add_key
from sleuth.types import RetrievedItem
from tests.surfaces.http.conftest import Local, make_index, serving

if TYPE_CHECKING:
    import openai


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Local, str]]:
    """Run a server with one key."""
    folder = tmp_path_factory.mktemp("clients")
    key = add_key(folder / "keys.json", "client")
    with serving(make_index(folder / ".sleuth"), keys=folder / "keys.json") as started:
        yield started, key


@pytest.fixture
def client(served: tuple[Local, str]) -> Iterator[openai.OpenAI]:
    import openai

    server, key = served
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0) as openai_client:
        yield openai_client


def test_openai_searches_the_index_as_a_vector_store(client: openai.OpenAI) -> None:
    """Hits have document id, file name, attributes and a score between 0 and 1, best first."""
    page = client.vector_stores.search("sleuth", query="how often are tokens refilled", max_num_results=2)
    first = page.data[0]
    assert (first.file_id, first.filename) == ("limits.md", "limits.md")
    assert first.content[0].text == "Tokens are refilled every second."
    assert first.attributes is not None
    assert first.attributes["year"] == 2021
    assert [hit.score for hit in page.data] == sorted((hit.score for hit in page.data), reverse=True)
    assert all(0 <= hit.score <= 1 for hit in page.data)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"type": "eq", "key": "tenant", "value": "zoo"}, {"cats.md"}),
        ({"type": "ne", "key": "tenant", "value": "zoo"}, {"limits.md", "bucket.md"}),
        ({"type": "lt", "key": "year", "value": 2021}, {"bucket.md"}),
        ({"type": "in", "key": "year", "value": [2020, 1999]}, {"bucket.md"}),
        ({"type": "nin", "key": "year", "value": [2020]}, {"limits.md", "cats.md"}),
        (
            {
                "type": "and",
                "filters": [
                    {"type": "gte", "key": "year", "value": 2021},
                    {"type": "or", "filters": [{"type": "eq", "key": "tenant", "value": "acme"}]},
                ],
            },
            {"limits.md"},
        ),
    ],
)
def test_openai_filters_are_applied(client: openai.OpenAI, filters: Any, expected: set[str]) -> None:
    """Each comparison, `and` and `or` select the same documents as at OpenAI."""
    page = client.vector_stores.search("sleuth", query="tokens cats sleep day", filters=filters)
    assert {hit.file_id for hit in page.data} == expected


def test_openai_thresholds_errors_and_lists(client: openai.OpenAI) -> None:
    """A threshold omits lower scores, an unknown store is a 404, and several queries are one search."""
    whole = client.vector_stores.search("sleuth", query=["tokens", "bucket"])
    assert len(whole.data) == 3
    least = whole.data[0].score
    some = client.vector_stores.search(
        "sleuth", query=["tokens", "bucket"], ranking_options={"score_threshold": least}
    )
    assert [hit.file_id for hit in some.data] == [whole.data[0].file_id]
    from openai import AuthenticationError, NotFoundError

    with pytest.raises(NotFoundError, match="vector store must be"):
        client.vector_stores.search("other", query="a")
    with pytest.raises(AuthenticationError):
        client.with_options(api_key="wrong").vector_stores.search("sleuth", query="a")


def test_open_webui_searches_the_index_as_the_web(served: tuple[Local, str]) -> None:
    """Its external search engine gets links, titles and snippets; a link opens the passage."""
    server, key = served
    headers = {"authorization": f"Bearer {key}", "user-agent": "Open WebUI RAG Bot"}
    body = {"query": "how often are tokens refilled", "count": 2}
    hits = server.client.post("/v1/web_search", json=body, headers=headers).json()
    assert [set(hit) for hit in hits] == [{"link", "title", "snippet"}] * 2
    assert hits[0]["snippet"] == "Tokens are refilled every second."
    assert hits[0]["title"] == "limits.md"
    assert hits[0]["link"] == f"{server.url}/source?id=limits.md%230#cited"
    assert server.client.post("/v1/web_search", json=body).status_code == 401


def test_openai_embeds_with_the_embedder_of_the_index(
    client: openai.OpenAI, served: tuple[Local, str]
) -> None:
    """Vectors are those of the index's embedder, as numbers or base64, in the order of the texts."""
    texts = ["tokens are refilled", "cats sleep"]
    answer = client.embeddings.create(model="sleuth", input=texts)
    plain = client.embeddings.create(model="sleuth", input=texts, encoding_format="float")
    from openai import UnprocessableEntityError

    from sleuth import default_embedder

    expected = default_embedder().embed_documents(texts)
    for i in range(2):
        assert answer.data[i].embedding == pytest.approx(list(expected[i]), abs=1e-6)
        assert plain.data[i].embedding == pytest.approx(answer.data[i].embedding)
    assert answer.usage.prompt_tokens > 0
    with pytest.raises(UnprocessableEntityError, match="dimensions"):
        client.embeddings.create(model="sleuth", input="a", dimensions=7)


def test_arrays_of_tokens_are_refused(client: openai.OpenAI) -> None:
    """The embedder of the index reads texts."""
    from openai import UnprocessableEntityError

    with pytest.raises(UnprocessableEntityError, match="valid string"):
        client.embeddings.create(model="sleuth", input=[15339, 1917])


DOCUMENTS = ["Cats sleep most of the day.", "", "Tokens are refilled every second.", "A bucket holds tokens."]


def test_cohere_reranks(served: tuple[Local, str]) -> None:
    """Clients of Cohere, ours and Open WebUI's request get places, most relevant first, with scores from 0 to 1."""
    import cohere

    server, key = served
    items = [RetrievedItem(id=str(place), text=text) for place, text in enumerate(DOCUMENTS)]
    body = {"model": "m", "query": "when are tokens refilled", "documents": [{"text": DOCUMENTS[2]}]}
    with httpx.Client(headers={"authorization": f"Bearer {key}"}) as connections:
        plain = connections.post(f"{server.url}/v1/rerank", json=body | {"return_documents": True}).json()
        new = cohere.ClientV2(api_key=key, base_url=server.url, httpx_client=connections)
        first = cohere.Client(api_key=key, base_url=server.url, httpx_client=connections)
        answer = new.rerank(model="sleuth", query="when are tokens refilled", documents=DOCUMENTS, top_n=3)
        old = first.rerank(model="sleuth", query="when are tokens refilled", documents=DOCUMENTS)
    for version in ("v1", "v2"):
        ours = RemoteReranker("sleuth", f"{server.url}/{version}", api_key=key)
        reranked = ours.rerank("when are tokens refilled", items)
        assert [item.id for item in reranked] == ["2", "3", "0", "1"]
    assert plain["results"][0]["document"] == {"text": DOCUMENTS[2]}
    assert (
        plain["results"][0]["relevance_score"] == answer.results[0].relevance_score
    )  # of the document alone
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
