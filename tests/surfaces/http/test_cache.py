"""Kept answers are those that the engine would give now, and nobody sees those of others."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.surfaces.http.service import AnswerCache

from .conftest import Local, break_embedder, keyed, make_index, serving


def counts(server: Local, key: str = "") -> dict[str, int]:
    """Return how many searches were answered from the cache, and how many were not."""
    text = server.ask(key, "GET", "/metrics").text
    lines = re.findall(r'^sleuth_cache_total\{outcome="(\w+)"\} (\d+)', text, re.MULTILINE)
    return {outcome: int(number) for outcome, number in lines}


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[tuple[Local, Path]]:
    index = make_index(tmp_path / "index")
    with serving(index) as started:
        yield started, index


def ids(server: Local, query: str, **options: Any) -> list[str]:
    """Return the ids of the hits of a query."""
    answer = server.client.post("/v1/search", json={"query": query, **options})
    return [item["id"] for item in answer.json()["items"]]


def test_the_same_request_is_answered_from_memory(fresh: tuple[Local, Path]) -> None:
    """A request that differs in anything is another one."""
    server, _ = fresh
    first = server.client.post("/v1/search", json={"query": "tokens"}).content
    assert server.client.post("/v1/search", json={"query": "tokens", "k": 10}).content == first
    assert counts(server) == {"hit": 1, "miss": 1}
    for options in ({"k": 1}, {"filter": "year>=2021"}, {"legs": ["lexical"]}, {"explain": True}):
        assert server.client.post("/v1/search", json={"query": "tokens", **options}).content != first
    assert counts(server) == {"hit": 1, "miss": 5}
    assert "sleuth_cache_bytes 0.0" not in server.client.get("/metrics").text


def test_every_commit_counts_at_once(fresh: tuple[Local, Path]) -> None:
    """Documents that any process adds, changes or deletes are found or gone in the next answer."""
    server, index = fresh
    assert "new.md#0" not in ids(server, "tokens")
    with Engine.open(index) as other:
        other.add([Document("Tokens are new.", {"source": "new.md"})])
        assert "new.md#0" in ids(server, "tokens")
        other.update({"year": 1999}, ["limits.md"])
        assert ids(server, "tokens", filter="year:1999") == ["limits.md#0"]
        other.delete(["new.md"])
    assert "new.md#0" not in ids(server, "tokens")
    server.client.delete("/v1/documents/limits.md")
    assert "limits.md#0" not in ids(server, "tokens")


def test_tenants_never_share_answers(tmp_path: Path) -> None:
    """Keys with different filters get their own answers to the same request."""
    keys = {"acme": {"filter": "tenant:acme"}, "zoo": {"filter": "tenant:zoo"}, "all": {}}
    with keyed(tmp_path, keys) as server:
        tenants: dict[str, set[str]] = {}
        for name in keys:
            answers = [server.ask(name, "POST", "/v1/search", {"query": "day tokens"}).json() for _ in "ab"]
            tenants[name] = {item["metadata"]["tenant"] for answer in answers for item in answer["items"]}
        assert counts(server, "all") == {"hit": 3, "miss": 3}
    assert tenants == {"acme": {"acme"}, "zoo": {"zoo"}, "all": {"acme", "zoo"}}


def test_no_answer_is_kept_without_a_cache(tmp_path: Path) -> None:
    """With a cache of 0 bytes every request is a search."""
    with serving(make_index(tmp_path / "index"), cache=0) as server:
        assert ids(server, "tokens") == ids(server, "tokens")
        assert counts(server) == {"hit": 0, "miss": 0}


def test_the_least_recently_used_answers_are_dropped() -> None:
    """The cache stays within its capacity, drops all of another version, and takes no answer that is late or huge."""
    cache = AnswerCache(32_000)
    assert cache.get("0", stamp=1) is None
    for number in range(100):
        cache.put(str(number), 1, b"x" * 1000)
        assert cache.get("0", stamp=1) == b"x" * 1000
    assert 30_000 < cache.size <= 32_000
    assert cache.get("1", stamp=1) is None
    cache.put("huge", 1, b"x" * 4000)
    assert cache.get("huge", stamp=1) is None
    assert cache.get("0", stamp=2) is None
    cache.put("late", 1, b"x")
    assert (cache.size, cache.get("late", stamp=2)) == (0, None)


def test_an_answer_without_a_leg_is_not_kept(
    fresh: tuple[Local, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that lacks a leg is not kept: the next request has the whole answer, which is."""
    server, _ = fresh
    with monkeypatch.context() as patch:
        break_embedder(server, patch)
        degraded = server.client.post("/v1/search", json={"query": "tokens"}).json()
        assert [part["status"] for part in degraded["parts"] if part["name"] == "dense"] == ["failed"]
    whole = server.client.post("/v1/search", json={"query": "tokens"}).json()
    assert {part["status"] for part in whole["parts"]} <= {"ok"}
    assert counts(server) == {"hit": 0, "miss": 2}
    assert server.client.post("/v1/search", json={"query": "tokens"}).json() == whole
    assert counts(server) == {"hit": 1, "miss": 2}
