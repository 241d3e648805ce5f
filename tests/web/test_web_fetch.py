"""fetch_page: refused addresses, and the text of pages."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import ArgumentError, WebError
from sleuth.remote.hosts import is_public
from sleuth.testing.serving import LocalServer, Reply, Request
from sleuth.web import afetch_page, fetch_page
from sleuth.web import robots as robots_rules
from sleuth.web.fetch import Page

LOOPBACK = ["127.0.0.1/32"]
ARTICLE = Path(__file__).with_name("article.txt").read_text("utf8")
HTML = {"Content-Type": "text/html; charset=utf-8"}


class Site(LocalServer):
    """Pages by path."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, Reply] = {"/tides": Reply(200, ARTICLE.encode(), HTML)}

    def answer(self, request: Request) -> Reply:
        return self.pages.get(request.path, Reply(404))

    def redirect(self, path: str, target: str, status: int = 302) -> None:
        self.pages[path] = Reply(status, headers={"Location": target})


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


def fetch(url: str, **extra: Any) -> Page:
    return fetch_page(url, allow_networks=LOOPBACK, **extra)


PRIVATE = [
    "127.0.0.1", "0.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1", "::1", "::", "fc00::1", "fe80::1",
    "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::",
    "2002:a00:1::", "2002:101:101::", "2001:db8::1", "3fff::1", "fec0::1", "5f00::1", "::7f00:1",
    "::ffff:0:a00:1", "64:ff9b:1::1", "100::1", "4000::1", "2001::1", "2001:1::1", "2001:20::1",
    "168.63.129.16", "::ffff:168.63.129.16", "64:ff9b::a83f:8110", "100.100.100.200", "192.0.0.9",
    "192.0.0.192", "192.88.99.1", "161.26.0.1", "166.9.0.1", "fd00:ec2::254",
]  # fmt: skip
PUBLIC = [
    "1.1.1.1", "93.184.216.34", "168.63.129.15", "2606:4700::1111", "2a00:1450::1", "64:ff9b::101:101",
    "::ffff:1.1.1.1",
]  # fmt: skip


@pytest.mark.parametrize(
    ("address", "public"), [*((a, False) for a in PRIVATE), *((a, True) for a in PUBLIC)]
)
def test_private_addresses(address: str, public: bool) -> None:
    """Loopback, private, link-local, shared, multicast and reserved addresses are not public, in any notation."""
    assert is_public(ipaddress.ip_address(address)) is public


@given(st.ip_addresses(v=4))
def test_disguises_change_nothing(address: ipaddress.IPv4Address) -> None:
    """An IPv4 address in IPv6 notation is as public as in its own."""
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    translated = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) + int(address))
    assert is_public(mapped) == is_public(translated) == is_public(address)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "[::ffff:127.0.0.1]", "10.0.0.1"]
)
def test_private_hosts_are_refused(site: Site, host: str) -> None:
    """A host that resolves to a private address is refused, and nothing is sent to it."""
    with pytest.raises(WebError, match="not a public address"):
        fetch_page(f"{site.url.replace('127.0.0.1', host)}/tides")
    assert site.requests == []


@pytest.mark.parametrize(
    "target", ["http://127.0.0.2:{port}/tides", "http://10.0.0.1/", "//169.254.169.254/latest"]
)
def test_redirects_inwards_are_refused(site: Site, target: str) -> None:
    """Each redirect is checked like the first address."""
    site.redirect("/out", target.format(port=site.url.rpartition(":")[2]))
    with pytest.raises(WebError, match="not a public address"):
        fetch(f"{site.url}/out", obey_robots=False)
    assert len(site.requests) == 1


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://example.org/x", "gopher://x/", "http://user:pw@x.org/"]
)
def test_other_schemes_are_refused(site: Site, target: str) -> None:
    """Only http and https without credentials are accepted, also in redirects."""
    site.redirect("/out", target)
    for url in (f"{site.url}/out", target):
        with pytest.raises(WebError, match="http or https address"):
            fetch(url, obey_robots=False)


