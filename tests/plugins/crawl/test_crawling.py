"""Crawling a site of loopback into an index: bounds, `robots.txt`, hosts, versions of pages, and kills."""

import gzip
import json
import re
import shlex
import signal
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sleuth import Engine
from sleuth.errors import ArgumentError, WebError
from sleuth.ingest import IndexReport
from sleuth.plugins.crawl import CrawlLimits, SiteSource
from sleuth.testing.serving import LocalServer, Reply, Request
from sleuth.web import robots
from tests.commands import python, sleuth

HTML = {"Content-Type": "text/html; charset=utf-8"}


def article(title: str, *links: str, head: str = "") -> bytes:
    """Return a page with a text about its title, and links."""
    anchors = " ".join(f'<a href="{link}">{link}</a>' for link in links)
    text = f"The {title} rises and falls twice a day, because the moon pulls at the water of the oceans."
    return f"""<html><head><title>The {title}</title>{head}</head><body><nav>{anchors}</nav>
<article><h1>The {title}</h1><p>{text}</p><p>Sun and moon pull at the {title} together.</p></article></body></html>
""".encode()


class Site(LocalServer):
    """Pages by path, with the version of each as its ETag."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, Reply] = {}

    def add(self, path: str, body: bytes, **headers: str) -> None:
        """Serve a page."""
        tag = f'"{sha256(body).hexdigest()[:12]}"'
        version = {"ETag": tag, "Last-Modified": "Mon, 02 Mar 2026 10:00:00 GMT"}
        self.pages[path] = Reply(200, body, {**HTML, **version, **headers})

    def robots(self, rule: str) -> None:
        """Serve a rule for all robots."""
        self.pages["/robots.txt"] = Reply(
            200, f"User-agent: *\n{rule}\n".encode(), {"Content-Type": "text/plain"}
        )

    def answer(self, request: Request) -> Reply:
        reply = self.pages.get(request.path, Reply(404, b"no such page"))
        if "ETag" in reply.headers and request.headers.get("if-none-match") == reply.headers["ETag"]:
            return Reply(304, b"", {"ETag": reply.headers["ETag"]})
        return reply

    @property
    def paths(self) -> list[str]:
        """Paths that were asked, without `robots.txt`."""
        return [request.path for request in self.requests if request.path != "/robots.txt"]


@pytest.fixture
def site() -> Iterator[Site]:
    """A site of five pages in a circle, with links that a crawl must not follow."""
    robots._rules_by_site.clear()
    with Site() as running:
        running.robots("Disallow: /private")
        links = ("/one", "two", "/private", "http://127.0.0.2:1/out", "/x.png", "mailto:a@b")
        running.add("/", article("tide", *links))
        running.add("/one", article("ebb", "/", "/three#part", "/one?q=1#x"))
        running.add("/one?q=1", article("ebb of a query"))
        running.add("/two", article("flood", "/one", "https://[broken"))
        running.add("/three", article("wave", "/"))
        running.add("/private", article("secret"))
        yield running


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return how long a crawl would have waited each time."""
    seconds: list[float] = []
    monkeypatch.setattr("sleuth.remote.Deadline.sleep", lambda self, wait: seconds.append(wait))
    return seconds


