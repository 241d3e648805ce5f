"""Every client hears that shards did not answer; without any shard it hears that nothing can be searched."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from sleuth import Document, Engine
from sleuth.cluster import ShardedEngine
from sleuth.surfaces.cli.serve import extensions
from sleuth.surfaces.http import ServerSettings, create_app
from tests.cluster.shards.test_sharded import lose
from tests.waiting import wait_until

REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/search", {"query": "tide"}),
    ("/v1/ask", {"query": "when is the tide"}),
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with ShardedEngine.open(tmp_path / "docs", create=True, shards=3, settings={"embedder": ""}) as engine:
        engine.add([Document(f"The tide {n} comes at noon.", id=f"d{n}") for n in range(40)])
        yield engine


@pytest.fixture
def client(engine: Engine) -> Iterator[TestClient]:
    app = create_app(engine, ServerSettings(cache=0), extensions=extensions())
    with TestClient(app, "http://localhost") as client:
        wait_until(lambda: client.get("/readyz").status_code == 200)  # after warming
        yield client


@pytest.mark.parametrize(("path", "body"), REQUESTS)
def test_a_lost_shard_is_named(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
) -> None:
    """An answer names the shard in its body, or in a header, where its shape is that of others; so does the page."""
    whole = client.post(path, json=body)
    assert (whole.status_code, "x-sleuth-degraded" in whole.headers) == (200, False)
    lose(engine, frozenset({1}), monkeypatch)
    answer = client.post(path, json=body)
    assert answer.status_code == 200
    if path == "/v1/ask":
        assert "shard-00001" in str(answer.json()["detail"])
    else:
        assert answer.headers["x-sleuth-degraded"] == "shard-00001"
        failed = [part["name"] for part in answer.json()["parts"] if part["status"] == "failed"]
        assert failed == ["shard-00001"]
    assert "shard-00001" in client.get("/", params={"q": "tide"}).text
    assert 'route="/"' in client.get("/metrics").text
    assert client.get("/readyz").status_code == 200


def test_without_any_shard_nothing_is_answered(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No door answers with an empty list: all say 503, and the server is not ready, as its log says, but alive."""
    lose(engine, frozenset(range(3)), monkeypatch)
    assert {client.post(path, json=body).status_code for path, body in REQUESTS} == {503}
    assert [client.head(path).status_code for path in ("/readyz", "/livez")] == [503, 200]
    assert "shard-00001" in caplog.text
