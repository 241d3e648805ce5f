"""Keys: authentication, scopes and filters."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sleuth import Engine
from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.serve import extensions
from sleuth.surfaces.http import add_key
from sleuth.surfaces.http.keys import read_entries, remove_key, rotate_key
from tests.waiting import wait_until

from .conftest import Local, make_index, serving


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Local, dict[str, str]]]:
    """Run a server with keys by name: `all`, `reader`, and `acme`, which is limited to that tenant."""
    folder = tmp_path_factory.mktemp("guarded")
    file = folder / "keys.json"
    keys = {
        "all": add_key(file, "all"),
        "reader": add_key(file, "reader", ("read",)),
        "acme": add_key(file, "acme", filter="tenant:acme"),
    }
    with serving(make_index(folder / "index"), keys=file) as started:
        yield started, keys


def ask(
    guarded: tuple[Local, dict[str, str]], key: str, method: str, path: str, body: Any = None
) -> httpx.Response:
    server, keys = guarded
    headers = {"authorization": f"Bearer {keys.get(key, key)}"} if key else {}
    return server.client.request(method, path, json=body, headers=headers)


def test_only_hashes_are_kept(tmp_path: Path) -> None:
    """The file contains no key, only its owner can read it, and names are unique."""
    file = tmp_path / "keys.json"
    token = add_key(file, "a")
    assert token not in file.read_text()
    assert len(token) > 40
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ArgumentError, match="name must be new"):
        add_key(file, "a")
    with pytest.raises(ArgumentError, match=r"scopes.0 must be 'read', 'write' or 'metrics', got 'admin'"):
        add_key(file, "b", ("admin",))
    remove_key(file, "a")
    assert read_entries(file) == []


@pytest.mark.parametrize(("key", "code"), [("", "KeyMissingError"), ("sleuth_wrong", "KeyUnknownError")])
def test_strangers_are_refused(guarded: Any, key: str, code: str) -> None:
    """Without a valid key every route except health is refused, including metrics and the OpenAPI document."""
    for path in ("/v1/status", "/metrics", "/openapi.json", "/nothing"):
        answer = ask(guarded, key, "GET", path)
        assert (answer.status_code, answer.json()["code"]) == (401, code)
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert ask(guarded, key, "GET", "/livez").status_code == 200
    assert ask(guarded, key, "GET", "/readyz").status_code in {200, 503}  # 503 while it warms


def test_scopes_limit_what_a_key_does(guarded: Any) -> None:
    """A key with the read scope can search and cannot change anything."""
    assert ask(guarded, "reader", "POST", "/v1/search", {"query": "cats"}).json()["items"]
    refused = ask(guarded, "reader", "POST", "/v1/documents/delete", {"ids": ["cats.md"]})
    assert (refused.status_code, refused.json()["code"]) == (403, "ScopeError")


def test_a_tenant_sees_and_changes_its_own_alone(guarded: Any) -> None:
    """The filter of a key applies to searches, answers, reading, listing, counts, facets, adding and deleting."""
    assert {
        hit["metadata"]["tenant"]
        for hit in ask(guarded, "acme", "POST", "/v1/search", {"query": "cats sleep tokens"}).json()["items"]
    } == {"acme"}
    other = ask(guarded, "acme", "POST", "/v1/search", {"query": "cats", "filter": "tenant:zoo"})
    assert other.json()["items"] == []
    answer = ask(guarded, "acme", "POST", "/v1/ask", {"query": "how long do cats sleep?", "passages": True})
    assert "Cats" not in json.dumps(answer.json()["items"])
    assert ask(guarded, "acme", "GET", "/v1/documents/cats.md").status_code == 404
    assert ask(guarded, "acme", "DELETE", "/v1/documents/cats.md").status_code == 404
    documents = ask(guarded, "acme", "GET", "/v1/documents").json()["documents"]
    assert [document["id"] for document in documents] == ["bucket.md", "limits.md"]
    assert ask(guarded, "acme", "POST", "/v1/count", {}).json() == {"documents": 2, "passages": 2}
    facets = ask(guarded, "acme", "POST", "/v1/facets", {"keys": ["tenant"]}).json()["facets"]
    assert facets == {"tenant": [{"value": "acme", "documents": 2}]}
    for document in (
        {"text": "Planted.", "id": "new.md", "metadata": {"tenant": "zoo"}},
        {"text": "Planted in both.", "id": "new.md", "metadata": {"tenant": ["acme", "zoo"]}},
    ):
        refused = ask(guarded, "acme", "POST", "/v1/documents", {"documents": [document]})
        assert refused.status_code == 422, refused.text
    own = {"text": "A bucket of cats.", "id": "cats.md", "metadata": {"tenant": "acme"}}
    report = ask(guarded, "acme", "POST", "/v1/documents", {"documents": [own]}).json()
    assert (report["added"], report["updated"], report["ids"]) == (1, 0, ["cats.md"])
    assert ask(guarded, "acme", "GET", "/v1/documents/cats.md").json()["passages"][0]["text"] == own["text"]
    assert ask(guarded, "acme", "DELETE", "/v1/documents/cats.md").json() == {"ids": ["cats.md"]}
    response = ask(guarded, "acme", "POST", "/v1/documents/update", {"ids": ["cats.md"], "changes": {"a": 1}})
    assert response.json()["ids"] == []
    for changes in ({"tenant": "zoo"}, {"tenant": None}, {"tenant": ["acme", "zoo"]}):
        for selection in ({"ids": ["bucket.md"]}, {"filter": "year:2020"}):
            body = {**selection, "changes": changes}
            refused = ask(guarded, "acme", "POST", "/v1/documents/update", body)
            assert (refused.status_code, refused.json()["code"]) == (422, "ArgumentError")
    assert ask(guarded, "all", "POST", "/v1/count", {"filter": "tenant:zoo"}).json()["documents"] == 1
    for path in ("/v1/status", "/metrics", "/v1/code/repositories"):
        assert ask(guarded, "acme", "GET", path).status_code == 403
        assert ask(guarded, "all", "GET", path).status_code in {200, 404}
    assert report["version"] is None
    assert ask(guarded, "all", "GET", "/v1/documents/cats.md").status_code == 200


def test_a_keys_file_that_is_moved_away_lets_nobody_in(tmp_path: Path) -> None:
    """Without its file no key is valid; when the same file comes back, its keys are valid again."""
    file, aside = tmp_path / "keys.json", tmp_path / "aside.json"
    token = add_key(file, "a")
    with serving(make_index(tmp_path / "index"), keys=file) as started:

        def status() -> int:
            headers = {"authorization": f"Bearer {token}"}
            return started.client.get("/v1/status", headers=headers).status_code

        assert status() == 200
        file.rename(aside)
        wait_until(lambda: status() == 401)
        aside.rename(file)
        wait_until(lambda: status() == 200)


@pytest.mark.parametrize(
    "damage", ["{", '{"keys": [{"name": "a"}]}', "[" * 100_000, '{"keys": 3}'], ids=range(4)
)
def test_a_keys_file_that_is_malformed_lets_nobody_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    """While the file cannot be read no key is valid, the log says why and the server is not ready; then all is well."""
    file = tmp_path / "keys.json"
    token = add_key(file, "a")
    whole = file.read_bytes()
    with serving(make_index(tmp_path / "index"), keys=file) as started:
        headers = {"authorization": f"Bearer {token}"}

        def status() -> tuple[int, int]:
            code = started.client.get("/v1/status", headers=headers).status_code
            return code, started.client.get("/readyz").status_code

        wait_until(lambda: status() == (200, 200))
        file.write_text(damage)
        wait_until(lambda: status() == (401, 503))
        assert started.client.get("/readyz").json()["code"] == "KeysError"
        assert str(file) not in started.client.get("/readyz").text
        assert "no key is valid: keys must be a file that" in caplog.text
        file.write_bytes(whole)
        wait_until(lambda: status() == (200, 200))


def test_a_tenant_is_not_told_why_a_leg_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each way in a key with a filter sees that a leg failed, and not why; a key without one sees why."""
    file = tmp_path / "keys.json"
    tokens = {"acme": add_key(file, "acme", filter="tenant:acme"), "all": add_key(file, "all")}
    with serving(make_index(tmp_path / "index"), keys=file, extensions=extensions()) as started:

        def down(text: str) -> None:
            raise ConnectionError("http://10.0.0.5:11434 refused")

        monkeypatch.setattr(started.engine.embedder, "embed_query", down, raising=False)
        for name, token in tokens.items():
            headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
            arguments = {"name": "search", "arguments": {"query": "tokens refilled"}}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
            answers = {
                "search": started.client.post(
                    "/v1/search", json={"query": "tokens refilled"}, headers=headers
                ),
                "ask": started.client.post("/v1/ask", json={"query": "tokens refilled"}, headers=headers),
                "page": started.client.get("/", params={"q": "tokens refilled"}, headers=headers),
                "mcp": started.client.post("/mcp", json=call, headers=headers),
            }
            for way, answer in answers.items():
                assert answer.status_code == 200, (way, answer.text)
                assert "dense" in answer.text, way
                assert ("10.0.0.5" in answer.text) is (name == "all"), (way, answer.text)


