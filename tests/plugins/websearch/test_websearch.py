"""SearXNG, Brave and Exa beside Tavily: their requests, their answers, and several of them together."""

import logging
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sleuth.errors import ArgumentError, WebError
from sleuth.web import WebRetriever, search_web
from sleuth.web.search import WebSearch
from sleuth.web.several import FallbackService, open_service
from tests.commands import sleuth
from tests.plugins.websearch.servers import BraveServer, ExaServer, SearchServer, SearXNGServer
from tests.web.conftest import quiet  # noqa: F401 - no key in the environment, and short waits


def pages(*numbers: int) -> list[dict[str, Any]]:
    """Return pages of the pretended web."""
    return [
        {
            "url": f"https://www.site{number}.org/page",
            "title": f"Title {number}",
            "content": f"Text about tides, number {number}.",
            "published": f"2026-01-0{number}T10:00:00",
        }
        for number in numbers
    ]


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, SearchServer]]:
    """Run each service over pages of its own, with its key and address in the environment."""
    kinds: dict[str, type[SearchServer]] = {"searxng": SearXNGServer, "brave": BraveServer, "exa": ExaServer}
    with ExitStack() as stack:
        running = {}
        for number, (name, kind) in enumerate(kinds.items()):
            running[name] = stack.enter_context(kind(pages(1, 2, 3 + number)))
            monkeypatch.setenv(f"{name.upper()}_BASE_URL", running[name].url)
            monkeypatch.setenv(f"{name.upper()}_API_KEY", "local")
        yield running


@pytest.mark.parametrize("name", ["searxng", "brave", "exa"])
def test_a_service_gives_the_documented_structure(servers: dict[str, SearchServer], name: str) -> None:
    """Results are those of `search_web` with Tavily: k of them, in order, with clean texts."""
    docs = search_web("high tides", 2, service=name)
    assert (docs["num_docs"], docs["api_k"]) == (2, 2)
    assert docs["results"][0] == {
        "id": 0, "content": "Text about tides, number 1.", "url": "https://www.site1.org/page",
        "source_type": "web", "title": "Title 1", "domain": "site1.org",
    }  # fmt: skip
    ranking = WebRetriever(service=name).retrieve("high tides", 3, filter="published_date>=2026-01-02")
    assert next(item.metadata["title"] for item in ranking) == "Title 2"


SENT: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("sent.toml").read_text("utf8"))


@pytest.mark.parametrize("name", SENT)
def test_settings_are_sent_in_the_words_of_the_service(servers: dict[str, SearchServer], name: str) -> None:
    """Topic, time and domains have their field or operator; hits of other domains are dropped in any case."""
    search = WebSearch(
        service=name, topic="news", time_range="week", include_domains=("site1.org", "site2.org"),
        exclude_domains=("x.org",),
    )  # fmt: skip
    hits = search.search("tides", 3).hits
    assert [hit.domain for hit in hits] == ["site1.org", "site2.org"]
    request = servers[name].asked[0]
    request.pop("startPublishedDate", None)
    assert request == SENT[name]


def test_a_query_keeps_the_limits_of_the_services(servers: dict[str, SearchServer]) -> None:
    """A query of many words or with many domains is cut, and no service refuses it."""
    for name in servers:
        assert search_web("tides " * 200, 1, service=name)["num_docs"] == 1
    domains = tuple(f"site{number}.org" for number in range(40))
    assert search_web("tides " * 200, 1, service="searxng", include_domains=domains)["num_docs"] == 1
    assert len(servers["brave"].asked[0]["q"].split()) == 50


def test_brave_gives_further_snippets_and_no_result_is_no_error(servers: dict[str, SearchServer]) -> None:
    """Snippets are one text, and an answer without `web` has no hits."""
    servers["brave"].pages = [{**pages(1)[0], "more": ["A second <b>part</b>.", 7]}]
    (hit,) = WebSearch(service="brave").search("tides", 1).hits
    assert hit.content == "Text about tides, number 1. A second <b>part</b>."
    servers["brave"].pages = []
    assert search_web("tides", 1, service="brave")["num_docs"] == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("brave", r"brave answered 422: The provided subscription token is invalid\."),
        ("exa", r"exa answered 401: Invalid API key"),
    ],
)
def test_a_wrong_key_is_told_and_not_shown(servers: dict[str, SearchServer], name: str, message: str) -> None:
    """The error has the service's own words, and neither it nor the object shows the key."""
    search = WebSearch(service=name, api_key="secret-key")
    with pytest.raises(WebError, match=message) as failure:
        search.search("tides", 1)
    assert "secret-key" not in f"{failure.value} {search!r} {open_service(name, 'secret-key')!r}"