class Crawled(NamedTuple):
    """A run over a site, and the source that it asked."""

    report: IndexReport
    source: SiteSource

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Pages that were added, updated, not sent again, and deleted."""
        report = self.report
        return report.added, report.updated, self.source.not_modified, report.pruned

    @property
    def is_complete(self) -> bool:
        """Whether no address is left."""
        return self.source.crawl.is_complete

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """Addresses that could not be read, and why."""
        return [(skip.path, skip.reason) for skip in self.report.skipped if skip.kind != "vanished"]


def crawl(engine: Engine, start: str, memory: Path | None = None, **limits: Any) -> Crawled:
    source = SiteSource(start, CrawlLimits(delay=0, allow_networks=("127.0.0.0/8",), **limits), memory)
    return Crawled(engine.index([source], prune=True), source)


def names(engine: Engine, site: Site) -> set[str]:
    """Return the paths of the documents."""
    return {document.id.removeprefix(site.url) for document in engine.documents()}


def test_pages_of_one_host_become_documents(site: Site, engine: Engine) -> None:
    """Links are followed once each, on the same host; a document is named by its address and has its title."""
    report = crawl(engine, f"{site.url}/#top")
    assert names(engine, site) == {"/", "/one", "/one?q=1", "/two", "/three"}
    assert sorted(site.paths) == ["/", "/one", "/one?q=1", "/three", "/two"]
    assert (report.source.crawl.pages, report.counts[0], report.is_complete) == (6, 5, True)
    assert [reason for _, reason in report.skipped if "robots.txt" in reason]
    (item,) = engine.retrieve("sun and moon pull at the flood", 1)
    assert item.document_id == f"{site.url}/two"
    assert (item.metadata["title"], item.metadata["domain"]) == ("The flood", "127.0.0.1")
    assert (item.metadata["url"], item.metadata["source_type"]) == (f"{site.url}/two", "web")
    assert item.metadata["modified"] == "2026-03-02T10:00:00Z"


def test_a_sitemap_lists_pages_whose_links_are_not_followed(site: Site, engine: Engine) -> None:
    """An index of sitemaps, a packed one, CDATA and entities are read; addresses of other hosts are left out."""
    first = f"<urlset><url><loc>\n {site.url}/one </loc></url><url><loc>https://other.example/</loc></url></urlset>"
    third, fourth = f"<![CDATA[{site.url}/one?q=1]]>", f"{site.url}/three"
    second = f"<urlset><url><loc>{third}</loc></url><url><loc>{fourth}</loc></url></urlset>"
    both = f"<loc>{site.url}/a.xml</loc><loc>{site.url}/b.xml.gz</loc>"
    xml = {"Content-Type": "application/xml"}
    site.pages["/sitemap.xml"] = Reply(
        200, f"<?xml version='1.0'?><sitemapindex>{both}</sitemapindex>".encode(), xml
    )
    site.pages["/a.xml"] = Reply(200, first.encode(), xml)
    site.pages["/b.xml.gz"] = Reply(200, gzip.compress(second.encode()), {"Content-Type": "application/gzip"})
    report = crawl(engine, f"{site.url}/sitemap.xml")
    assert names(engine, site) == {"/one", "/one?q=1", "/three"}
    assert (report.source.crawl.pages, report.is_complete) == (6, True)


def test_what_did_not_change_is_not_sent_again(site: Site, engine: Engine, tmp_path: Path) -> None:
    """A second crawl sends the versions of the first: changed pages alone are read, and one that is gone is deleted."""
    memory = tmp_path / "memory.jsonl"
    assert crawl(engine, f"{site.url}/", memory).counts == (5, 0, 0, 0)
    site.add("/two", article("spring tide", "/one", "/new"))
    site.add("/new", article("current"))
    del site.pages["/three"]
    report = crawl(engine, f"{site.url}/", memory)
    assert report.counts == (1, 1, 3, 1)
    assert names(engine, site) == {"/", "/one", "/one?q=1", "/two", "/new"}
    assert engine.retrieve("spring tide", 1)[0].document_id == f"{site.url}/two"
    report = crawl(engine, f"{site.url}/", memory)
    assert report.counts == (0, 0, 5, 0)
    assert report.is_complete
    engine.delete([f"{site.url}/two"])  # a page is asked for as before only while the index has its document
    report = crawl(engine, f"{site.url}/", memory)
    assert report.counts == (1, 0, 4, 0)


def test_limits_end_a_crawl_and_the_next_goes_on(site: Site, engine: Engine, tmp_path: Path) -> None:
    """After its number of requests a crawl ends, and the next one does not ask for these pages again."""
    memory = tmp_path / "memory.jsonl"
    report = crawl(engine, f"{site.url}/", memory, pages=2)
    assert (report.source.crawl.pages, report.counts[0], report.is_complete) == (2, 2, False)
    assert report.source.crawl.waiting > 0
    report = crawl(engine, f"{site.url}/", memory, pages=100)
    assert (report.counts[0], report.is_complete) == (3, True)
    assert len(site.paths) == len(set(site.paths))
    assert not crawl(engine, f"{site.url}/", max_bytes=1000).is_complete
    assert not crawl(engine, f"{site.url}/", seconds=0.000001).is_complete


KILLED_CRAWL = """
import os, signal, sys
from pathlib import Path
from sleuth import Engine
from sleuth.ingest import documents
from sleuth.plugins.crawl import CrawlLimits, SiteSource

