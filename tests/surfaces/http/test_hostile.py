"""Broken, slow, huge and cross-site requests are refused, and the server keeps running."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from .conftest import Local, serving


@pytest.fixture(scope="module")
def tight(index: Any) -> Iterator[Local]:
    """Run a server with short deadlines and small bodies."""
    with serving(index, deadline=3, max_body=10_000) as started:
        yield started


def exchange(server: Local, *pieces: bytes, pause: float = 0.0, wait: float = 60.0) -> bytes:
    """Send raw bytes; return the response until the server closes or is silent."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as connection:
        received = b""
        try:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
            while data := connection.recv(65536):
                received += data
        except (TimeoutError, ConnectionError):
            pass
        return received


def post(body: bytes, *headers: str, path: str = "/v1/search") -> bytes:
    head = [
        f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json",
        f"content-length: {len(body)}", "connection: close", *headers,
    ]  # fmt: skip
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def received_from(connection: socket.socket) -> bytes:
    """Return all that the server sends until it closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def problem_of(answer: bytes) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return values


BROKEN: dict[str, bytes] = {
    "cut": b'{"query": ',
    "latin": '{"query": "café"}'.encode("latin-1"),
    "utf-16": '{"query": "a"}'.encode("utf-16"),
    "surrogate": b'{"query": "\\ud800"}',
    "nan": b'{"query": "a", "k": NaN}',
    "huge number": b'{"query": "a", "k": 1e999}',
    "long number": b'{"query": "a", "k": ' + b"9" * 5000 + b"}",
    "deep": b"[" * 4900 + b"]" * 4900,
    "deep filter": b'{"query": "a", "filter": ' + b'{"$not":' * 600 + b"{}" + b"}" * 600 + b"}",
    "null": b"null",
    "nothing": b"",
    "zero byte": b'{"query": "a\\u0000"}',
    "twice": b'{"query": "a", "query": 3}',
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_bodies_are_refused_or_answered(tight: Local, name: str) -> None:
    """Any body gives a problem document, or an answer if it is valid JSON."""
    answer = exchange(tight, post(BROKEN[name]))
    assert status_of(answer) in {200, 400, 422}, answer
    if status_of(answer) != 200:
        assert problem_of(answer)["code"]
        assert b"application/problem+json" in answer


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/xml"]
)
def test_only_json_is_read_as_json(tight: Local, kind: str) -> None:
    """Content types that another site can send without a preflight are refused."""
    answer = tight.client.post("/v1/search", content=b'{"query": "a"}', headers={"content-type": kind})
    assert answer.status_code in {415, 422}


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("LOCALHOST:80", 200), ("127.0.0.1:8321", 200), ("[::1]:8321", 200),
     ("evil.example", 403), ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403), ("", 403)],
)  # fmt: skip
def test_a_rebound_name_is_refused(tight: Local, host: str, status: int) -> None:
    """A Host header with a name that resolves to this machine is refused."""
    request = f"GET /v1/status HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode()
    assert status_of(exchange(tight, request)) == status


@pytest.mark.parametrize(("headers", "status"), [
    ({"origin": "https://evil.example"}, 403), ({"origin": "null"}, 403), ({"origin": "http://["}, 403),
    ({"origin": "http://localhost:1"}, 403), ({"origin": "http://127.0.0.1:1"}, 403),
    ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
    ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 403),
    ({"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, 403),
    ({"sec-fetch-site": "same-origin"}, 200), ({"sec-fetch-site": "none"}, 200),
])  # fmt: skip
def test_cross_site_requests_are_refused(tight: Local, headers: dict[str, str], status: int) -> None:
    """Scripts and images of another site do not reach the API; the server's own page does."""
    assert tight.client.get("/v1/status", headers=headers).status_code == status
    own = {"origin": f"http://127.0.0.1:{tight.port}"}
    assert tight.client.get("/v1/status", headers=own).status_code == 200
    assert "access-control-allow-origin" not in tight.client.get("/v1/status", headers=own).headers


def test_sites_that_are_allowed_get_cors(index: Any) -> None:
    """With --cors an allowed site's requests are answered, another's are not; --allow-host adds a name."""
    sites, names = ("https://app.example",), ("search.example",)
    with serving(index, cors=sites, allow_host=names) as started:
        headers = {"origin": "https://app.example", "access-control-request-method": "POST"}
        preflight = started.client.options("/v1/search", headers=headers)
        assert preflight.headers["access-control-allow-origin"] == "https://app.example"
        answer = started.client.get("/v1/status", headers={"origin": "https://app.example"})
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        assert started.client.get("/v1/status", headers={"origin": "https://evil.example"}).status_code == 403
        assert started.client.get("/v1/status", headers={"host": "search.example"}).status_code == 200


def test_large_bodies_are_refused_before_they_are_read(tight: Local) -> None:
    """100 MB are refused at once by their declared length, and chunked bodies as soon as they exceed the limit."""
    head = post(b"").replace(b"content-length: 0", b"content-length: 100000000")
    answer = exchange(tight, head)
    assert (status_of(answer), problem_of(answer)["code"]) == (413, "TooLargeError")
    chunked = post(b"").replace(b"content-length: 0", b"transfer-encoding: chunked")
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    answer = exchange(tight, chunked, *[piece] * 1600)
    assert status_of(answer) in {0, 413}  # 0: the connection was closed while we were sending
    assert tight.client.get("/livez").status_code == 200