def test_the_next_service_is_asked_when_one_is_down(
    servers: dict[str, SearchServer], caplog: pytest.LogCaptureFixture
) -> None:
    """`brave,exa` is Brave; if it does not answer, Exa; if neither does, the last error is raised."""
    search = WebSearch(service="brave,exa", timeout=5)
    assert search.search("tides", 3).hits[2].domain == "site4.org"
    assert servers["exa"].asked == []
    servers["brave"].failure_status = 429
    with caplog.at_level(logging.WARNING, "sleuth.web"):
        assert WebSearch(service="brave,exa").search("tides", 3).hits[2].domain == "site5.org"
    assert "asking the next service, because brave answered 429" in caplog.text
    servers["exa"].failure_status = 500
    with pytest.raises(WebError, match="exa answered 500: Service down"):
        WebSearch(service="brave,exa").search("tides", 3)


def test_several_services_are_merged(
    servers: dict[str, SearchServer], caplog: pytest.LogCaptureFixture
) -> None:
    """Pages that several services rank come once and first; one that is down leaves the others."""
    servers["exa"].pages[0]["url"] = "http://site1.org/page/#top"  # the same page, written otherwise
    search = WebSearch(service="searxng+brave+exa", timeout=5)
    hits = search.search("tides", 5).hits
    assert [hit.domain for hit in hits] == [f"site{number}.org" for number in (1, 2, 3, 4, 5)]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    servers["brave"].failure_status = 500
    with caplog.at_level(logging.WARNING, "sleuth.web"):
        hits = WebSearch(service="searxng+brave+exa").search("tides", 5).hits
    assert {hit.domain for hit in hits} == {"site1.org", "site2.org", "site3.org", "site5.org"}
    assert "without one service, because brave answered 500" in caplog.text
    for server in servers.values():
        server.failure_status = 500
    with pytest.raises(WebError, match="searxng answered 500"):
        WebSearch(service="searxng+brave+exa").search("tides", 5)


def test_answers_of_services_are_cached_apart(servers: dict[str, SearchServer], tmp_path: Path) -> None:
    """Each service and each combination has answers of its own; a second call costs no request."""
    for _ in range(2):
        for choice in ("brave", "searxng", "brave+searxng"):
            search_web("tides", 3, service=choice, cache=tmp_path / "cache")
    assert [len(servers[name].asked) for name in ("brave", "searxng")] == [2, 2]


def test_the_first_configured_service_is_the_default(
    servers: dict[str, SearchServer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a choice the order is Tavily, Brave, Exa, SearXNG; the environment chooses several."""
    assert open_service(None).label.startswith("brave ")
    monkeypatch.delenv("BRAVE_API_KEY")
    assert open_service(None).label.startswith("exa ")
    monkeypatch.delenv("EXA_API_KEY")
    assert open_service(None).label.startswith("searxng ")
    (tmp_path / ".env").write_text("BRAVE_API_KEY=local\n")
    assert open_service(None).label.startswith("brave ")
    monkeypatch.setenv("SLEUTH_WEB_SERVICES", "searxng+brave, exa")
    with pytest.raises(
        WebError, match=r"no API key for web search: set EXA_API_KEY in the environment or in \.env"
    ):
        open_service(None)
    monkeypatch.setenv("EXA_API_KEY", "local")
    assert isinstance(open_service(None), FallbackService)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"service": "bing"}, "service must be among tavily, brave, exa, searxng, got 'bing'"),
        ({"service": "brave,"}, "service must be among .*, got ''"),
        ({"service": "brave+exa", "api_key": "k"}, "api_key and base_url must be of one service"),
        ({"service": "exa", "base_url": "http://exa.example.org"}, "base_url must be https"),
    ],
)
def test_wrong_choices_are_refused(
    servers: dict[str, SearchServer], options: dict[str, Any], message: str
) -> None:
    """An unknown name, a key for several services, and an address that would send a key in the clear."""
    with pytest.raises(ArgumentError, match=message):
        WebSearch(**options)


def test_a_service_without_a_key_may_be_http_and_needs_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """SearXNG in a private network needs no https; without an address the error says what to set."""
    assert open_service("searxng", base_url="http://searxng:8080").label == "searxng http://searxng:8080"
    with pytest.raises(WebError, match="no address for web search: set SEARXNG_BASE_URL in the environment"):
        open_service("searxng")


def test_the_command_takes_services(servers: dict[str, SearchServer], tmp_path: Path) -> None:
    """`sleuth web --service` names them."""
    result = sleuth("web", "--service", "brave+exa", "--no-cache", "-k", "4", "tides", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Title 5" in result.stdout
    assert sleuth("web", "--service", "bing", "tides", cwd=tmp_path).returncode == 2
