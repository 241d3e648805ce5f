"""Document 001, the web: its own examples, with only the import changed, against a local server of Tavily's
API.
"""

# mypy: disable-error-code="no-untyped-def"
# The document's examples are untyped, and stand here as they are written.

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth.lexical import retrieve_local_docs
from sleuth.remote.endpoints import forget_endpoints
from sleuth.testing.tavily import TavilyServer, error, page
from sleuth.web import fuse, merge, search_web

KEYS = ["id", "content", "url", "source_type", "title", "domain"]


@pytest.fixture(autouse=True)
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[TavilyServer]:
    """Start the service, and write its key to `.env` as the document says."""
    (tmp_path / ".env").write_text("TAVILY_API_KEY=tvly-your_actual_api_key\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    monkeypatch.setattr("sleuth.web.service.BACKOFF", 0.005)
    forget_endpoints()
    pages = [page(0), *(page(number) for number in range(12))]
    with TavilyServer(pages, keys=["tvly-your_actual_api_key"]) as server:
        monkeypatch.setenv("TAVILY_BASE_URL", server.url)
        yield server


def test_basic_usage() -> None:
    """The result has num_docs, api_k, and results with six keys; api_k shows that more were requested."""
    # Basic usage
    web_docs = search_web("climate change policy", k=3)
    assert list(web_docs) == ["num_docs", "api_k", "results"]
    assert web_docs["num_docs"] == 3
    assert web_docs["api_k"] == 4  # actual max_results used (may be > k if retries bumped it)
    for number, result in enumerate(web_docs["results"]):
        assert list(result) == KEYS
        assert result["id"] == number
        assert result["source_type"] == "web"
    assert web_docs["results"][0] == {
        "id": 0, "content": "Text about climate, number 0.", "url": "https://www.site0.org/page",
        "source_type": "web", "title": "Title 0", "domain": "site0.org",
    }  # fmt: skip


def test_with_query_id() -> None:
    """With a query id the result is an entry of a web file."""
    # With query_id (returns full entry structure matching web files format)
    entry = search_web("climate change policy", k=3, query_id="query_0")
    assert list(entry) == ["id", "query", "web_docs"]
    assert (entry["id"], entry["query"]) == ("query_0", "climate change policy")
    assert entry["web_docs"] == search_web("climate change policy", k=3)


def test_combining_local_and_web_results() -> None:
    """Both kinds of document are combined; `merge` does so with distinct ids."""
    evidence = [{"id": 0, "content": "A policy on climate."}, {"id": 1, "content": "Cats sleep."}]
    query = "climate change policy"
    k_local = 5
    k_web = 3

    # Get both local and web documents
    local_docs = retrieve_local_docs(query, evidence, k=k_local)
    web_docs = search_web(query, k=k_web)

    # Combine for downstream processing
    all_docs = local_docs + web_docs
    assert all_docs == [*local_docs, *web_docs["results"]]
    assert type(all_docs) is list
    entry = search_web(query, k=k_web, query_id="query_0")
    assert local_docs + entry == all_docs
    assert web_docs + local_docs == [*web_docs["results"], *local_docs]
    all_docs = list(local_docs)
    all_docs += web_docs
    assert all_docs == local_docs + web_docs
    assert json.loads(json.dumps(web_docs)) == web_docs
    all_docs = merge(local_docs, web_docs["results"])
    assert [document["id"] for document in all_docs] == [0, 1, 2, 3]
    assert all_docs == local_docs + [{**one, "id": one["id"] + 1} for one in web_docs["results"]]
    assert {document["content"] for document in fuse(local_docs, web_docs)} == {
        one["content"] for one in all_docs
    }


def test_missing_api_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A missing API key gives the empty structure and a logged error."""
    (tmp_path / ".env").unlink()
    empty = {"num_docs": 0, "api_k": 3, "results": []}
    assert search_web("climate change policy", k=3) == empty
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "TAVILY_API_KEY" in caplog.text
    assert search_web("policy", 3, query_id="q0") == {"id": "q0", "query": "policy", "web_docs": empty}


def test_rate_limits_of_every_request(service: TavilyServer) -> None:
    """A service that refuses every first attempt is retried in each of many searches."""
    service.pages = [page(number) for number in range(12)]
    for _ in range(12):
        service.next(error(429))
        assert search_web("climate change policy", k=3)["num_docs"] == 3