def test_a_tenant_is_not_told_what_fails_in_the_server(tmp_path: Path) -> None:
    """A failure names files and processes to a key without a filter alone; the log has it for both."""
    file = tmp_path / "keys.json"
    keys = {"all": add_key(file, "all"), "acme": add_key(file, "acme", filter="tenant:acme")}
    index = make_index(tmp_path / "index")
    document = {"documents": [{"text": "More.", "metadata": {"tenant": "acme"}}]}
    with (
        serving(index, keys=file, deadline=1.0) as started,
        Engine.open(index) as other,
        other.store.writer(),
    ):
        for name, has_details in (("all", True), ("acme", False)):
            answer = ask((started, keys), name, "POST", "/v1/documents", document)
            assert (answer.status_code, answer.json()["code"]) == (503, "IndexLockedError")
            assert (str(os.getpid()) in answer.text) is has_details
            assert ("its log has the request id" in answer.text) is not has_details


def test_sources_of_a_tenant(tmp_path: Path) -> None:
    """A key with a filter is not offered code, and other sources are fused with the documents of its view."""
    file = tmp_path / "keys.json"
    keys = {name: add_key(file, name, filter=f"tenant:{name}") for name in ("acme", "zoo")}
    with serving(make_index(tmp_path / "index"), keys=file, sources=("docs", "code", "web")) as started:
        refused = ask((started, keys), "acme", "POST", "/v1/search", {"query": "cats", "sources": ["code"]})
        assert (refused.status_code, "docs, web, got 'code'" in refused.text) == (422, True)
        answer = ask(
            (started, keys), "acme", "POST", "/v1/search", {"query": "cats tokens", "explain": True}
        ).json()
        assert {item["metadata"]["tenant"] for item in answer["items"]} == {"acme"}
        other = ask((started, keys), "zoo", "POST", "/v1/search", {"query": "cats tokens"}).json()
        assert [item["id"] for item in other["items"]] == ["cats.md#0"]
        explained = json.dumps([item["explanation"] for item in answer["items"]])
        assert '"terms": 1,' in explained
        assert '"terms": 2,' not in explained
    with serving(tmp_path / "index", keys=file, sources=("code",)) as started:
        refused = ask((started, keys), "acme", "POST", "/v1/search", {"query": "cats"})
        assert (refused.status_code, refused.json()["code"]) == (403, "ScopeError")


