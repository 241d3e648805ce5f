"""What holds at the server's own doors holds at those of other services: keys, limits, problems, deadlines."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from sleuth import Engine
from sleuth.extensions import loaded
from sleuth.testing.ollama import OllamaServer
from tests.cluster.shards.test_sharded import lose
from tests.surfaces.http import test_code_keys, test_degraded, test_errors, test_hooks
from tests.surfaces.http.conftest import Local, keyed, serving
from tests.waiting import wait_until

client, engine = test_degraded.client, test_degraded.engine
raising, shop = test_errors.raising, test_code_keys.shop

PATHS = {path.replace(":path", "") for router in loaded("routers", object) for path in router.paths}
WRITES = {
    ("post", "/v1/files"), ("delete", "/v1/files/{file_id}"), ("post", "/v1/vector_stores"),
    ("delete", "/v1/vector_stores/{vector_store_id}"),
    ("post", "/v1/vector_stores/{vector_store_id}/files"),
    ("delete", "/v1/vector_stores/{vector_store_id}/files/{file_id}"),
    ("post", "/v1/vector_stores/{vector_store_id}/files/{file_id}"),
}  # fmt: skip
"""Operations that change the index; all others read."""

QUESTION: Any = [{"role": "user", "content": "who refills tokens of the vault?"}]
BODIES: dict[str, Any] = {
    "/retrieval": {"knowledge_id": "sleuth", "query": "tokens", "retrieval_setting": {"top_k": 1}},
    "/rerank": {"query": "tokens", "texts": ["a"]},
    "/v1/chat/completions": {"messages": QUESTION},
    "/v1/embeddings": {"input": "tokens", "model": "m"},
    "/v1/rerank": {"query": "tokens", "documents": ["a"]}, "/v1/responses": {"input": "tokens?"},
    "/v1/vector_stores": {"name": "a"},
    "/v1/vector_stores/{vector_store_id}/files": {"file_id": "cats.md"},
    "/v1/vector_stores/{vector_store_id}/files/{file_id}": {"attributes": {"n": 1}},
    "/v1/vector_stores/{vector_store_id}/search": {"query": "tokens"},
    "/v1/web_search": {"query": "tokens"}, "/v2/rerank": {"query": "tokens", "documents": ["a"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server with a key for each scope."""
    keys = {scope: {"scopes": (scope,)} for scope in ("read", "write", "metrics")}
    with keyed(tmp_path_factory.mktemp("locked"), keys) as started:
        yield started


def operations(server: Local, key: str = "") -> list[tuple[str, str]]:
    paths = server.ask(key, "GET", "/openapi.json").json()["paths"]
    return [(method, path) for path in paths if path in PATHS for method in paths[path]]


def request(server: Local, method: str, path: str, key: str = "") -> httpx.Response:
    address = path.format(vector_store_id="index:a", file_id="cats.md", model="sleuth")
    if (method, path) == ("post", "/v1/files"):
        return server.ask(key, method, address, files={"file": ("a.md", b"Efts are red.")})
    return server.ask(key, method, address, BODIES.get(path) if method == "post" else None)


def test_each_operation_needs_a_key_with_its_scope(locked: Local) -> None:
    """Without a key each is refused; a key for the counts, or for the other scope, does not open it."""
    open_to_readers = operations(locked, "read")
    assert {path for _, path in open_to_readers} == PATHS
    assert set(open_to_readers) > WRITES
    for method, path in open_to_readers:
        other = "read" if (method, path) in WRITES else "write"
        codes = [request(locked, method, path, key).status_code for key in ("", "metrics", other)]
        assert codes == [403 if path == "/retrieval" else 401, 403, 403], (method, path)


