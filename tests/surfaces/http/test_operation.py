"""Queues, deadlines, logs, metrics, workers, and shutdown."""

import io
import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from sleuth import ArgumentError, Engine, Ranking
from sleuth.engine import SearchRequest
from sleuth.surfaces.cli import settings_of
from sleuth.surfaces.http import Extension, ServerSettings, bind, create_app
from sleuth.surfaces.http.server import LogLines
from tests.waiting import wait_until

from .conftest import make_index, running, serving


def add(url: str, n: int) -> httpx.Response:
    body = {"documents": [{"text": f"Report number {n} about newts.", "id": f"n{n}"}]}
    return httpx.post(f"{url}/v1/documents", json=body, timeout=60)


def test_what_was_accepted_is_answered_when_the_server_ends(tmp_path: Path) -> None:
    """After SIGTERM, queued requests are answered, the process exits with 0, and the index is closed."""
    path = make_index(tmp_path / "index")
    with running(path, "--quiet") as started, ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(add, started.url, n) for n in range(20)]
        while started.client.get("/metrics").text.find('sleuth_queue_waiting{lane="writes"} 0.0') >= 0:
            if all(answer.done() for answer in answers):
                break
        started.process.send_signal(signal.SIGTERM)
        statuses = []
        for answer in answers:
            try:
                statuses.append(answer.result(timeout=120).status_code)
            except httpx.TransportError:
                statuses.append(0)  # was not accepted before the end
        assert started.process.wait(60) == 0
    with Engine.open(path) as engine:
        stored_numbers = [n for n in range(20) if engine.get(f"n{n}")]
    assert [n for n, status in enumerate(statuses) if status == 200] == stored_numbers
    assert stored_numbers