def test_completions_of_a_tenant(tmp_path: Path) -> None:
    """A key with a filter completes words of its own documents; without documents nothing is completed."""
    file = tmp_path / "keys.json"
    keys = {name: add_key(file, name, filter=f"tenant:{name}") for name in ("acme", "zoo")}
    with serving(make_index(tmp_path / "index"), keys=file) as started:
        texts = {
            name: [
                each["text"]
                for each in ask((started, keys), name, "GET", "/v1/suggest?q=c").json()["suggestions"]
            ]
            for name in keys
        }
        assert "cats" in " ".join(texts["zoo"])
        assert "cats" not in " ".join(texts["acme"])
        assert started.client.get("/v1/suggest?q=c").status_code == 401
    with serving(tmp_path / "index", sources=("web",)) as started:
        assert started.client.get("/v1/suggest?q=c").json() == {"suggestions": []}


def test_a_key_ends(tmp_path: Path) -> None:
    """A key is refused from its end on; a session of it ends as well. A time that is none is refused."""
    file = tmp_path / "keys.json"
    token = add_key(file, "past", expires="2020-01-31")
    later = add_key(file, "later", expires="2999-12-31T12:00:00+02:00")
    with pytest.raises(ArgumentError, match=r"expires must be a valid date.* got 'soon'"):
        add_key(file, "other", expires="soon")
    with serving(make_index(tmp_path / "index"), keys=file, extensions=extensions()) as server:
        ended, valid = (
            server.client.get("/v1/status", headers={"authorization": f"Bearer {key}"})
            for key in (token, later)
        )
        assert (ended.status_code, valid.status_code) == (401, 200)
        assert ended.json()["detail"].endswith("or has ended")
        assert server.client.post("/sign-in", data={"key": token, "next": "/"}).status_code == 403


