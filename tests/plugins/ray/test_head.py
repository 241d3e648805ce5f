"""A server outlives the head of Ray. Slow: `make cluster` runs them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from sleuth import Document
from sleuth.cluster import ShardedEngine, publish
from tests.waiting import free_port, listens, wait_until

pytestmark = pytest.mark.slow

SECONDS = 180
"""Until the head of a Ray is up, on a busy machine."""


@contextmanager
def head(ports: tuple[int, int], folder: Path) -> Iterator[None]:
    """Run the head of a Ray, on loopback with a token; at the end it is killed with all that it started."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=2"]
    options = [
        f"--port={ports[0]}", f"--ray-client-server-port={ports[1]}", "--node-ip-address=127.0.0.1",
        "--include-dashboard=false", "--object-store-memory=100000000", f"--temp-dir={folder}",
    ]  # fmt: skip
    process = subprocess.Popen(
        [*command, *options], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: listens(ports[1]), SECONDS)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@dataclass
class Served:
    """A server over a published index, as users start it.

    Attributes:
        process: of the server.
        url: where it answers.
    """

    process: subprocess.Popen[bytes]
    url: str

    def answer(self, path: str = "") -> httpx.Response | None:
        """Return the answer of a path, or that of a search; None while nothing listens."""
        try:
            if path:
                return httpx.get(f"{self.url}{path}", timeout=60)
            return httpx.post(f"{self.url}/v1/search", json={"query": "tide"}, timeout=60)
        except httpx.TransportError:
            return None

    def status(self, path: str = "") -> int | None:
        """Return the status of such an answer; fail where the server has ended."""
        assert self.process.poll() is None
        response = self.answer(path)
        return None if response is None else response.status_code

    def hits(self) -> int:
        """Return how many passages a search finds."""
        response = self.answer()
        return len(response.json()["items"]) if response is not None and response.status_code == 200 else 0

    def metric(self, line: str) -> bool:
        """Return whether the metrics have a line."""
        response = self.answer("/metrics")
        return response is not None and line in response.text.splitlines()

    def wait_for_all(self) -> None:
        """Wait until both searchers answer."""
        wait_until(lambda: self.metric("sleuth_searchers_up 2.0"), SECONDS)
        assert self.hits() == 10

    def end(self) -> int:
        """End the server as an operator does, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an index of two shards, and the environment of Ray on loopback."""
    if find_spec("ray") is None:  # it must not be imported before `ray_session` does, in other tests
        pytest.skip("Ray is not installed: `make cluster` installs it")
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
    return address


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where a head has its files: sockets need a short name."""
    path = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def serving(published: str, ray_address: str) -> Iterator[Served]:
    """Run a server with an address of Ray; at the end it is killed."""
    port = free_port()
    command = ["-m", "sleuth", "cluster", "serve", published, "--searchers", "2", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, *command, "--address", ray_address, "--quiet", "--cache", "0"],
        stderr=subprocess.DEVNULL,
    )
    try:
        yield Served(process, f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()


def test_a_head_that_is_late_or_lost_is_503_and_mends_itself(published: str, folder: Path) -> None:
    """Without its head, nothing is answered, and the server lives: before the head is up, and after it is lost."""
    ports = (free_port(), free_port())
    with serving(published, f"ray://127.0.0.1:{ports[1]}") as server:
        wait_until(lambda: server.status() == 503, SECONDS)
        assert (server.status("/readyz"), server.status("/livez")) == (503, 200)
        with head(ports, folder):
            wait_until(server.hits, SECONDS)
            server.wait_for_all()
            wait_until(lambda: server.status("/readyz") == 200, SECONDS)
        wait_until(lambda: server.status() == 503, 60)
        assert (server.status("/readyz"), server.status("/livez")) == (503, 200)
        assert server.metric('sleuth_searcher_events_total{event="cut_off"} 2.0')
        with head(ports, folder):
            wait_until(server.hits, SECONDS)
            server.wait_for_all()
            assert server.metric('sleuth_searcher_events_total{event="reconnected"} 2.0')
            assert server.end() == 0


def test_a_server_of_the_cluster_of_this_machine_waits_for_it(
    published: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--address auto`, a server that starts before its head answers 503, and all as soon as the head is up."""
    ports = (free_port(), free_port())
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{ports[0]}")  # `auto` is this one, and no other Ray
    with serving(published, "auto") as server:
        wait_until(lambda: server.status("/readyz") == 503, SECONDS)
        monkeypatch.delenv("RAY_ADDRESS")
        with head(ports, folder):
            wait_until(lambda: server.status("/readyz") == 200, SECONDS)
            server.wait_for_all()
            assert server.end() == 0


def test_a_server_without_a_head_ends_when_asked(published: str) -> None:
    """While the head is tried again, the server ends as any other."""
    with serving(published, f"ray://127.0.0.1:{free_port()}") as server:
        wait_until(lambda: server.status("/readyz") == 503, SECONDS)
        assert server.end() == 0
