"""Readers sign in with keys, and see only what their key allows, on the page and by the tools for agents."""

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import pytest

from sleuth.errors import ArgumentError
from sleuth.surfaces.http import ServerSettings, add_key

from .conftest import pages


@pytest.fixture(scope="module")
def keyed(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Return the address of a server with keys, and a key that is limited to team 1."""
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    key = add_key(keys, "reader", ("read",), 'team:"team 1"')
    with pages(corpus, "docs", "code", keys=keys) as started:
        yield started.url, key


@pytest.fixture
def client(keyed: tuple[str, str]) -> Iterator[httpx.Client]:
    """A browser that has not signed in."""
    with httpx.Client(base_url=keyed[0], timeout=30) as client:
        yield client


def sign_in(client: httpx.Client, key: str, target: str = "/") -> httpx.Response:
    """Send the form of a reader who wants to go on to a page."""
    return client.post("/sign-in", data={"key": key, "next": target})


def test_strangers_see_the_form_and_nothing_else(client: httpx.Client) -> None:
    """Without a key every page is the sign-in form."""
    for path in ("/", "/?q=quotas", "/source?id=t1.md", "/symbol?name=TokenBucket", "/original?id=t1.md"):
        response = client.get(path)
        assert response.status_code == 401
        assert "Sign in" in response.text
        assert "Quotas" not in response.text
    assert [client.get(path).status_code for path in ("/answer?q=quotas", "/suggest?q=quot")] == [401, 401]
    assert client.post("/mcp", json={}).status_code == 401


def test_a_key_that_lets_nobody_in_is_told_so(corpus: Path, tmp_path: Path) -> None:
    """An unknown key gives the form again, and no cookie; one that may not read, or not so often, says so."""
    keys = tmp_path / "keys.json"
    writer, slow = add_key(keys, "writer", ("write",)), add_key(keys, "slow", rate=1)
    with pages(corpus, keys=keys) as server:
        unknown = sign_in(server.client, "sleuth_nothing")
        assert (unknown.status_code, dict(unknown.cookies)) == (403, {})
        sign_in(server.client, writer)
        assert "This key may not read." in server.client.get("/").text
        sign_in(server.client, slow)
        answers = [server.client.get("/") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert "Too many requests." in answers[1].text


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/\\evil.example"])
def test_signing_in_stays_on_the_site(keyed: tuple[str, str], client: httpx.Client, target: str) -> None:
    """Signing in redirects only to a page of this server, whatever the form says."""
    assert sign_in(client, keyed[1], target).headers["location"] == "/"


def test_the_cookie_does_not_hold_the_key(keyed: tuple[str, str], client: httpx.Client) -> None:
    """The cookie is a signed session, readable by no script, sent to no other site; a forged one is no session."""
    cookie = sign_in(client, keyed[1]).headers["set-cookie"]
    assert keyed[1] not in cookie
    assert "secure" not in cookie.lower()
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower()
    assert client.get("/").status_code == 200
    for name, value in (("sleuth_session", keyed[1]), ("sleuth_key", keyed[1]), ("sleuth_session", "x.1.y")):
        assert httpx.get(keyed[0], cookies={name: value}, timeout=30).status_code == 401


@pytest.mark.parametrize(
    ("proxies", "is_secure"), [(("127.0.0.0/8",), True), (("10.0.0.1",), False), ((), False)]
)
def test_behind_tls_of_a_trusted_proxy_the_cookie_is_secure(
    corpus: Path, tmp_path: Path, proxies: tuple[str, ...], is_secure: bool
) -> None:
    """`X-Forwarded-Proto` counts where the settings name its sender, and nowhere else."""
    keys = tmp_path / "keys.json"
    key = add_key(keys, "reader")
    with pages(corpus, keys=keys, trust_proxy=proxies) as started:
        headers = {"x-forwarded-proto": "https"}
        response = httpx.post(f"{started.url}/sign-in", data={"key": key}, headers=headers, timeout=30)
    cookie = response.headers["set-cookie"].lower()
    assert ("; secure" in cookie, "httponly" in cookie) == (is_secure, True)


def test_a_proxy_is_an_address() -> None:
    """Names and wildcards of proxies are refused."""
    for name in ("*", "proxy.example", ""):
        with pytest.raises(ArgumentError, match="trust_proxy must be addresses or networks"):
            ServerSettings(trust_proxy=(name,))


def test_readers_see_what_their_key_allows(keyed: tuple[str, str], client: httpx.Client) -> None:
    """Results, facets, answers, sources and definitions apply the filter of the reader's key."""
    sign_in(client, keyed[1])
    assert "10 documents" in client.get("/").text
    page = client.get("/", params={"q": "quotas team items", "in": "docs"}).text
    assert ("Quotas" in page, "team 2" in page) == (True, False)
    assert client.get("/source", params={"id": "t1.md"}).status_code == 200
    assert client.get("/source", params={"id": "t2.md"}).status_code == 404
    assert client.get("/symbol", params={"name": "TokenBucket"}).status_code == 404
    html = client.get("/", params={"q": "TokenBucket"}).text
    assert ("class TokenBucket" in html, ">code<" in html) == (False, False)
    answer = client.get("/answer", params={"q": "how many items do quotas of team hold", "in": "docs"}).text
    assert ("event: done" in answer, "t2.md" in answer) == (True, False)
    client.post("/sign-out")
    assert client.get("/").status_code == 401


def test_agents_over_http_have_the_same_keys(keyed: tuple[str, str]) -> None:
    """A client of the SDK with a key searches over streamable HTTP within the key's filter, and gets addresses."""
    pytest.importorskip("mcp")
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    address, key = keyed

    async def session() -> list[dict[str, str]]:
        headers = {"authorization": f"Bearer {key}"}
        async with (
            create_mcp_http_client(headers=headers) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
        ):
            result = await client.call_tool("search", {"query": "quotas team items", "k": 50})
            assert not result.is_error, result.content
            results: list[dict[str, str]] = json.loads(getattr(result.content[0], "text", ""))["results"]
            return results

    results = anyio.run(session)
    assert len(results) == 10
    assert all(result["url"].startswith(f"{address}/source?id=t") for result in results)