def test_a_name_is_looked_up_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checked address is the one that is connected to; the name is not resolved again."""
    port = int(site.url.rpartition(":")[2])
    real, names = socket.getaddrinfo, list[str]()

    def getaddrinfo(host: str, *rest: Any, **more: Any) -> Any:
        if host != "rebinding.example":
            return real(host, *rest, **more)
        names.append(host)
        return real("127.0.0.1" if len(names) == 1 else "127.0.0.9", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert fetch(f"http://rebinding.example:{port}/tides", obey_robots=False).title == "The tides"
    assert names == ["rebinding.example"]
    assert site.requests[0].headers["host"] == f"rebinding.example:{port}"
    with pytest.raises(WebError, match=r"127\.0\.0\.9 is not a public address"):
        fetch(f"http://rebinding.example:{port}/tides", obey_robots=False)


def test_addresses_beyond_ascii(site: Site) -> None:
    """A path or query in any script is sent as UTF-8, percent-encoded once; an invalid host is refused."""
    site.pages["/gr%C3%B6%C3%9Fe/%20?q=%E6%BD%AE"] = Reply(200, ARTICLE.encode(), HTML)
    assert fetch(f"{site.url}/größe/%20?q=潮", obey_robots=False).title == "The tides"
    with pytest.raises(WebError, match=r"valid host|was not found"):
        fetch(f"http://{'ä' * 100}.example/")


def test_any_private_address_refuses_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with a public and a private address is refused."""
    both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80)) for ip in ("1.1.1.1", "10.0.0.1")]
    monkeypatch.setattr("sleuth.remote.hosts.socket.getaddrinfo", lambda *rest, **more: both)
    with pytest.raises(WebError, match=r"10\.0\.0\.1 is not a public address"):
        fetch_page("http://two-faced.example/")


def test_readable_text(site: Site) -> None:
    """The text is the readable part of a page, without menus, scripts and footers."""
    page = fetch(f"{site.url}/tides")
    assert page.title == "The tides"
    assert "rises and falls twice a day" in page.text
    assert "neap tides" in page.text
    assert not any(word in page.text for word in ("alert", "Imprint", "Cookies"))
    assert asyncio.run(afetch_page(f"{site.url}/tides", allow_networks=LOOPBACK)) == page


@pytest.mark.parametrize(
    "secret", ["/odd?token=hunter2", "/odd#hunter2", "/odd;key=hunter2", "/odd%3Fkey=hunter2"]
)
def test_secrets_of_an_address_are_not_shown(site: Site, secret: str) -> None:
    """The query and fragment of an address are in no message and no attribute of errors."""
    for path in (secret, f"{secret}/404", secret.replace("odd", "old")):
        site.pages[path.partition("#")[0]] = Reply(
            302, headers={"Location": f"{site.url}/no-page?key=hunter2"}
        )
        with pytest.raises(WebError) as failed:
            fetch(f"{site.url}{path}")
        error: BaseException | None = failed.value
        while error is not None:
            assert "hunter2" not in f"{error!r} {vars(error)}"
            error = error.__cause__ or error.__context__
    for scheme in ("ftp", "http"):
        with pytest.raises(WebError) as refused:
            fetch(f"{scheme}://user:hunter2@host{secret}")
        assert "hunter2" not in f"{refused.value!r} {vars(refused.value)} {refused.value.__context__!r}"


def test_redirects_are_followed(site: Site) -> None:
    """The url of the page is the one after redirects."""
    site.redirect("/old", "/older", 301)
    site.redirect("/older", f"{site.url}/tides#top", 307)
    assert fetch(f"{site.url}/old").url == f"{site.url}/tides"


def test_plain_text(site: Site) -> None:
    """Text and pages are decoded by the charset of their header, even by an unknown one, without a mark."""
    for charset, body in (
        ("latin-1", "Größe".encode("latin-1")),
        ("utf-8", "Größe".encode()),
        ("x-none", b"Gr"),
        ("idna", b"Gr"),
        ("undefined", b"Gr"),
    ):
        site.pages["/text"] = Reply(200, body, {"Content-Type": f"text/plain; charset={charset}"})
        assert fetch(f"{site.url}/text").text == body.decode("latin-1" if charset == "latin-1" else "utf-8")
    text = "Zażółć gęślą jaźń, zdanie o pogodzie w Krakowie i o ludziach."
    site.pages["/text"] = Reply(200, text.encode("utf-8-sig"), {"Content-Type": "text/plain"})
    page = f"<html><body><p>{text}</p></body></html>".encode("iso-8859-2")
    site.pages["/page"] = Reply(200, page, {"Content-Type": "text/html; charset=iso-8859-2"})
    assert fetch(f"{site.url}/text").text == fetch(f"{site.url}/page").text == text


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(404, b"gone", HTML), "answered 404"),
        (Reply(500, b"", HTML), "answered 500"),
        (Reply(302), "redirects to nowhere"),
        (Reply(302, b"", {"Location": "http://[bad"}), "which is no address"),
        (Reply(200, b"%PDF-1.7", {"Content-Type": "application/pdf"}), "application/pdf"),
        (Reply(200, b"\x1f\x8b", {**HTML, "Content-Encoding": "gzip"}), "not asked for"),
        (Reply(200, b"x" * 20_000, HTML), "larger than 10000 bytes"),
        (Reply(200, headers=HTML, pieces=[b"x" * 8_000] * 2), "larger than 10000 bytes"),
        (Reply(200, b"<html></html>", HTML), "no readable text"),
    ],
)
def test_what_is_no_page(site: Site, reply: Reply, message: str) -> None:
    """An error status, another type, and a page that is too large or has no text raise an error that says so."""
    site.pages["/odd"] = reply
    with pytest.raises(WebError, match=message):
        fetch(f"{site.url}/odd", max_bytes=10_000)