def test_a_read_only_server_changes_nothing(server: Local) -> None:
    """Each operation that changes something is refused, and no other one for that reason."""
    for method, path in operations(server):
        answer = request(server, method, path)
        is_refused = answer.status_code == 403 and answer.json().get("code") == "ReadOnlyError"
        assert is_refused is ((method, path) in WRITES), (method, path, answer.text)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "body"), [("/v1/chat/completions", {"messages": QUESTION}), ("/v1/responses", {"input": "who?"})]
)
def test_an_answer_has_the_time_of_answers(
    index: Path, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any], stream: bool
) -> None:
    """An answer that a model writes may take longer than another request."""

    def slowly(_: str) -> str:
        time.sleep(2)
        return "Every second [1]."

    with OllamaServer(reply=slowly) as model:
        monkeypatch.setenv("OLLAMA_HOST", model.url)
        with serving(index, model="llama3.1", read_only=True, deadline=1) as server:
            answer = server.client.post(path, json=body | {"stream": stream})
    assert answer.status_code == 200
    assert "file_citation" in answer.text or "url_citation" in answer.text


SETTING = {"top_k": 5, "score_threshold": 0.0}
SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/vector_stores/docs/search", {"query": "tide"}),
    ("/retrieval", {"knowledge_id": "docs", "query": "tide", "retrieval_setting": SETTING}),
]


@pytest.mark.parametrize(("path", "body"), SEARCHES)
def test_a_lost_shard_is_named(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
) -> None:
    """A header names the shard that did not answer."""
    test_degraded.test_a_lost_shard_is_named(client, engine, monkeypatch, path, body)


def test_without_any_shard_nothing_is_answered(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No door answers with an empty list: all say 503."""
    lose(engine, frozenset(range(3)), monkeypatch)
    assert {client.post(path, json=body).status_code for path, body in SEARCHES} == {503}


def test_a_folder_is_all_that_a_key_sees(shop: test_code_keys.Shop) -> None:
    """A chat has the code of the folder that its key is limited to."""
    test_code_keys.test_a_folder_is_all_that_a_key_sees(
        shop, "POST", "/v1/chat/completions", {"messages": QUESTION}, {}
    )


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/rerank", {"query": "token " * 2_000, "documents": ["a"]}),
        ("/v1/vector_stores/index/search", {"query": ["token " * 1_000, "token " * 1_000]}),
    ],
)
def test_a_query_of_more_than_10_000_characters_is_refused(raising: Local, path: str, body: Any) -> None:
    """Also one that is made of several."""
    answer = raising.client.post(path, json=body)
    assert answer.status_code in (400, 422), answer.text
    assert "10,000 characters" in answer.text or "10000 characters" in answer.text


def test_a_wrong_request_leaves_no_trace(raising: Local, caplog: pytest.LogCaptureFixture) -> None:
    """What a client does wrong is one line of the log."""
    test_errors.test_a_wrong_request_leaves_no_trace(
        raising, caplog, "POST /v1/embeddings", b'{"input": []}', 422
    )


def test_a_client_that_hangs_up_is_no_error(raising: Local, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever leaves before a file is complete makes an entry of level info alone."""
    test_errors.test_a_client_that_hangs_up_is_no_error(raising, caplog, "/v1/files")


def test_an_upload_gets_the_values_of_its_key(tmp_path: Path) -> None:
    """A file of a tenant's key is the tenant's, whatever the file says."""
    with keyed(tmp_path, {"acme": {"filter": "tenant:acme"}}) as server:
        files = {"file": ("a.md", b"---\ntenant: zoo\n---\nEfts are red.")}
        address = f"/v1/files/{server.ask('acme', 'POST', '/v1/files', files=files).json()['id']}"
        wait_until(lambda: server.ask("acme", "GET", address).json()["status"] == "processed")
        (hit,) = server.ask("acme", "POST", "/v1/search", {"query": "efts red", "k": 1}).json()["items"]
        assert hit["metadata"]["tenant"] == "acme"
        assert server.engine.count("tenant:zoo").documents == 1


guarded = test_hooks.guarded


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/vector_stores/index/search", {}),
        ("/retrieval", {"knowledge_id": "index", "retrieval_setting": {"top_k": 5, "score_threshold": 0.0}}),
    ],
)
def test_no_path_goes_around_a_permission_filter(guarded: Local, path: str, body: dict[str, Any]) -> None:
    """They show only what a plugin allows."""
    question = body | {"query": test_hooks.EVERYTHING}
    test_hooks.test_no_path_goes_around_a_permission_filter(guarded, path, question)