def test_a_full_queue_refuses_at_once(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one thread and no room to wait, searches beside a slow one get 503 with Retry-After."""
    release, run = Event(), Engine.run

    def slow_run(engine: Engine, request: SearchRequest) -> Ranking:
        release.wait(600)
        return run(engine, request)

    with serving(index, threads=1, queue=0, deadline=600, cache=0) as started, ThreadPoolExecutor(8) as pool:
        started.client.post("/v1/search", json={"query": "tokens"})
        monkeypatch.setattr(Engine, "run", slow_run)

        def search(_: int) -> httpx.Response:
            return httpx.post(f"{started.url}/v1/search", json={"query": "tokens"}, timeout=600)

        searches = [pool.submit(search, number) for number in range(16)]
        try:
            wait_until(lambda: sum(search.done() for search in searches) == 15)
        finally:
            release.set()
        answers = [search.result() for search in searches]
    refusals = [answer for answer in answers if answer.status_code == 503]
    assert (len(refusals), {answer.status_code for answer in answers}) == (15, {200, 503})
    assert {(answer.headers["retry-after"], answer.json()["code"]) for answer in refusals} == {
        ("1", "QueueFullError")
    }


@pytest.mark.parametrize("with_queries", [False, True])
def test_logs_tell_ids_and_never_queries(
    index: Path, with_queries: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Each request is logged with its id; the text of a query only if configured."""
    caplog.set_level("INFO", "sleuth")
    with serving(index, log_queries=with_queries) as started:
        headers = {"x-request-id": "my-id.7"}
        answer = started.client.post("/v1/search", json={"query": "xylophone"}, headers=headers)
        assert answer.headers["x-request-id"] == "my-id.7"
        started.client.post("/v1/ask", json={"query": "xylophone"})
        started.client.post("/v1/search", json={"query": "xylophone", "filter": "("})
        bad = started.client.get("/livez", headers={"x-request-id": "a b"})
        assert bad.headers["x-request-id"] != "a b"
    entries = [json.loads(LogLines().format(record)) for record in caplog.records]
    entry = next(entry for entry in entries if entry.get("request_id") == "my-id.7")
    assert (entry["route"], entry["status"], entry["k"]) == ("/v1/search", 200, 10)
    assert ("xylophone" in json.dumps(entries)) == with_queries


def test_failures_are_logged_without_their_messages(index: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A failure of the server is logged with its kind and lines; its message may hold a query."""

    def install(app: Any, _: Any) -> None:
        def fail() -> None:
            try:
                int("xylophone")
            except ValueError as error:
                raise RuntimeError("no xylophone") from error

        app.get("/fails")(fail)

    with serving(index, extensions=[Extension(install)]) as started:
        answer = started.client.get("/fails")
        assert (answer.status_code, answer.json()["code"]) == (500, "InternalError")
        assert answer.headers["content-type"] == "application/problem+json"
    lines = [LogLines().format(record) for record in caplog.records]
    (entry,) = [json.loads(line) for line in lines if "exception" in line]
    assert entry["request_id"] == answer.headers["x-request-id"]
    assert {"RuntimeError", "ValueError"} <= set(entry["exception"])
    assert any("test_operation.py" in place for place in entry["exception"])
    assert "xylophone" not in "".join(lines)


def test_metrics_count_requests_legs_and_the_version(tmp_path: Path) -> None:
    """/metrics has requests by route and status, seconds per leg, the queues and the version of the index."""
    with serving(make_index(tmp_path / "index")) as started:
        started.client.post("/v1/search", json={"query": "tokens"})
        started.client.post("/v1/search", json={"query": 3})
        before = started.client.get("/metrics").text
        add(started.url, 1)
        after = started.client.get("/metrics").text
    for line in (
        'sleuth_requests_total{route="/v1/search",status="200"} 1.0',
        'sleuth_requests_total{route="/v1/search",status="422"} 1.0',
        'sleuth_leg_seconds_count{leg="lexical",status="ok"}',
        'sleuth_leg_seconds_count{leg="dense",status="ok"}',
        'sleuth_queue_waiting{lane="reads"} 0.0',
    ):
        assert line in before
    version = [
        float(text.rpartition("sleuth_index_version ")[2].partition("\n")[0]) for text in (before, after)
    ]
    assert version[1] == version[0] + 1


@pytest.mark.slow
def test_workers_share_the_index_and_their_counts(tmp_path: Path) -> None:
    """Two processes answer on one port, see each other's additions, and a dead one is replaced."""
    with running(make_index(tmp_path / "index"), "--workers", "2", "--quiet") as started:

        def answers() -> bool:
            try:
                return started.client.get("/livez").is_success
            except httpx.TransportError:
                return False

        wait_until(answers)
        assert add(started.url, 5).status_code == 200
        for _ in range(20):  # connections of their own: either process may answer
            answer = httpx.get(f"{started.url}/v1/documents/n5")
            assert answer.status_code == 200
        metrics = httpx.get(f"{started.url}/metrics").text
        assert 'sleuth_requests_total{route="/v1/documents/{id}",status="200"} 20.0' in metrics
        started.process.send_signal(signal.SIGTERM)
        assert started.process.wait(60) == 0


def test_nothing_is_reported_to_others(index: Path) -> None:
    """The web framework traces nothing for OpenTelemetry where the process collects spans, as it does by itself."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not installed")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    provider, out = sdk.TracerProvider(), io.StringIO()
    provider.add_span_processor(export.SimpleSpanProcessor(export.ConsoleSpanExporter(out=out)))
    pytest.importorskip("opentelemetry.trace").set_tracer_provider(provider)
    with Engine.open(index) as engine:
        TestClient(create_app(engine, ServerSettings())).get("/livez")
    assert out.getvalue() == ""
    TestClient(FastAPI()).get("/livez")
    assert '"name": "GET"' in out.getvalue()


@pytest.mark.parametrize(("workers", "cores", "threads"), [(1, 8, 8), (2, 8, 4), (3, 8, 2), (4, 2, 1)])
def test_workers_divide_the_cores(workers: int, cores: int, threads: int, monkeypatch: Any) -> None:
    """All workers together run as many requests at a time as there are cores, and each runs one."""
    monkeypatch.setattr("sleuth.surfaces.cli.serve.CORES", cores)
    assert settings_of({}, workers).threads == threads


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "::"}, "--keys keys.json"),
        ({"host": "203.0.113.1"}, "host must be 127.0.0.1"),
        ({"keys": Path("nothing.json")}, "sleuth serve keys add"),
        ({"deadline": 0}, "deadline must be"),
        ({"queue": -1}, "queue must be an int of 0 or more"),
        ({"port": 65536}, "port must be an int from 0 to 65,535, got 65536"),
        ({"sources": ("docs", "nosuch")}, "sources must be among docs, .* got 'nosuch'"),
    ],
)
def test_a_server_that_cannot_start_says_why(options: dict[str, Any], words: str) -> None:
    """Invalid settings raise an error with the remedy before the index is opened."""
    with pytest.raises(ArgumentError, match=words):
        bind(ServerSettings(**{"port": 0, **options}))


def test_a_port_that_is_taken_is_named(index: Path) -> None:
    """A second server on a port exits with one line that says so."""
    with serving(index) as started, pytest.raises(ArgumentError, match=f"127.0.0.1:{started.port}"):
        bind(ServerSettings(port=started.port))
