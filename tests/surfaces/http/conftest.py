"""A server as users run it: a process, a port on loopback, and an index of a few documents."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from sleuth import Document, Engine
from sleuth.surfaces.http import Extension, ServerSettings, add_key, bind, build_server
from tests.waiting import wait_until

DOCUMENTS = (
    Document("Tokens are refilled every second.", {"source": "limits.md", "tenant": "acme", "year": 2021}),
    Document("A bucket holds at most fifty tokens.", {"source": "bucket.md", "tenant": "acme", "year": 2020}),
    Document("Cats sleep most of the day.", {"source": "cats.md", "tenant": "zoo", "year": 2021}),
)


class Server:
    """A running `sleuth serve`.

    Attributes:
        url: where it answers.
        client: asks it.
    """

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url
        self.client = httpx.Client(base_url=url, timeout=60)

    def stop(self, number: int = signal.SIGTERM) -> str:
        """End the process and return its log."""
        self.client.close()
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=120)
        return log


@contextmanager
def running(index: Path, *options: str) -> Iterator[Server]:
    """Run a server over an index, on a free port."""
    command = [sys.executable, "-m", "sleuth", "serve", "--index", str(index), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        match = re.search(r"http://\S+", line)
        assert match is not None, line + process.communicate(timeout=120)[1]
        server = Server(process, match[0])
        try:
            yield server
        finally:
            if process.poll() is None:
                server.stop(signal.SIGKILL)
            server.client.close()


class Local:
    """A server in a thread of this process, over real connections.

    Attributes:
        url: where it answers.
        client: asks it.
        engine: what it serves.
        keys: by name.
    """

    def __init__(self, url: str, engine: Engine) -> None:
        self.url, self.engine = url, engine
        self.client = httpx.Client(base_url=url, timeout=60)
        self.keys: Mapping[str, str] = {}

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def ask(self, key: str, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        """Send a request with the key of a name, with a key itself, or without one."""
        headers = {"accept": "application/json, text/event-stream"}
        if key:
            headers["authorization"] = f"Bearer {self.keys.get(key, key)}"
        return self.client.request(method, path, json=body, headers=headers, **more)

    def tool(self, key: str, tool: str, /, **arguments: Any) -> httpx.Response:
        """Call a tool for agents."""
        body = {"name": tool, "arguments": arguments}
        return self.ask(
            key, "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": body}
        )

    def ended(self, id: str, key: str = "") -> dict[str, Any]:
        """Wait for the end of a job, and return it."""
        final = {"completed", "failed", "cancelled", "interrupted"}
        wait_until(lambda: self.ask(key, "GET", f"/v1/jobs/{id}").json()["status"] in final)
        job: dict[str, Any] = self.ask(key, "GET", f"/v1/jobs/{id}").json()
        return job


@contextmanager
def served(engine: Engine, *, extensions: Sequence[Extension] = (), **settings: Any) -> Iterator[Local]:
    """Run a server over an engine in this process, without the start time of a process."""
    full = ServerSettings(port=0, **settings)
    listener = bind(full)
    host, port = listener.getsockname()
    server = build_server(engine, full, extensions=extensions)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    local = Local(f"http://{host}:{port}", engine)
    try:
        yield local
    finally:
        local.client.close()
        server.should_exit = True
        thread.join()


@contextmanager
def serving(index: Path, *, model: str | None = None, **options: Any) -> Iterator[Local]:
    """Run a server over an index, as `served` does."""
    with Engine.open(index) as engine:
        engine.use_model(model)
        with served(engine, **options) as local:
            yield local


def make_index(folder: Path) -> Path:
    """Create an index of `DOCUMENTS`."""
    with Engine.open(folder, create=True) as engine:
        engine.add(DOCUMENTS)
    return folder


@contextmanager
def keyed(folder: Path, keys: Mapping[str, Mapping[str, Any]], **settings: Any) -> Iterator[Local]:
    """Run a server over an index of `DOCUMENTS` below a folder, with keys of these names, scopes and filters."""
    made = {name: add_key(folder / "keys.json", name, **options) for name, options in keys.items()}
    with serving(make_index(folder / "index"), keys=folder / "keys.json", **settings) as server:
        server.keys = made
        yield server


def break_embedder(server: Local, patch: pytest.MonkeyPatch, message: str = "the embedder is down") -> None:
    """Have the embedder of a server fail for every query."""

    def down(text: str) -> None:
        raise ConnectionError(message)

    patch.setattr(server.engine.embedder, "embed_query", down, raising=False)


def events(answer: httpx.Response) -> list[tuple[str, Any]]:
    """Return names and data of server-sent events."""
    assert answer.status_code == 200, answer.text
    blocks = [block.split("\n", 1) for block in answer.text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def rewriting(question: str, answer: str) -> Callable[[str], str]:
    """Return what a model writes that makes a question of each follow-up, and answers all others alike."""
    return lambda prompt: question if "stands alone" in prompt.rpartition("\n")[2] else answer


@pytest.fixture(scope="module")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server for the tests of a module that change documents."""
    with serving(make_index(tmp_path_factory.mktemp("writable") / "index")) as started:
        yield started


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_index(tmp_path_factory.mktemp("served") / "index")


@pytest.fixture(scope="session")
def server(index: Path) -> Iterator[Local]:
    """Run one server for the tests that change nothing."""
    with serving(index, read_only=True) as started:
        yield started
