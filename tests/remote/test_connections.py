"""Connections are kept between calls, and lend nothing of one call to another."""

import asyncio
import ipaddress
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from socket import create_server, socket
from threading import Event
from typing import Any

import pytest

from sleuth.llm import OpenAIEmbedder, OpenAIGenerator, RemoteReranker
from sleuth.remote import (
    THREADS,
    BrokenError,
    CertificateError,
    Deadline,
    Exchange,
    LargeError,
    Response,
    connections,
    in_thread,
)
from sleuth.remote.answer import LateError, UnreachableError
from sleuth.remote.exchange import request
from sleuth.testing.serving import LocalServer, Reply, Request
from sleuth.types import RetrievedItem
from sleuth.web import fetch_page, search_web
from tests.waiting import wait_until

LOOPBACK = [ipaddress.ip_address("127.0.0.1")]
ITEM = RetrievedItem(id="a", text="zebra")

STREAM = b'data: {"choices": [{"delta": {"content": "well"}}]}\n\ndata: [DONE]\n\n'
ANSWERS: dict[str, Reply] = {
    "/v1/chat/completions": Reply(200, json.dumps({"choices": [{"message": {"content": "well"}}]}).encode()),
    "/v1/embeddings": Reply(200, json.dumps({"data": [{"index": 0, "embedding": [0.5, 1.0]}]}).encode()),
    "/v1/rerank": Reply(200, json.dumps({"results": [{"index": 0, "relevance_score": 0.5}]}).encode()),
    "/api/generate": Reply(200, json.dumps({"response": "well", "done": True}).encode() + b"\n"),
    "/api/embeddings": Reply(200, json.dumps({"embedding": [0.5, 1.0]}).encode()),
    "/search": Reply(200, json.dumps({"results": [{"url": "https://a.org", "content": "a zebra"}]}).encode()),
    "/page": Reply(200, b"a zebra", {"Content-Type": "text/plain"}),
}


class Service(LocalServer):
    """Answers as several services do.

    Attributes:
        gate: `/wait` answers when it is set.
    """

    def __init__(self, certificate: tuple[Path, Path] | None = None) -> None:
        super().__init__(certificate)
        self.gate = Event()

    def answer(self, request: Request) -> Reply | None:
        if request.path == "/v1/chat/completions" and json.loads(request.body)["stream"]:
            return Reply(200, pieces=[STREAM])
        if request.path == "/wait":
            self.gate.wait(60.0)
        if request.path == "/once" and len(self.requests) % 2 == 0:
            return None
        if request.path == "/long":
            return Reply(200, b"x" * 1_000_000)
        return ANSWERS.get(request.path, Reply(200, request.path.encode()))


@pytest.fixture
def server() -> Iterator[Service]:
    with Service() as running:
        yield running
        running.gate.set()


def ask(url: str, method: str = "GET", *, seconds: float = 60.0, most: int = 1000, **options: Any) -> str:
    """Return the body of an answer."""
    answer: Response = request(method, url, LOOPBACK, deadline=Deadline(seconds), max_bytes=most, **options)
    return answer.body.decode()


CLIENTS: dict[str, Callable[[str], object]] = {
    "OpenAI": lambda url: OpenAIGenerator("m", f"{url}/v1", api_key="").complete("x"),
    "OpenAI, stream": lambda url: list(OpenAIGenerator("m", f"{url}/v1", api_key="").stream("x")),
    "embeddings of OpenAI": lambda url: OpenAIEmbedder("m", f"{url}/v1", api_key="").embed_query("x"),
    "reranker": lambda url: RemoteReranker("m", f"{url}/v1", api_key="").rerank("x", [ITEM]),
    "web search": lambda url: search_web("zebra", api_key="k", base_url=url),
    "page": lambda url: fetch_page(f"{url}/page", allow_networks=["127.0.0.0/8"], obey_robots=False),
}


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_five_requests_share_a_connection(
    client: Callable[[str], object], certificate: tuple[Path, Path]
) -> None:
    """Five requests of a client, each of an object of its own, need one connection and one handshake."""
    with Service(certificate) as server:
        for _ in range(5):
            assert client(server.url)
        assert len(server.requests) >= 5
        assert server.connections == 1


def test_a_kept_connection_needs_an_address_of_the_call(server: Service) -> None:
    """A call that resolved other addresses, as after DNS rebinding, does not get the connection of the last."""
    assert ask(f"{server.url}/a") == "/a"
    with pytest.raises(UnreachableError):
        request(
            "GET", f"{server.url}/b", [ipaddress.ip_address("127.0.0.2")], deadline=Deadline(60), max_bytes=9
        )
    assert ask(f"{server.url}/c") == "/c"
    assert [one.path for one in server.requests] == ["/a", "/c"]


