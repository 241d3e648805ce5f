"""Keys: authentication, scopes and filters; and sessions, signed values that stand for a key in a cookie."""

import base64
import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sleuth import Engine
from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.serve import extensions
from sleuth.surfaces.http import add_key
from sleuth.surfaces.http.keys import (
    SECONDS,
    KeyFile,
    Sessions,
    read_keys,
    remove_key,
    rotate_key,
    write_secret,
)
from tests.waiting import wait_until

from .conftest import Local, break_embedder, keyed, serving

TENANTS = {name: {"filter": f"tenant:{name}"} for name in ("acme", "zoo")}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server with keys by name: `all`, `reader`, and `acme`, which is limited to that tenant."""
    keys: dict[str, dict[str, Any]] = {"all": {}, "reader": {"scopes": ["read"]}, "acme": TENANTS["acme"]}
    with keyed(tmp_path_factory.mktemp("guarded"), keys) as started:
        yield started


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
    assert read_keys(file) == []


@pytest.mark.parametrize(("key", "code"), [("", "KeyMissingError"), ("sleuth_wrong", "KeyUnknownError")])
def test_strangers_are_refused(guarded: Local, key: str, code: str) -> None:
    """Without a valid key every route except health is refused, including metrics and the OpenAPI document."""
    for path in ("/v1/status", "/metrics", "/openapi.json", "/nothing"):
        answer = guarded.ask(key, "GET", path)
        assert (answer.status_code, answer.json()["code"]) == (401, code)
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert guarded.ask(key, "GET", "/livez").status_code == 200
    assert guarded.ask(key, "GET", "/readyz").status_code in {200, 503}  # 503 while it warms


def test_scopes_limit_what_a_key_does(guarded: Local) -> None:
    """A key with the read scope can search and cannot change anything."""
    assert guarded.ask("reader", "POST", "/v1/search", {"query": "cats"}).json()["items"]
    refused = guarded.ask("reader", "POST", "/v1/documents/delete", {"ids": ["cats.md"]})
    assert (refused.status_code, refused.json()["code"]) == (403, "ScopeError")


def test_a_tenant_sees_and_changes_its_own_alone(guarded: Local) -> None:
    """The filter of a key applies to searches, answers, reading, listing, counts, facets, adding and deleting."""
    hits = guarded.ask("acme", "POST", "/v1/search", {"query": "cats sleep tokens"}).json()["items"]
    assert {hit["metadata"]["tenant"] for hit in hits} == {"acme"}
    other = guarded.ask("acme", "POST", "/v1/search", {"query": "cats", "filter": "tenant:zoo"})
    assert other.json()["items"] == []
    answer = guarded.ask("acme", "POST", "/v1/ask", {"query": "how long do cats sleep?", "passages": True})
    assert "Cats" not in json.dumps(answer.json()["items"])
    assert guarded.ask("acme", "GET", "/v1/documents/cats.md").status_code == 404
    assert guarded.ask("acme", "DELETE", "/v1/documents/cats.md").status_code == 404
    documents = guarded.ask("acme", "GET", "/v1/documents").json()["documents"]
    assert [document["id"] for document in documents] == ["bucket.md", "limits.md"]
    assert guarded.ask("acme", "POST", "/v1/count", {}).json() == {"documents": 2, "passages": 2}
    facets = guarded.ask("acme", "POST", "/v1/facets", {"keys": ["tenant"]}).json()["facets"]
    assert facets == {"tenant": [{"value": "acme", "documents": 2}]}
    for document in (
        {"text": "Planted.", "id": "new.md", "metadata": {"tenant": "zoo"}},
        {"text": "Planted in both.", "id": "new.md", "metadata": {"tenant": ["acme", "zoo"]}},
    ):
        refused = guarded.ask("acme", "POST", "/v1/documents", {"documents": [document]})
        assert refused.status_code == 422, refused.text
    own = {"text": "A bucket of cats.", "id": "cats.md", "metadata": {"tenant": "acme"}}
    report = guarded.ask("acme", "POST", "/v1/documents", {"documents": [own]}).json()
    assert (report["added"], report["updated"], report["ids"]) == (1, 0, ["cats.md"])
    assert guarded.ask("acme", "GET", "/v1/documents/cats.md").json()["passages"][0]["text"] == own["text"]
    assert guarded.ask("acme", "DELETE", "/v1/documents/cats.md").json() == {"ids": ["cats.md"]}
    response = guarded.ask("acme", "POST", "/v1/documents/update", {"ids": ["cats.md"], "changes": {"a": 1}})
    assert response.json()["ids"] == []
    for changes in ({"tenant": "zoo"}, {"tenant": None}, {"tenant": ["acme", "zoo"]}):
        for selection in ({"ids": ["bucket.md"]}, {"filter": "year:2020"}):
            body = {**selection, "changes": changes}
            refused = guarded.ask("acme", "POST", "/v1/documents/update", body)
            assert (refused.status_code, refused.json()["code"]) == (422, "ArgumentError")
    assert guarded.ask("all", "POST", "/v1/count", {"filter": "tenant:zoo"}).json()["documents"] == 1
    for path in ("/v1/status", "/metrics", "/v1/code/repositories"):
        assert guarded.ask("acme", "GET", path).status_code == 403
        assert guarded.ask("all", "GET", path).status_code in {200, 404}
    assert report["version"] is None
    assert guarded.ask("all", "GET", "/v1/documents/cats.md").status_code == 200


def test_a_keys_file_that_is_moved_away_lets_nobody_in(tmp_path: Path) -> None:
    """Without its file no key is valid; when the same file comes back, its keys are valid again."""
    file, aside = tmp_path / "keys.json", tmp_path / "aside.json"
    with keyed(tmp_path, {"a": {}}) as started:

        def status() -> int:
            return started.ask("a", "GET", "/v1/status").status_code

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
    with keyed(tmp_path, {"a": {}}) as started:
        whole = file.read_bytes()

        def status() -> tuple[int, int]:
            code = started.ask("a", "GET", "/v1/status").status_code
            return code, started.client.get("/readyz").status_code

        wait_until(lambda: status() == (200, 200))
        file.write_text(damage)
        wait_until(lambda: status() == (401, 503))
        assert started.client.get("/readyz").json()["code"] == "KeysError"
        assert str(file) not in started.client.get("/readyz").text
        assert "no key is valid: keys must be a file that" in caplog.text
        assert " must be , got" not in caplog.text
        file.write_bytes(whole)
        wait_until(lambda: status() == (200, 200))


def test_a_tenant_is_not_told_why_a_leg_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each way in a key with a filter sees that a leg failed, and not why; a key without one sees why."""
    query = "tokens refilled"
    with keyed(tmp_path, {"acme": TENANTS["acme"], "all": {}}, extensions=extensions()) as started:
        break_embedder(started, monkeypatch, "http://10.0.0.5:11434 refused")
        for name in started.keys:
            answers = {
                "search": started.ask(name, "POST", "/v1/search", {"query": query}),
                "ask": started.ask(name, "POST", "/v1/ask", {"query": query}),
                "page": started.ask(name, "GET", "/", params={"q": query}),
                "mcp": started.tool(name, "search", query=query),
            }
            for way, answer in answers.items():
                assert answer.status_code == 200, (way, answer.text)
                assert "dense" in answer.text, way
                assert ("10.0.0.5" in answer.text) is (name == "all"), (way, answer.text)


