"""HTTP requests over TLS to a checked address, and responses of any form."""

import ipaddress
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import WebError
from sleuth.remote import Deadline, exchange
from sleuth.testing.serving import LocalServer, Reply, Request
from sleuth.web import http, service
from sleuth.web.service import RemoteService
from sleuth.web.tavily import TAVILY

LOOPBACK = [ipaddress.ip_address("127.0.0.1")]


class Naming(LocalServer):
    """Answers with the host that a request names."""

    def answer(self, request: Request) -> Reply:
        return Reply(200, request.headers["host"].encode())


@pytest.fixture
def secure(certificate: tuple[Path, Path]) -> Iterator[str]:
    with Naming(certificate) as server:
        yield f"https://tls.example:{server.url.rpartition(':')[2]}"


def get(url: str) -> exchange.Response:
    return http.request("GET", url, LOOPBACK, deadline=Deadline(5.0), max_bytes=1000)


@pytest.mark.usefixtures("trusted")
def test_the_name_is_checked_at_the_address_given(secure: str) -> None:
    """TLS to the given address checks the URL's name: a certificate for another name is refused."""
    answer = get(f"{secure}/x")
    assert (answer.status, answer.body.decode()) == (200, secure.removeprefix("https://"))
    with pytest.raises(WebError, match="no valid certificate"):
        get(secure.replace("tls.example", "other.example"))


def test_a_certificate_of_nobody_is_refused(secure: str) -> None:
    """An unknown issuer is a permanent failure, which is not retried."""
    with pytest.raises(WebError, match="no valid certificate") as caught:
        get(secure)
    assert not isinstance(caught.value, http.BrokenConnectionError)


@pytest.mark.parametrize(
    "url", ["https://u:p@a.org/", "https://a.org:99999/", "http://[::1/", "http:///x", "a", "http://a b/"]
)
def test_bad_urls(url: str) -> None:
    """A URL that is not http, or has credentials, is refused before anything is sent."""
    with pytest.raises(WebError, match="url must be"):
        http.address_parts(url)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.sampled_from(["url", "content", "score", "x"]), part)
    ),
    max_leaves=12,
)


@given(st.one_of(JSON, st.fixed_dictionaries({"results": st.lists(JSON, max_size=4)})))
def test_any_json_is_hits_or_an_error(value: Any) -> None:
    """Any JSON of a service becomes hits, or one error that says what was wrong."""
    try:
        hits = RemoteService(TAVILY, "k", "https://x.org").read_hits(json.dumps(value).encode())
    except WebError as error:
        assert "results" in str(error)
        return
    assert len({hit.url for hit in hits}) == len(hits)
    assert all(hit.content and hit.domain and abs(hit.score) < 1e9 for hit in hits)


@given(st.binary(max_size=40))
def test_any_bytes_are_hits_or_an_error(body: bytes) -> None:
    """Broken JSON and deep nesting become an error."""
    for answer in (body, b"[" * 100_000 + body):
        with pytest.raises(WebError):
            RemoteService(TAVILY, "k", "https://x.org").read_hits(answer)


@given(st.text(max_size=60))
def test_cleaned_text_is_stable(text: str) -> None:
    """Cleaned text is one trimmed line of valid UTF-8."""
    cleaned = service.clean(text)
    assert cleaned.encode().decode() == cleaned
    assert cleaned == " ".join(cleaned.split())
