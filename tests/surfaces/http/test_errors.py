"""Every error that a handler can raise is a problem that a client can use, and no stack trace in the log."""

import importlib
import logging
import pkgutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.exceptions import HTTPException

import sleuth
from sleuth.errors import SleuthError
from sleuth.surfaces.http import Extension, Refusal, Service
from tests.waiting import wait_until

from .conftest import Local, make_index, serving

COMMAND = "the index must have vectors, got none: run `sleuth index --re-embed`"


def below(kind: type[SleuthError]) -> Iterator[type[SleuthError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from below(child)


for module in pkgutil.walk_packages(sleuth.__path__, "sleuth."):  # so that the errors of each are known
    if not module.name.endswith("__main__"):
        with suppress(ImportError):
            importlib.import_module(module.name)
KINDS = {kind.__name__: kind for kind in below(SleuthError) if kind.__module__.startswith("sleuth.")}
OTHERS: dict[str, Exception] = {
    "Refusal": Refusal(422, "ArgumentError", COMMAND),
    "HTTPException": HTTPException(404),
}


@pytest.fixture(scope="module")
def raising(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server with a path that raises the error of a name."""

    def install(app: FastAPI, _: Service) -> None:
        @app.get("/v1/raise/{name}")
        async def fail(name: str) -> None:
            if name in OTHERS:
                raise OTHERS[name]
            if name == "bug":
                raise ZeroDivisionError("private details")
            kind = KINDS[name]
            error = kind.__new__(kind)
            error.args = (COMMAND,)
            raise error

    index = make_index(tmp_path_factory.mktemp("raising") / "index")
    with serving(index, extensions=[Extension(install)]) as server:
        yield server


def traces(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("name", [*KINDS, *OTHERS])
def test_an_error_is_a_problem_without_a_trace(
    raising: Local, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """The status and code are those of the kind; the log has one line, and no frames; a command is the operator's."""
    answer = raising.client.get(f"/v1/raise/{name}")
    assert answer.status_code >= 400
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == answer.status_code
    if name in KINDS:
        assert problem["code"] == name
    if name != "HTTPException":
        assert problem["detail"] == f"{COMMAND} (a command is for whoever runs this server)"
    assert traces(caplog) == []


def test_a_message_without_a_command_stays(raising: Local) -> None:
    """What a client can mend itself has no such remark; a host that is refused has it."""
    wrong = raising.client.post("/v1/search", json={"query": "a", "filter": "year>="}).json()["detail"]
    assert "whoever" not in wrong
    host = raising.client.get("/v1/documents", headers={"host": "evil.example"}).json()["detail"]
    assert host.endswith("`sleuth serve --allow-host` adds one (a command is for whoever runs this server)")


@pytest.mark.parametrize(
    ("request_line", "body", "status"),
    [("GET /nothing", None, 404), ("PUT /v1/search", None, 405), ("POST /v1/search", b"{", 400),
     ("POST /v1/search", b'{"k": 1}', 422), ("POST /v1/documents/upload", b"--x", 422),
     ("GET /v1/code/repositories", None, 404), ("GET /v1/documents/nothing", None, 404)],
)  # fmt: skip
def test_a_wrong_request_leaves_no_trace(
    raising: Local, caplog: pytest.LogCaptureFixture, request_line: str, body: bytes | None, status: int
) -> None:
    """What a client does wrong is one line of the log."""
    method, path = request_line.split()
    kind = "multipart/form-data; boundary=x" if "upload" in path else "application/json"
    answer = raising.client.request(method, path, content=body, headers={"content-type": kind})
    assert (answer.status_code, traces(caplog)) == (status, [])


@pytest.mark.parametrize("path", ["/v1/search", "/v1/ask", "/v1/documents/upload"])
def test_a_client_that_hangs_up_is_no_error(
    raising: Local, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    """Whoever leaves before the body is complete makes an entry of level info alone."""
    kind = "application/json" if path in ("/v1/search", "/v1/ask") else "multipart/form-data; boundary=x"
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: 100\r\n\r\n--x"
    )
    with caplog.at_level(logging.INFO, "sleuth.http"):
        with socket.create_connection(("127.0.0.1", raising.port)) as connection:
            connection.sendall(head.encode())
        wait_until(lambda: any(record.message == "request" for record in caplog.records))
    assert {record.levelname for record in caplog.records if record.name == "sleuth.http"} == {"INFO"}


def test_a_fault_of_the_server_has_one_trace(raising: Local, caplog: pytest.LogCaptureFixture) -> None:
    """A bug is a 500 that tells nothing, and the log says where it is."""
    answer = raising.client.get("/v1/raise/bug")
    assert (answer.status_code, answer.json()["code"]) == (500, "InternalError")
    assert "private" not in answer.text
    wait_until(lambda: len(traces(caplog)) == 1)