def test_a_rotated_key_replaces_the_old_one(tmp_path: Path) -> None:
    """A running server takes the new key and refuses the old one, with the same rights."""
    file = tmp_path / "keys.json"
    old = add_key(file, "ann", ("read",), "tenant:acme", rate=100)
    with serving(make_index(tmp_path / "index"), keys=file) as server:

        def status(key: str) -> int:
            return server.client.get("/v1/documents", headers={"authorization": f"Bearer {key}"}).status_code

        assert status(old) == 200
        new = rotate_key(file, "ann")
        wait_until(lambda: status(new) == 200)
        assert status(old) == 401
    (entry,) = read_entries(file)
    assert (entry.scopes, entry.filter, entry.rate) == (["read"], "tenant:acme", 100)
    with pytest.raises(ArgumentError, match="name must be among ann, got 'bob'"):
        rotate_key(file, "bob")


def test_a_key_has_a_rate(tmp_path: Path) -> None:
    """After so many requests the next one is a 429 that says when to try again; other keys go on."""
    file = tmp_path / "keys.json"
    slow, fast = add_key(file, "slow", rate=2), add_key(file, "fast")
    with pytest.raises(ArgumentError, match="rate must be greater than or equal to 1, got 0"):
        add_key(file, "none", rate=0)
    with serving(make_index(tmp_path / "index"), keys=file) as server:

        def ask_with(key: str) -> httpx.Response:
            return server.client.get("/v1/status", headers={"authorization": f"Bearer {key}"})

        assert [ask_with(slow).status_code for _ in range(3)] == [200, 200, 429]
        refused = ask_with(slow)
        assert refused.json()["code"] == "RateError"
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert ask_with(fast).status_code == 200


def test_a_key_for_metrics_reads_nothing_else(tmp_path: Path) -> None:
    """Its owner gets the counts, and neither documents nor the state of the index."""
    file = tmp_path / "keys.json"
    headers = {"authorization": f"Bearer {add_key(file, 'prometheus', ('metrics',))}"}
    with serving(make_index(tmp_path / "index"), keys=file, extensions=extensions()) as server:
        assert "sleuth_requests_total" in server.client.get("/metrics", headers=headers).text
        for path in ("/v1/status", "/v1/documents", "/contents"):
            assert server.client.get(path, headers=headers).status_code in (401, 403)
        assert server.client.post("/v1/ask", json={"query": "tokens"}, headers=headers).status_code == 403