def test_a_tenant_is_not_told_what_fails_in_the_server(tmp_path: Path) -> None:
    """A failure names files and processes to a key without a filter alone; the log has it for both."""
    document = {"documents": [{"text": "More.", "metadata": {"tenant": "acme"}}]}
    with (
        keyed(tmp_path, {"all": {}, "acme": TENANTS["acme"]}, deadline=1.0) as started,
        Engine.open(tmp_path / "index") as other,
        other.store.writer(),
    ):
        for name, has_details in (("all", True), ("acme", False)):
            answer = started.ask(name, "POST", "/v1/documents", document)
            assert (answer.status_code, answer.json()["code"]) == (503, "IndexLockedError")
            assert (str(os.getpid()) in answer.text) is has_details
            assert ("its log has the request id" in answer.text) is not has_details


def test_sources_of_a_tenant(tmp_path: Path) -> None:
    """A key with a filter is not offered code, and other sources are fused with the documents of its view."""
    with keyed(tmp_path, TENANTS, sources=("docs", "code", "web")) as started:
        keys = started.keys
        refused = started.ask("acme", "POST", "/v1/search", {"query": "cats", "sources": ["code"]})
        assert (refused.status_code, "docs, web, got 'code'" in refused.text) == (422, True)
        answer = started.ask("acme", "POST", "/v1/search", {"query": "cats tokens", "explain": True}).json()
        assert {item["metadata"]["tenant"] for item in answer["items"]} == {"acme"}
        other = started.ask("zoo", "POST", "/v1/search", {"query": "cats tokens"}).json()
        assert [item["id"] for item in other["items"]] == ["cats.md#0"]
        explained = json.dumps([item["explanation"] for item in answer["items"]])
        assert '"terms": 1,' in explained
        assert '"terms": 2,' not in explained
    with serving(tmp_path / "index", keys=tmp_path / "keys.json", sources=("code",)) as started:
        refused = started.ask(keys["acme"], "POST", "/v1/search", {"query": "cats"})
        assert (refused.status_code, refused.json()["code"]) == (403, "ScopeError")