def robots(*lines: str, status: int = 200) -> Reply:
    return Reply(status, "\n".join(lines).encode(), {"Content-Type": "text/plain"})


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        (robots("User-agent: *", "Disallow: /private"), True),
        (robots("User-agent: *", "Disallow: /tides"), False),
        (robots("\ufeffUser-agent: *", "Disallow: /tides"), False),
        (robots("User-agent: sleuth", "Disallow: /"), False),
        (robots("User-agent: othercrawler", "Disallow: /"), True),
        (robots("User-agent: *", "Disallow: /", "User-agent: sleuth", "Allow: /"), True),
        (robots("User-agent: *", "Allow: /", "Disallow: /tides"), False),
        (robots("User-agent: *", "Disallow: /", "Allow: /tides$"), True),
        (robots("User-agent: *", "Disallow: /*des$"), False),
        (robots("User-agent: *", "Disallow: /*.pdf$"), True),
        (robots("User-agent: *", "Disallow: /" + "*t" * 5000), True),
        (robots("User-agent: *", "Disallow: /private", *["Allow: /more"] * 40_000, "Disallow: /"), True),
        (robots("User-agent: *", "Disallow: /tides", "#" * 511_970, "Allow: /tides$"), False),
        (robots(status=404), True),
        (robots(status=403), True),
        (robots(status=503), False),
        (robots(status=429), False),
    ],
)
def test_robots(site: Site, rules: Reply, allowed: bool) -> None:
    """robots.txt is fetched first and obeyed; a missing one allows, a failing one forbids (RFC 9309)."""
    site.pages["/robots.txt"] = rules
    if allowed:
        assert fetch(f"{site.url}/tides").title == "The tides"
    else:
        with pytest.raises(WebError, match=r"robots\.txt"):
            fetch(f"{site.url}/tides")
    assert site.requests[0].path == "/robots.txt"
    assert fetch(f"{site.url}/tides", obey_robots=False).title == "The tides"


def test_robots_that_redirects_inwards(site: Site) -> None:
    """A robots.txt that redirects to a private address is not fetched from there, and nothing of the site is."""
    with Site() as inner:
        inner.pages["/robots.txt"] = robots("User-agent: *", "Allow: /")
        port = inner.url.rpartition(":")[2]
        site.redirect("/robots.txt", f"http://[::ffff:127.0.0.1]:{port}/robots.txt")
        with pytest.raises(WebError, match=r"robots\.txt"):
            fetch(f"{site.url}/tides")
        assert inner.requests == []
    assert [request.path for request in site.requests] == ["/robots.txt"]


def test_robots_is_asked_once_an_hour(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of a site are kept for its other pages, and fetched again when they are too old."""
    for _ in range(2):
        fetch(f"{site.url}/tides")
    assert [request.path for request in site.requests] == ["/robots.txt", "/tides", "/tides"]
    site.pages["/robots.txt"] = robots("User-agent: *", "Disallow: /")
    later = monotonic() + 3601
    monkeypatch.setattr("sleuth.web.robots.monotonic", lambda: later)
    with pytest.raises(WebError, match=r"robots\.txt"):
        fetch(f"{site.url}/tides")


def test_rules_of_a_bounded_number_of_sites_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules that were fetched first are dropped, and are fetched again when they are needed."""
    monkeypatch.setattr("sleuth.web.robots._SITES", 2)
    urls: list[str] = []

    def missing(url: str) -> tuple[int, bytes]:
        urls.append(url)
        return 404, b""

    for number in (1, 2, 3, 3, 2, 1):
        assert robots_rules.allowed(f"http://site-{number}.example/page", "sleuth", missing)
    assert urls == [f"http://site-{number}.example/robots.txt" for number in (1, 2, 3, 1)]


@pytest.mark.parametrize(
    "bad", [{"timeout": 0}, {"timeout": "5"}, {"allow_networks": 5}, {"url": 5}], ids=str
)
def test_arguments(bad: dict[str, Any]) -> None:
    """A timeout must be finite and above 0, and other values of their types."""
    with pytest.raises(ArgumentError, match=f"{next(iter(bad))} must "):
        fetch_page(**{"url": "http://example.org", **bad})
