"""A server outlives the head of Ray. Slow: `make cluster` runs them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from sleuth import Document
from sleuth.cluster import ShardedEngine, publish
from tests.waiting import free_port, wait_until

pytestmark = pytest.mark.slow

SECONDS = 180
"""Until the head of a Ray is up, on a busy machine."""


@contextmanager
def head(ports: tuple[int, int], folder: Path) -> Iterator[None]:
    """Run the head of a Ray, on loopback with a token; at the end it is killed with all that it started."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=2"]
    options = [
        f"--port={ports[0]}",
        f"--ray-client-server-port={ports[1]}",
        "--node-ip-address=127.0.0.1",
        "--include-dashboard=false",
        "--object-store-memory=100000000",
        f"--temp-dir={folder}",
    ]
    process = subprocess.Popen(
        [*command, *options],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: _listens(ports[1]), SECONDS)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def test_losing_the_head_is_503_and_mends_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its head, nothing is answered, and the server lives; with a new head, all is as before."""
    pytest.importorskip("ray", reason="Ray is not installed: `make cluster` installs it")
    for name, value in {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "SLEUTH_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    with ShardedEngine.open(tmp_path / "many", create=True, shards=2, settings={"embedder": ""}) as engine:
        engine.add([Document(f"The tide {n} comes at noon.", id=f"d{n}") for n in range(20)])
    address = f"file://{tmp_path / 'published'}"
    publish(tmp_path / "many", address)
    ports, server = (free_port(), free_port()), free_port()
    url = f"http://127.0.0.1:{server}"
    folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    serve = ["-m", "sleuth", "serve", "--index", address, "--ray", "--searchers", "2", "--port", str(server)]
    where = ["--address", f"ray://127.0.0.1:{ports[1]}", "--quiet", "--cache", "0"]

    def answer() -> httpx.Response | None:
        try:
            return httpx.post(f"{url}/v1/search", json={"query": "tide"}, timeout=60)
        except httpx.TransportError:
            return None

    def hits() -> int:
        response = answer()
        return len(response.json()["items"]) if response is not None and response.status_code == 200 else 0

    try:
        with head(ports, folder):
            process = subprocess.Popen([sys.executable, *serve, *where], stderr=subprocess.DEVNULL)
            wait_until(lambda: hits() or process.poll() is not None, SECONDS)
            assert hits() == 10
        wait_until(lambda: (response := answer()) is not None and response.status_code == 503, 60)
        for path, status in (("/readyz", 503), ("/livez", 200)):
            assert httpx.get(f"{url}{path}", timeout=60).status_code == status
        assert 'sleuth_searcher_events_total{event="cut_off"} 1.0' in httpx.get(f"{url}/metrics").text
        with head(ports, folder):
            wait_until(hits, SECONDS)
            wait_until(lambda: "sleuth_searchers_up 2.0" in httpx.get(f"{url}/metrics").text, SECONDS)
            assert hits() == 10
            assert 'sleuth_searcher_events_total{event="reconnected"} 1.0' in httpx.get(f"{url}/metrics").text
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
