"""A key that a server sends back is shown nowhere, whichever client sent it."""

import json
import logging
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.knowledge_base import (
    MultiSliceRetriever,
    check_document_status,
    clients,
    ingestion,
    retriever,
    start_ingestion_with_retry,
)
from sleuth.llm import OpenAIEmbedder, OpenAIGenerator, http
from sleuth.remote.endpoints import forget_endpoints
from sleuth.remote.secrets import Mask
from sleuth.testing.serving import LocalServer, Reply, Request
from sleuth.web import WebRetriever, fetch_page, search_web, service
from sleuth.web.search import WebSearch
from tests.knowledge_base.conftest import set_account

KEY = "sk-hunter2/hunter2=hunter2"
FORMS = (KEY, "hunter2", quote(KEY, safe=""), b64encode(KEY.encode()).decode().rstrip("="))
ECHOES: dict[str, Reply] = {
    "message": Reply(401, json.dumps({"error": {"message": f"bad key {KEY}"}, "message": f"bad key {KEY}"}).encode()),
    "detail": Reply(400, json.dumps({"detail": {"error": f"bad key {KEY}"}, "Message": KEY}).encode()),
    "JSON with slashes": Reply(401, f'{{"error": "bad key {KEY.replace("/", chr(92) + "/")}"}}'.encode()),
    "late in a page": Reply(500, f"x{'y' * 490}{KEY}".encode()),
    "no JSON": Reply(200, f"not JSON {KEY}".encode()),
    "error under 200": Reply(200, json.dumps({"error": f"bad key {KEY}"}).encode()),
    "wrong types": Reply(200, json.dumps({"data": [{"embedding": KEY}], "choices": KEY, "results": KEY}).encode()),
    "encoding": Reply(200, b"".join(b"%02x" % ord(c) for c in KEY), {"Content-Encoding": KEY}),
    "type": Reply(200, b"x", {"Content-Type": KEY}),
    "headers": Reply(200, b"{}", {f"X-{KEY[:4]}": KEY, "Content-Length": KEY}),
    "error header": Reply(403, b"{}", {"x-amzn-ErrorType": KEY, "Retry-After": KEY}),
    "redirect": Reply(302, b"", {"Location": f"http://127.0.0.1/?{KEY}"}),
    "redirect to nothing": Reply(302, b"", {"Location": f"http://[{KEY}"}),
    "percent-encoded": Reply(401, quote(KEY, safe="").encode()),
    "base64": Reply(401, b64encode(KEY.encode())),
    "escapes": Reply(401, "".join(f"{chr(92)}u{ord(c):04x}" for c in KEY).join(['{"error": "', '"}']).encode()),
}  # fmt: skip


class EchoServer(LocalServer):
    """Gives one answer to every request."""

    reply = Reply(500)

    def answer(self, request: Request) -> Reply:
        return self.reply


@pytest.fixture(scope="module")
def running() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server
    clients._aws_client.cache_clear()


@pytest.fixture
def server(running: EchoServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> EchoServer:
    """Return the server, with quick retries and an AWS account whose session token is the key."""
    monkeypatch.setattr(http, "BACKOFF", 0.001)
    monkeypatch.setattr(service, "BACKOFF", 0.001)
    monkeypatch.setattr(retriever, "_BACKOFF", 0.001)
    monkeypatch.setattr(ingestion, "_STATUS_DELAY", 0.001)
    monkeypatch.chdir(tmp_path)
    set_account(monkeypatch, running.url, KEY)
    monkeypatch.setenv("AWS_SESSION_TOKEN", KEY)
    forget_endpoints()
    running.requests.clear()
    return running


def openai(url: str) -> dict[str, Any]:
    return {"base_url": f"{url}/v1", "api_key": KEY, "timeout": 5}


def local(url: str, **options: Any) -> dict[str, Any]:
    return {"base_url": url, "api_key": KEY, "timeout": 5, **options}


CLIENTS: dict[str, Callable[[str], object]] = {
    "generator": lambda url: OpenAIGenerator("m", **openai(url)).complete("x"),
    "streaming generator": lambda url: list(OpenAIGenerator("m", **openai(url)).stream("x")),
    "embedder": lambda url: OpenAIEmbedder("m", **openai(url)).embed_query("x"),
    "Tavily": lambda url: search_web("x", **local(url)),
    "Tavily, query id": lambda url: search_web("x", query_id="q", **local(url)),
    "web retriever": lambda url: WebRetriever(**local(url)).retrieve("x"),
    "page": lambda url: fetch_page(f"{url}/?key={KEY}", allow_networks=["127.0.0.0/8"], timeout=60),
    "knowledge base": lambda url: MultiSliceRetriever().retrieve("x", "KB12345678", "DS12345678"),
    "ingestion": lambda url: start_ingestion_with_retry("KB12345678", "DS12345678", max_retries=0),
    "status": lambda url: check_document_status("KB12345678", "DS12345678", "s3://b/x", sleep_first=False),
}
"""Every client that sends a key."""


def chain(error: BaseException) -> list[BaseException]:
    """Return an error with all of its causes and contexts."""
    errors: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        if (one := waiting.pop()) is not None and one not in errors:
            errors.append(one)
            waiting += [one.__cause__, one.__context__]
    return errors


@pytest.mark.parametrize("reply", ECHOES.values(), ids=ECHOES)
@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_an_echoed_key_is_shown_nowhere(
    server: EchoServer, client: Callable[[str], object], reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    """A key that the server sends back is in no message, cause, argument, attribute, log, result or traceback."""
    caplog.set_level(logging.DEBUG, "sleuth")
    server.reply = reply
    texts = ""
    try:
        texts += repr(client(server.url))
    except Exception as error:  # noqa: BLE001 - each client has errors of its own
        texts += "".join(traceback.format_exception(error))
        texts += "".join(f"{one!r} {one.args!r} {vars(one)!r}" for one in chain(error))
    texts += caplog.text
    assert server.requests
    assert [form for form in FORMS if form in texts] == []


def test_clients_do_not_show_their_key() -> None:
    """The repr of a client, and of what it asks through, has no form of its key."""
    model, search = OpenAIGenerator("m", **openai("http://a")), WebSearch(**local("http://127.0.0.1"))
    shown = f"{model!r} {model._client!r} {search!r} {search._client!r} {WebRetriever(**local('http://127.0.0.1'))!r}"
    assert [form for form in FORMS if form in shown] == []


keys = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40)


@given(keys, st.binary(max_size=40), st.binary(max_size=40))
def test_every_form_is_hidden(key: str, before: bytes, after: bytes) -> None:
    """A key is hidden as plain text, percent-encoded and in base64, and the number of bytes stays."""
    mask = Mask.of_headers({"Authorization": f"Bearer {key}"})
    for form in (key, quote(key, safe=""), b64encode(key.encode()).decode().rstrip("=")):
        data = before + form.encode() + after
        assert len(mask.hide_bytes(data)) == len(data)
        assert form.encode() not in mask.hide_bytes(data) or "*" in form
        assert mask.hide(form) == "[key]" or form == "[key]"


@given(st.binary(max_size=80))
def test_without_keys_nothing_changes(data: bytes) -> None:
    """Without a key, or with texts too short for one, nothing is hidden."""
    assert Mask.of_headers({"Accept": "text/html", "Authorization": "Basic x"}).hide_bytes(data) == data