def test_trust_is_not_lent(certificate: tuple[Path, Path], trusted: ssl.SSLContext) -> None:
    """A connection whose certificate one call trusts is not used by a call that does not trust it."""
    with Service(certificate) as server:
        assert ask(f"{server.url}/a", context=trusted) == "/a"
        with pytest.raises(CertificateError):
            ask(f"{server.url}/b", context=ssl.create_default_context())


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_connection_that_the_server_ended_is_not_used(server: Service, method: str) -> None:
    """A server may end a connection between two calls."""
    assert ask(f"{server.url}/a", method) == "/a"
    server.end_connections()
    assert ask(f"{server.url}/b", method) == "/b"
    assert server.connections == 2


def test_a_request_that_crosses_with_the_end(server: Service) -> None:
    """A GET is sent again if a kept connection ends without an answer; a POST is not, since it may have begun."""
    assert ask(f"{server.url}/once") == "/once"
    assert ask(f"{server.url}/once") == "/once"
    assert len(server.requests) == 3
    with pytest.raises(BrokenError):
        ask(f"{server.url}/once", "POST")
    assert len(server.requests) == 4


def test_an_answer_before_the_end_of_a_request() -> None:
    """A server may refuse a long request without reading it; its answer says why, not the broken connection."""

    def refuse(server: socket) -> None:
        with server.accept()[0] as connection:
            connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")

    with create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        pool.submit(refuse, server)
        url, body = f"http://127.0.0.1:{server.getsockname()[1]}/", b"a" * 10_000_000
        assert request("POST", url, LOOPBACK, deadline=Deadline(60), body=body, max_bytes=100).status == 413


def test_each_call_has_its_deadline(server: Service) -> None:
    """The deadline of the call counts on a kept connection, not that of the call which made it."""
    with pytest.raises(LateError):
        ask(f"{server.url}/a", seconds=0.0)
    assert ask(f"{server.url}/a", seconds=60) == "/a"
    with pytest.raises(LateError):
        ask(f"{server.url}/wait", seconds=0.2)
    assert ask(f"{server.url}/b", seconds=60) == "/b"
    assert server.connections == 2


def test_cancelling_ends_a_kept_connection(server: Service) -> None:
    """A cancelled call ends its request, also on a connection of an earlier call, and no later one."""
    ended = Event()

    def work() -> None:
        try:
            ask(f"{server.url}/wait", seconds=3600)
        finally:
            ended.set()

    async def impatient() -> None:
        await in_thread(ask, f"{server.url}/a")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_thread(work), 0.2)

    asyncio.run(impatient())
    assert ended.wait(60.0)
    assert ask(f"{server.url}/b") == "/b"


def test_an_unread_answer_is_nobody_elses(server: Service) -> None:
    """After an answer that was too large, or not read to its end, the next call gets its own."""
    for path in ("/b", "/c"):
        with pytest.raises(LargeError):
            ask(f"{server.url}/long")
        assert ask(f"{server.url}{path}") == path
        Exchange("GET", f"{server.url}/long", LOOPBACK, deadline=Deadline(60)).close()
        assert ask(f"{server.url}{path}") == path


def test_threads_share_connections_and_no_answers(server: Service) -> None:
    """Calls of many threads get their own answers, over no more connections than threads."""
    numbers = count()

    def work(_: int) -> bool:
        path = f"/{next(numbers)}"
        return ask(server.url + path) == path

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(200)))
    assert server.connections <= 8


def test_a_child_has_connections_of_its_own(server: Service) -> None:
    """After a fork, the child opens a connection, and the parent keeps its own."""
    assert ask(f"{server.url}/a") == "/a"
    child = os.fork()
    if child == 0:
        is_clean = not connections._idle and not connections._is_watched
        os._exit(0 if is_clean and ask(f"{server.url}/child") == "/child" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert server.connections == 2
    assert ask(f"{server.url}/b") == "/b"
    assert server.connections == 2


def test_idle_connections_are_closed(server: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection is closed a moment after its last call, and no thread is left."""
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.05)
    assert ask(f"{server.url}/a") == "/a"
    latest = [channel._sock for channel in connections._idle]
    wait_until(lambda: not connections._idle)
    wait_until(lambda: not THREADS.running)
    assert all(sock and sock.fileno() < 0 for sock in latest)


def test_idle_connections_are_few(server: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The `MOST_IDLE` connections that were used last are kept."""
    monkeypatch.setattr(connections, "MOST_IDLE", 2)
    exchanges = [Exchange("GET", f"{server.url}/a", LOOPBACK, deadline=Deadline(60)) for _ in range(4)]
    latest = [exchange._connection for exchange in exchanges[2:]]
    for exchange in exchanges:
        exchange.close()
    assert connections._idle == latest


def test_a_program_ends_without_a_warning(server: Service) -> None:
    """A kept connection at the end of a program is closed, not left to the collector."""
    call = f"OpenAIGenerator('m', {server.url + '/v1'!r}, api_key='').complete('x')"
    program = f"from sleuth.llm import OpenAIGenerator; print({call})"
    command = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.stdout, ended.stderr) == ("well\n", "")