documents.COMMIT_SECONDS, SiteSource.batch = 0.0, 1
site = SiteSource(sys.argv[1], CrawlLimits(delay=0, allow_networks=("127.0.0.0/8",)), "memory.jsonl")
with Engine.open(".sleuth", embedder="") as engine:
    engine.index([site], progress=lambda _: site.crawl.pages >= 4 and os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_crawl_that_was_killed_goes_on(site: Site, engine: Engine, tmp_path: Path) -> None:
    """Pages of committed batches are not asked again, also if the last line of the memory is cut short."""
    process = python(KILLED_CRAWL, f"{site.url}/", cwd=tmp_path)
    assert process.returncode == -signal.SIGKILL, process.stderr
    before = names(engine, site)
    assert 2 <= len(before) < 5
    with (tmp_path / "memory.jsonl").open("a") as file:
        file.write('{"url": "http')
    site.requests.clear()
    report = crawl(engine, f"{site.url}/", tmp_path / "memory.jsonl")
    assert report.is_complete
    assert names(engine, site) == {"/", "/one", "/one?q=1", "/two", "/three"}
    assert before.isdisjoint(site.paths)


def test_private_addresses_are_refused(site: Site, engine: Engine) -> None:
    """Without its network a private address is not asked; neither is one that a redirect names."""
    with pytest.raises(WebError, match="not a public address"):
        engine.index([SiteSource(f"{site.url}/", CrawlLimits(delay=0))])
    assert site.requests == []
    site.pages["/two"] = Reply(302, headers={"Location": "http://169.254.169.254/latest/meta-data/"})
    site.add("/one", article("ebb", "http://10.0.0.1/", "http://user:secret@127.0.0.1/"))
    report = crawl(engine, f"{site.url}/", hosts=("169.254.169.254", "10.0.0.1"))
    refused = [reason for _, reason in report.skipped if "not a public address" in reason]
    assert len(refused) == 2
    assert names(engine, site) == {"/", "/one"}


def test_redirects_are_links(site: Site, engine: Engine, tmp_path: Path) -> None:
    """The start may lead to another host, which counts as its own; other redirects stay on it, and loops end."""
    memory = tmp_path / "memory.jsonl"
    other = site.url.replace("127.0.0.1", "localhost")
    site.pages["/start"] = Reply(301, headers={"Location": f"{other}/one"})
    site.add("/one", article("ebb", "/loop", "/away", "/two"))
    site.pages["/loop"] = Reply(302, headers={"Location": "/loop"})
    site.pages["/away"] = Reply(302, headers={"Location": "https://other.example/"})
    report = crawl(engine, f"{site.url}/start", memory)
    assert {document.id for document in engine.documents()} == {f"{other}/one", f"{other}/two"}
    assert report.is_complete
    site.pages["/two"] = Reply(301, headers={"Location": "/one"})
    assert crawl(engine, f"{site.url}/start", memory).counts[3] == 1


def test_a_page_may_ask_robots_to_stay_away(site: Site, engine: Engine, tmp_path: Path) -> None:
    """`noindex` keeps a page out and deletes it, `nofollow` keeps its links out, on the page or on one link."""
    memory = tmp_path / "memory.jsonl"
    site.add("/one", article("ebb", "/three", head='<meta name="robots" content="NOFOLLOW">'))
    links = b'<a rel="nofollow" href="/private2">x</a><a href="x">x</a>'
    site.add("/two", article("flood", head='<base href="/deep/">') + links)
    site.add("/deep/x", article("deep"))
    crawl(engine, f"{site.url}/", memory)
    assert names(engine, site) == {"/", "/one", "/two", "/deep/x"}
    site.add("/two", article("flood", "/deep/x", head='<meta name="robots" content="noindex, follow">'))
    assert crawl(engine, f"{site.url}/", memory).counts[3] == 1
    assert names(engine, site) == {"/", "/one", "/deep/x"}


def test_a_busy_site_is_asked_again_later(
    site: Site, engine: Engine, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """429 puts a page at the end and waits as asked; a second one leaves its document as it is."""
    answers, page = iter([Reply(429, b"", {"Retry-After": "7"})]), site.pages["/two"]

    def answer(request: Request) -> Reply:
        return next(answers, page) if request.path == "/two" else Site.answer(site, request)

    monkeypatch.setattr(site, "answer", answer)
    report = crawl(engine, f"{site.url}/")
    assert "/two" in names(engine, site)
    assert report.is_complete
    assert 6 < max(waits) <= 7
    assert site.paths.count("/two") == 2


def test_the_delay_of_robots_txt_is_obeyed(site: Site, engine: Engine, waits: list[float]) -> None:
    """A longer `Crawl-delay` replaces the own one."""
    site.robots("Crawl-delay: 3")
    crawl(engine, f"{site.url}/", pages=3)
    assert [2 < wait <= 3 for wait in waits] == [True, True]


def test_other_types_and_encodings_are_read_or_named(site: Site, engine: Engine) -> None:
    """Plain text and Markdown are documents, in the encoding of their header; a picture and an empty page are named."""
    site.add("/", article("tide", "/text", "/notes", "/latin", "/picture", "/empty"))
    site.add("/text", b"The tide in plain words.", **{"Content-Type": "text/plain"})
    site.add("/notes", b"# Notes\n\nThe tide in Markdown.", **{"Content-Type": "text/markdown"})
    latin = article("mar\u00e9e").decode().encode("latin-1")
    site.add("/latin", latin, **{"Content-Type": "text/html; charset=iso-8859-1"})
    site.add("/picture", b"\x89PNG", **{"Content-Type": "image/png"})
    site.add("/empty", b"<html></html>")
    report = crawl(engine, f"{site.url}/")
    assert names(engine, site) == {"/", "/text", "/notes", "/latin"}
    assert engine.retrieve("mar\u00e9e", 1)[0].document_id == f"{site.url}/latin"
    assert engine.get(f"{site.url}/text")[0].metadata["title"] == "text"
    reasons = {address.removeprefix(site.url): reason for address, reason in report.skipped}
    assert "image/png" in reasons["/picture"]
    assert "/empty" in reasons


def test_a_start_that_is_no_page_is_refused(site: Site, engine: Engine) -> None:
    """An address of another kind and one that does not exist; no error shows a password."""
    for start in ("ftp://x.org/", "no address", "http://user:secret@x.org/"):
        with pytest.raises(WebError, match="must be") as failure:
            crawl(engine, start)
        assert "secret" not in str(failure.value)
    with pytest.raises(WebError, match="/nowhere answered 404"):
        crawl(engine, f"{site.url}/nowhere")


@pytest.mark.parametrize(
    "limits", [{"pages": 0}, {"max_bytes": 0}, {"seconds": -1}, {"delay": -1}, {"allow_networks": ("x",)}]
)
def test_limits_are_checked(limits: dict[str, Any]) -> None:
    """A bound that allows nothing and a name of no network are errors."""
    with pytest.raises(ArgumentError, match="must be"):
        CrawlLimits(**limits)


def test_the_command_crawls_and_tells(site: Site, tmp_path: Path) -> None:
    """`sleuth web crawl` makes an index, counts, names what it skipped, and goes on when it is run again."""
    command = (
        "web", "crawl", f"{site.url}/", "--delay", "0", "--allow-network", "127.0.0.0/8", "--index", "ix",
    )  # fmt: skip
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    first = sleuth(*command, "--pages", "2", cwd=tmp_path, **home)
    assert first.returncode == 0, first.stderr
    assert "2 requests" in first.stdout
    assert "run it again to go on" in first.stdout
    second = sleuth(*command, "--json", cwd=tmp_path, **home)
    report = json.loads(second.stdout)
    assert (report["added"], report["is_complete"]) == (3, True)
    third = sleuth(*command, cwd=tmp_path, **home)
    assert "0 added, 0 updated, 5 unchanged, 0 deleted" in " ".join(third.stdout.split())
    refused = sleuth("web", "crawl", f"{site.url}/", "--index", "iy", cwd=tmp_path, **home)
    assert (refused.returncode, (tmp_path / "iy").exists()) == (5, False)


GUIDE = (Path(__file__).parents[3] / "docs/how-to/crawl-a-site.md").read_text("utf8")


def local(text: str, site: Site) -> str:
    """Return an example of the guide with the address of the local site."""
    return text.replace("http://wiki.internal", site.url).replace("10.0.0.0/8", "127.0.0.0/8")


def test_the_guide_is_true(site: Site, tmp_path: Path) -> None:
    """Its Python and its first command print what is below them, the search finds the page, each option is there."""
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)
    assert match
    done = python(local(match[1], site), cwd=tmp_path)
    assert (done.stdout, done.stderr) == (match[2], "")
    console = re.findall(r"```console\n(.*?)```", GUIDE, re.DOTALL)[0]
    crawl_line, output, search_line, *_ = console.splitlines()
    (tmp_path / ".sleuth").mkdir()
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    run = sleuth(*shlex.split(local(crawl_line, site))[2:], "--delay", "0", cwd=tmp_path, **home)
    without_size = re.compile(r"[\d.]+ k?B")
    last = " ".join(run.stdout.split()).replace(f"{tmp_path}/", "")
    assert without_size.sub("", last) == without_size.sub("", output)
    assert "The flood" in sleuth(*shlex.split(search_line)[2:], cwd=tmp_path).stdout
    options = set(re.findall(r"^\| `(--[a-z-]+)", GUIDE, re.MULTILINE))
    text = sleuth("web", "crawl", "--help", cwd=tmp_path, COLUMNS="200").stdout
    assert options and {option for option in options if option not in text} == set()