@pytest.mark.parametrize(("size", "status"), [(9_000, 200), (10_100, 413)])
def test_a_chunked_body_has_the_same_limit(tight: Local, size: int, status: int) -> None:
    """A body whose length is not declared is counted while it arrives."""
    head = post(b"").replace(b"content-length: 0", b"transfer-encoding: chunked")
    body = b'{"query": "tokens"' + b" " * (size - 19) + b"}"
    answer = exchange(tight, head + b"%x\r\n%s\r\n0\r\n\r\n" % (size, body))
    assert status_of(answer) == status


@pytest.mark.parametrize(
    "head",
    [
        lambda: b"".join(b"x-%d: y\r\n" % n for n in range(100_000)),
        lambda: b"x: " + b"y" * 1_000_000 + b"\r\n",
    ],
    ids=["many", "long"],
)
def test_endless_headers_are_refused(tight: Local, head: Callable[[], bytes]) -> None:
    """10^5 headers, or one of a megabyte, close the connection."""
    answer = exchange(tight, b"GET /livez HTTP/1.1\r\nhost: localhost\r\n" + head() + b"\r\n")
    assert status_of(answer) in {0, 431}
    assert tight.client.get("/livez").status_code == 200


def test_too_many_headers_get_431(tight: Local) -> None:
    """201 headers get the status 431."""
    head = b"".join(b"x-%d: y\r\n" % n for n in range(201))
    answer = exchange(tight, b"GET /livez HTTP/1.1\r\nhost: localhost\r\n" + head + b"\r\n")
    assert (status_of(answer), problem_of(answer)["code"]) == (431, "HeadersError")


@pytest.mark.parametrize(("name", "value"), [(400, 1), (1, 400)], ids=["names", "values"])
def test_names_and_values_count_for_the_size_of_a_head(tight: Local, name: int, value: int) -> None:
    """150 headers of 401 bytes are accepted, 164 of them get the status 431."""
    header = b"x" * name + b": " + b"y" * value + b"\r\n"
    begin = b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    assert status_of(exchange(tight, begin + header * 150 + b"\r\n")) == 200
    answer = exchange(tight, begin + header * 163, header + b"\r\n", pause=0.2)
    assert (status_of(answer), problem_of(answer)["code"]) == (431, "HeadersError")


def test_what_is_not_http_is_refused(tight: Local) -> None:
    """Bytes that are not a request, two lengths and a raw address in UTF-8 get 400 and a closed connection."""
    assert status_of(exchange(tight, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")) == 400
    for header in ("content-length: 3", "transfer-encoding: chunked"):
        assert status_of(exchange(tight, post(b"{}", header))) == 400
    answer = exchange(tight, "GET /?q=größe HTTP/1.1\r\n\r\n".encode())
    assert "with a percent-encoded address" in problem_of(answer)["detail"]


def test_slow_clients_are_given_up(tight: Local) -> None:
    """An incomplete body gets 408 at its deadline; other requests are answered meanwhile."""
    slow = post(b'{"query": "a"}')[:-5]
    with socket.create_connection(("127.0.0.1", tight.port), timeout=60) as connection:
        connection.sendall(slow)
        assert tight.client.post("/v1/search", json={"query": "tokens"}).status_code == 200
        answer = received_from(connection)
    assert (status_of(answer), problem_of(answer)["code"]) == (408, "SlowRequestError")


def test_half_open_connections_do_not_hold_the_server(tight: Local) -> None:
    """200 silent connections are closed in time; other requests are answered meanwhile."""
    with ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", tight.port), timeout=60))
            for _ in range(200)
        ]
        for connection in idle[::2]:
            connection.sendall(b"POST /v1/search HTTP/1.1\r\nhost: loc")
        assert tight.client.post("/v1/search", json={"query": "tokens"}).status_code == 200
        for connection in idle:
            assert status_of(received_from(connection)) in (0, 408)


def test_a_reader_that_does_not_read_is_given_up(tight: Local) -> None:
    """Unread responses block no thread, and searches continue."""
    body = json.dumps({"query": "tokens", "explain": True}).encode()
    request = post(body).replace(b"connection: close\r\n", b"")
    with socket.create_connection(("127.0.0.1", tight.port), timeout=10) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.settimeout(0.5)
        with suppress(TimeoutError, ConnectionError):
            for _ in range(2000):
                connection.sendall(request)
        assert tight.client.post("/v1/search", json={"query": "tokens"}).status_code == 200


def test_unknown_paths_and_methods_are_problems(tight: Local) -> None:
    """404 and 405 are problem documents that name the list of paths; websockets are refused."""
    for method, path, status in (
        ("GET", "/nothing", 404),
        ("PUT", "/v1/search", 405),
        ("GET", "/%ff%00", 404),
    ):
        answer = tight.client.request(method, path)
        assert answer.status_code == status
        assert answer.json()["status"] == status
        assert "/openapi.json" in answer.json()["detail"]
    assert tight.client.put("/v1/documents").headers["allow"] == "GET, POST"
    upgrade = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-key": "a",
        "sec-websocket-version": "13",
    }
    assert tight.client.get("/v1/search", headers=upgrade).status_code in {400, 404, 405, 426}