def test_completions_of_a_tenant(tmp_path: Path) -> None:
    """A key with a filter completes words of its own documents; without documents nothing is completed."""
    with keyed(tmp_path, TENANTS) as started:
        texts = {
            name: [each["text"] for each in started.ask(name, "GET", "/v1/suggest?q=c").json()["suggestions"]]
            for name in TENANTS
        }
        assert "cats" in " ".join(texts["zoo"])
        assert "cats" not in " ".join(texts["acme"])
        assert started.client.get("/v1/suggest?q=c").status_code == 401
    with serving(tmp_path / "index", sources=("web",)) as started:
        assert started.client.get("/v1/suggest?q=c").json() == {"suggestions": []}
        assert started.client.get("/v1/documents").json()["documents"] == []


def test_a_key_ends(tmp_path: Path) -> None:
    """A key is refused from its end on; a session of it ends as well. A time that is none is refused."""
    with pytest.raises(ArgumentError, match=r"expires must be a valid date.* got 'soon'"):
        add_key(tmp_path / "keys.json", "other", expires="soon")
    keys = {"past": {"expires": "2020-01-31"}, "later": {"expires": "2999-12-31T12:00:00+02:00"}}
    with keyed(tmp_path, keys, extensions=extensions()) as server:
        ended, valid = (server.ask(name, "GET", "/v1/status") for name in keys)
        assert (ended.status_code, valid.status_code) == (401, 200)
        assert ended.json()["detail"].endswith("or has ended")
        assert (
            server.client.post("/sign-in", data={"key": server.keys["past"], "next": "/"}).status_code == 403
        )


def test_a_rotated_key_replaces_the_old_one(tmp_path: Path) -> None:
    """A running server takes the new key and refuses the old one, with the same rights."""
    file = tmp_path / "keys.json"
    rights = {"scopes": ["read"], "filter": "tenant:acme", "rate": 100}
    with keyed(tmp_path, {"ann": rights}) as server:
        assert server.ask("ann", "GET", "/v1/documents").status_code == 200
        new = rotate_key(file, "ann")
        wait_until(lambda: server.ask(new, "GET", "/v1/documents").status_code == 200)
        assert server.ask("ann", "GET", "/v1/documents").status_code == 401
    (key,) = read_keys(file)
    assert (key.scopes, key.text, key.rate) == (("read",), "tenant:acme", 100)
    with pytest.raises(ArgumentError, match="name must be among ann, got 'bob'"):
        rotate_key(file, "bob")


