"""Requests to models use the proxies of the environment."""

import json

import pytest

from sleuth.errors import ArgumentError
from sleuth.llm import OpenAIGenerator
from sleuth.remote.hosts import proxy_for
from sleuth.testing.serving import LocalServer, Reply, Request


class ForwardProxy(LocalServer):
    """A proxy that answers requests itself."""

    def answer(self, request: Request) -> Reply:
        content = {"choices": [{"message": {"content": request.path}}]}
        return Reply(200, json.dumps(content).encode())


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def test_a_request_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy gets the full address and its own credentials, and the host is not resolved locally."""
    with ForwardProxy() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("http://", "http://user:hunter2@"))
        model = OpenAIGenerator("m", "http://models.invalid/v1", timeout=60)
        assert model.complete("x") == "http://models.invalid/v1/chat/completions"
        assert proxy.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpodW50ZXIy"
        assert "hunter2" not in repr(proxy_for("http", "models.invalid"))


def test_hosts_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts in NO_PROXY are contacted directly."""
    monkeypatch.setenv("ALL_PROXY", "http://proxy.invalid:3128")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,example.org")
    assert proxy_for("https", "www.example.org") is None
    proxy = proxy_for("https", "example.com")
    assert proxy is not None
    assert (proxy.url, proxy.host, proxy.port, proxy.auth) == (
        "http://proxy.invalid:3128", "proxy.invalid", 3128, None,
    )  # fmt: skip


def test_what_is_no_http_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that is not HTTP raises an error with its variable and without its password."""
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:hunter2@proxy.invalid:1080")
    with pytest.raises(ArgumentError, match="HTTPS_PROXY must be") as refused:
        proxy_for("https", "example.org")
    assert "hunter2" not in str(refused.value)
