"""The application of Ray Serve answers as `sleuth serve` does. Slow: `make cluster` runs them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from sleuth import Document
from sleuth.cluster import ShardedEngine, publish
from sleuth.plugins.ray.application import application
from sleuth.surfaces.http import add_key
from tests.plugins.ray.processes import processes_below
from tests.test_deploy import CHART, rendered
from tests.waiting import free_port, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def serve(ray: Any) -> Iterator[Any]:
    """Ray Serve on loopback, and its address."""
    module: Any = import_module("ray.serve")
    port = free_port()
    module.start(http_options={"host": "127.0.0.1", "port": port})
    yield module, f"http://127.0.0.1:{port}"
    module.shutdown()


def test_the_application_of_the_chart_answers(serve: Any, address: str, tmp_path: Path) -> None:
    """It fits Ray Serve's own schema, demands a key, answers, streams, and ends its searchers with itself."""
    from ray.serve.schema import ServeDeploySchema

    module, url = serve
    with ShardedEngine.open(tmp_path / "many", create=True, shards=4) as engine:
        engine.add([Document(f"The tide {n} comes at noon.", id=f"d{n}") for n in range(20)])
    publish(tmp_path / "many", address)
    key = add_key(tmp_path / "keys.json", "alice", ("read",), None)
    config = yaml.safe_load(
        yaml.safe_load(rendered(CHART / "templates" / "service.yaml"))["spec"]["serveConfigV2"]
    )
    (entry,) = ServeDeploySchema.model_validate(config).applications
    arguments = {**entry.args, "index": address, "keys": str(tmp_path / "keys.json"), "replicas": 1}
    module.run(application({**arguments, "allow_host": ["127.0.0.1"]}), name="sleuth", route_prefix="/")

    def post(path: str, body: dict[str, Any]) -> httpx.Response:
        return httpx.post(f"{url}{path}", json=body, headers={"authorization": f"Bearer {key}"}, timeout=60)

    assert httpx.post(f"{url}/v1/search", json={"query": "tide"}).status_code == 401
    answer = post("/v1/search", {"query": "tide 7 noon", "k": 3})
    assert answer.status_code == 200, answer.text
    assert answer.json()["items"][0]["id"] == "d7#0"
    wait_until(lambda: httpx.get(f"{url}/readyz").status_code == 200)
    stream = post("/v1/ask", {"query": "When does the tide 7 come?", "stream": True})
    assert stream.headers["content-type"].startswith("text/event-stream"), stream.text
    assert "tide 7 comes at noon" in stream.text
    searchers = list(processes_below(os.getpid(), "ray::Searcher"))
    assert len(searchers) == 2
    for process in searchers:
        os.kill(process, signal.SIGKILL)
    wait_until(lambda: post("/v1/search", {"query": "tide 7 noon"}).status_code == 200, 120)
    module.delete("sleuth")
    wait_until(lambda: not list(processes_below(os.getpid(), "ray::Searcher")))