def test_a_key_has_a_rate(tmp_path: Path) -> None:
    """After so many requests the next one is a 429 that says when to try again; other keys go on."""
    with pytest.raises(ArgumentError, match="rate must be greater than or equal to 1, got 0"):
        add_key(tmp_path / "keys.json", "none", rate=0)
    with keyed(tmp_path, {"slow": {"rate": 2}, "fast": {}}) as server:
        *answers, refused = [server.ask("slow", "GET", "/v1/status") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert refused.json()["code"] == "RateError"
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert server.ask("fast", "GET", "/v1/status").status_code == 200


def test_a_key_for_metrics_reads_nothing_else(tmp_path: Path) -> None:
    """Its owner gets the counts, and neither documents nor the state of the index."""
    with keyed(tmp_path, {"counts": {"scopes": ["metrics"]}}, extensions=extensions()) as server:
        assert "sleuth_requests_total" in server.ask("counts", "GET", "/metrics").text
        for path in ("/v1/status", "/v1/documents", "/contents"):
            assert server.ask("counts", "GET", path).status_code in (401, 403)
        assert server.ask("counts", "POST", "/v1/ask", {"query": "tokens"}).status_code == 403


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def test_a_session_stands_for_a_key_and_does_not_hold_it(file: Path) -> None:
    """A value of `begin` finds its key; no part of the key or of its hash is in it."""
    token = add_key(file, "müller@x.y-1", filter="tenant:acme")
    sessions = Sessions(KeyFile(file))
    value = sessions.begin(token)
    assert value is not None
    key = sessions.find(value)
    assert key is not None
    assert (key.name, str(key.filter)) == ("müller@x.y-1", str(KeyFile(file).find(token).filter))  # type: ignore[union-attr]
    assert token not in value
    assert sha256(token.encode()).hexdigest() not in value
    assert value.isascii()
    assert sessions.begin("sleuth_wrong") is None


def test_what_was_not_signed_here_is_no_session(file: Path) -> None:
    """Other names, ends and codes, the key itself, its hash and values of another server are refused."""
    token = add_key(file, "reader")
    add_key(file, "admin")
    keys = KeyFile(file)
    sessions = Sessions(keys)
    value = sessions.begin(token)
    assert value is not None
    name, end, code = value.split(".")
    admin = base64.urlsafe_b64encode(b"admin").decode()
    digest = sha256(token.encode()).digest()
    for forged in (
        *("", ".", "..", "a.b.c", "é.1.x", "ä", token, digest.hex()),
        f"{admin}.{end}.{code}",
        f"{name}.{int(end) + 1}.{code}",
        f"{name}.{end}.{code[:-1]}",
        f"{name}.{end}.",
        f"{name}.{end}",
        f"{name}.{end}.{digest.hex()}",
        f"{name}.{'9' * 5000}.{code}",
        Sessions(keys).begin(token) or "",
    ):
        assert sessions.find(forged) is None


def test_a_session_ends_with_its_time_and_its_key(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is over after some hours, when its key is removed, and for a new key of the same name."""
    token = add_key(file, "reader")
    sessions = Sessions(KeyFile(file))
    value = sessions.begin(token)
    assert value is not None
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: int(value.split(".")[1]) - 1)
        assert sessions.find(value) is not None
        patch.setattr("time.time", lambda: int(value.split(".")[1]))
        assert sessions.find(value) is None
        assert SECONDS <= 24 * 3600
    remove_key(file, "reader")
    assert Sessions(KeyFile(file), b"s").begin(token) is None
    add_key(file, "reader")
    same = Sessions(KeyFile(file), sessions._secret)
    assert same.find(value) is None


def test_workers_of_one_server_know_each_others_sessions(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one worker signs with lies in a file that only their owner can read."""
    token = add_key(file, "reader")
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    write_secret(tmp_path)
    value = Sessions(KeyFile(file)).begin(token)
    assert value is not None
    assert Sessions(KeyFile(file)).find(value) is not None
    (secret,) = (path for path in tmp_path.iterdir() if path != file)
    assert secret.stat().st_mode & 0o777 == 0o600
