"""search_web: result structures, growth of api_k, keys and failures."""

import logging
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.errors import ArgumentError
from sleuth.llm import Ollama, OpenAIGenerator
from sleuth.testing.serving import Reply
from sleuth.testing.tavily import TavilyServer, error, page
from sleuth.web import WebQuery, search_web, service
from sleuth.web.search import WebSearch
from sleuth.web.service import Hit, RemoteService
from tests.commands import python
from tests.examples import examples

EMPTY = {"num_docs": 0, "api_k": 3, "results": []}


@pytest.mark.parametrize(
    ("copies", "sizes", "count"),
    [
        (1, [3], 3),
        (2, [3, 4], 3),
        (3, [3, 5], 3),
        (9, [3, 5], 1),  # the larger request brought nothing new
    ],
)
def test_api_k_grows_by_what_is_missing(
    server: TavilyServer, options: dict[str, Any], copies: int, sizes: list[int], count: int
) -> None:
    """Missing results are requested with a larger api_k until a larger one gives nothing new."""
    server.pages = [page(0)] * copies + [page(number) for number in range(1, 30)]
    docs = search_web("climate", 3, **options)
    assert [body["max_results"] for body in server.asked] == sizes
    assert (docs["num_docs"], docs["api_k"]) == (count, sizes[-1])
    assert len({result["url"] for result in docs["results"]}) == count


@given(k=st.integers(1, 40), repeats=st.lists(st.integers(1, 6), min_size=1, max_size=25))
@settings(max_examples=examples(60), deadline=None)
def test_growth_keeps_its_bounds(k: int, repeats: list[int]) -> None:
    """api_k never exceeds k + 10 or 20, each request asks for more, and a request without new results is the last."""
    pages = [page(number) for number, times in enumerate(repeats) for _ in range(times)]
    sizes: list[int] = []

    def search(self: RemoteService, query: WebQuery, deadline: object) -> list[Hit]:
        sizes.append(query.count)
        entries = {entry["url"]: entry for entry in pages[: query.count]}
        return [Hit(entry["url"], entry["title"], entry["content"], "x.org") for entry in entries.values()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RemoteService, "search", search)
        answer = WebSearch(api_key="k", base_url="https://x.org").search("climate", k)
    unique = [len({entry["url"] for entry in pages[:api_k]}) for api_k in sizes]
    assert sizes[0] == min(k, 20)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == answer.api_k <= min(k + 10, 20) or k > 20
    assert all(before < after for before, after in pairwise(unique[:-1]))
    assert len(answer.hits) == min(k, unique[-1])


def test_results_before_a_failed_growth_are_kept(
    server: TavilyServer, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """A failure while growing keeps the earlier results, the last api_k, and logs one error."""
    server.pages = [page(0), page(0), page(1)]
    server.next(0.0, error(400))
    docs = search_web("climate", 2, **options)
    assert (docs["num_docs"], docs["api_k"]) == (1, 3)
    assert len(caplog.records) == 1


def test_relevance_drops_before_the_cut(server: TavilyServer, options: dict[str, Any]) -> None:
    """Hits that the hook refuses are replaced by further ones."""
    docs = search_web("climate", 3, relevance=lambda query, hit: "number 0" not in hit.content, **options)
    assert [result["title"] for result in docs["results"]] == ["Title 1", "Title 2", "Title 3"]
    assert docs["api_k"] == 4


def test_content_is_cleaned(server: TavilyServer, options: dict[str, Any]) -> None:
    """Entities are resolved, white space is collapsed and control characters are removed."""
    server.pages = [page(0, content=" a &amp;\n\n b\x00 \t c ")]
    assert search_web("climate", 1, **options)["results"][0]["content"] == "a & b c"


@pytest.mark.parametrize("extra", [{"content": None}, {"content": "  "}, {"url": None}, {"url": "nonsense"}])
def test_unusable_results_are_left_out(
    server: TavilyServer, options: dict[str, Any], extra: dict[str, Any]
) -> None:
    """An entry without text or address is dropped."""
    server.pages = [page(0, **extra), page(1)]
    assert [result["title"] for result in search_web("climate", 1, **options)["results"]] == ["Title 1"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("k", value) for value in (0, -1, 1.5, True, "3")),
        ("search_depth", "deep"), ("topic", "sport"), ("time_range", "hour"), ("timeout", 0),
        ("timeout", float("nan")), ("include_domains", "a.org"), ("max_retries", -1), ("max_retries", 1.5),
        ("initial_backoff", -1.0),
    ],
)  # fmt: skip
def test_settings_are_checked(name: str, value: Any) -> None:
    """A setting out of range raises an error with its name before anything is sent."""
    with pytest.raises(ArgumentError, match=f"{name} must be"):
        search_web("climate", **{name: value})
    with pytest.raises(ArgumentError, match="must be left out where service is an object"):
        search_web("climate", 3, service=object(), max_retries=1)  # type: ignore[arg-type]


def test_blank_query_asks_nothing(server: TavilyServer, options: dict[str, Any]) -> None:
    """A blank query gives the empty structure without a request."""
    assert search_web("  ", 3, **options) == EMPTY
    assert server.requests == []


def test_options_reach_the_service(server: TavilyServer, options: dict[str, Any]) -> None:
    """Settings are sent if they differ from the service's defaults."""
    search_web("climate", 1, topic="news", time_range="week", include_domains=["site3.org"], **options)
    assert server.asked == [
        {
            "query": "climate", "max_results": 1, "topic": "news", "time_range": "week",
            "include_domains": ["site3.org"],
        }
    ]  # fmt: skip


def test_long_queries_are_cut_at_a_word(server: TavilyServer, options: dict[str, Any]) -> None:
    """A query above the service's 400 characters is cut at a word."""
    assert search_web("climate " * 200, 1, **options)["num_docs"] == 1
    assert service.shorten("ab " * 200).endswith("ab") and len(service.shorten("ab " * 200)) <= 400
    assert service.shorten("x" * 500) == "x" * 400


@given(st.text(max_size=20))
def test_domain_of_anything(text: str) -> None:
    """Reading the domain of any string raises no error."""
    assert "/" not in service.domain_of(text)
    assert service.domain_of(f"https://www.example.org/{text}") in ("example.org", "")


class TestKey:
    @pytest.mark.parametrize(
        "line",
        [
            "TAVILY_API_KEY=tvly-local",
            "export TAVILY_API_KEY = 'tvly-local'",
            'TAVILY_API_KEY="tvly-local" # mine',
            "\ufeffTAVILY_API_KEY=tvly-local",
        ],
    )
    def test_from_env_file_above(
        self, server: TavilyServer, tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The nearest .env above the working folder is read."""
        (tmp_path / ".env").write_text(f"{line}\n# keys\n", "utf8")
        (tmp_path / "below").mkdir()
        monkeypatch.chdir(tmp_path / "below")
        assert search_web("climate", 1, base_url=server.url)["num_docs"] == 1

    def test_order(self, server: TavilyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The argument wins over the environment, and that over .env."""
        (tmp_path / ".env").write_text("TAVILY_API_KEY=from-file\n")
        monkeypatch.setenv("TAVILY_API_KEY", "from-environment")
        search_web("climate", 1, base_url=server.url, api_key="from-argument")
        search_web("climate", 1, base_url=server.url)
        headers = [request.headers["authorization"] for request in server.requests]
        assert headers == ["Bearer from-argument", "Bearer from-environment"]

    def test_no_address_from_a_file(
        self, server: TavilyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An address in a .env file is ignored."""
        with TavilyServer([page(0)]) as thief:
            lines = "".join(
                f"{name}={thief.url}\n"
                for name in ("TAVILY_BASE_URL", "OLLAMA_HOST", "OPENAI_BASE_URL", "HTTPS_PROXY")
            )
            (tmp_path / ".env").write_text(f"TAVILY_API_KEY=from-file\n{lines}")
            (tmp_path / "below").mkdir()
            monkeypatch.chdir(tmp_path / "below")
            for key in (None, "from-argument"):
                assert WebSearch(api_key=key)._client.label == "tavily https://api.tavily.com"
            monkeypatch.setenv("TAVILY_API_KEY", "from-environment")
            assert WebSearch()._client.label == "tavily https://api.tavily.com"
            assert OpenAIGenerator("m", api_key="").base_url == "https://api.openai.com/v1"
            assert Ollama("m").base_url == "http://localhost:11434"
            monkeypatch.setenv("TAVILY_BASE_URL", server.url)
            search_web("climate", 1)
            assert (len(server.requests), thief.requests) == (1, [])

    @pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
    )
    def test_a_file_of_somebody_else(self, server: TavilyServer, tmp_path: Path) -> None:
        """A .env of another user is not read, since its key would show that user the searches."""
        (tmp_path / ".env").write_text("TAVILY_API_KEY=tvly-local\n")
        os.chown(tmp_path / ".env", 12345, -1)
        assert search_web("climate", 1, base_url=server.url)["num_docs"] == 0
        assert server.requests == []

    @pytest.mark.parametrize(
        "key", ["tvly-secret\nX-Evil: 1", "tvly-secret ü", "tvly secret", b"tvly-secret", 5]
    )
    def test_unsendable(self, key: Any) -> None:
        """A key that no header can carry is refused, and not shown."""
        with pytest.raises(ArgumentError) as caught:
            search_web("climate", 1, api_key=key)
        assert "secret" not in str(caught.value)

    def test_is_not_sent_in_the_clear(self) -> None:
        """A base_url without TLS is refused, except on this machine."""
        with pytest.raises(ArgumentError, match="base_url must be https"):
            search_web("climate", 3, api_key="k", base_url="http://example.org")


RETRIES: dict[str, tuple[list[Reply | None], dict[str, Any], int, int]] = {
    **{f"{status} is retried": ([error(status)] * 3, {}, 3, 4) for status in (429, 500, 502, 503)},
    "a broken connection is retried": ([None, None], {}, 3, 3),
    "a service that never answers ends the request": ([None] * 4, {}, 0, 4),
    "the fourth failure ends the request": ([error(429)] * 9, {}, 0, 4),
    **{
        f"{retries} retries are as many as asked": (
            [error(429)] * 9, {"max_retries": retries, "initial_backoff": 0.0}, 0, 1 + retries,
        )
        for retries in (0, 1, 5)
    },
    **{f"{status} is final": ([error(status)], {}, 0, 1) for status in (400, 401, 403, 404, 432, 433)},
    "a wait above the maximum is not begun": ([error(503, retry_after="3600")], {"timeout": 30.0}, 0, 1),
    "a wait past the deadline is not begun": ([error(503, retry_after="5")], {"timeout": 1.0}, 0, 1),
}  # fmt: skip


@pytest.mark.parametrize("case", RETRIES)
def test_passing_failures_are_retried(
    server: TavilyServer, options: dict[str, Any], caplog: pytest.LogCaptureFixture, case: str
) -> None:
    """Passing failures are retried as often as asked; the last failure, and a final one, is one logged error."""
    events, settings, count, requests = RETRIES[case]
    server.next(*events)
    assert search_web("climate", 3, **settings, **options)["num_docs"] == count
    assert len(server.requests) == requests
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * (count == 0)
    assert ("did not answer" in caplog.text) == (events == [None] * 4)
    assert ("try again in 3,600 s" in caplog.text) == ("maximum" in case)


@pytest.mark.parametrize("event", [error(503), None])
def test_attempts_per_request(server: TavilyServer, options: dict[str, Any], event: Reply | None) -> None:
    """R17: in an outage attempts per request stay under 1.1, and the recovered service is used at once."""
    server.next(*[event] * 109)
    for _ in range(100):
        assert search_web("climate", 3, **options) == EMPTY
    assert len(server.requests) / 100 < 1.1
    server.clear()
    assert search_web("climate", 3, **options)["num_docs"] == 3


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Set the clock of the cache by hand."""
    now = [1_000_000.0]
    monkeypatch.setattr("sleuth.web.cache.time", lambda: now[0])
    yield now


class TestCache:
    def test_repeated_query_costs_nothing(
        self, server: TavilyServer, options: dict[str, Any], tmp_path: Path
    ) -> None:
        """A repeated query makes no request, including growth."""
        server.pages = [page(0), *([page(0)] * 2), page(1), page(2)]
        first = search_web("climate", 3, cache=tmp_path / "kept", **options)
        request_count = len(server.requests)
        assert request_count > 1
        assert search_web("climate", 3, cache=tmp_path / "kept", **options) == first
        assert len(server.requests) == request_count

    @pytest.mark.parametrize("case", [(90_000, 503, True), (31 * 86_400, 503, False), (90_000, 401, False)])
    def test_a_stale_answer_is_served_and_marked_where_the_service_is_down(
        self, server: TavilyServer, options: dict[str, Any], frozen: list[float], case: tuple[int, int, bool]
    ) -> None:
        """Not beyond `max_stale`, and not for an invalid key; where the service is up, it is refreshed."""
        age, status, is_served = case
        fresh = search_web("climate", 3, cache=Path("kept"), **options)
        frozen[0] += age
        server.always(error(status))
        stale = {**fresh, "stale": True} if is_served else EMPTY
        assert search_web("climate", 3, cache=Path("kept"), **options) == stale
        server.always(None)
        assert search_web("climate", 3, cache=Path("kept"), **options) == fresh

    def test_holds_no_key(self, options: dict[str, Any], tmp_path: Path) -> None:
        """The cache file has the query and the response, not the key, and only its owner can read it."""
        folder = tmp_path / "kept"
        search_web("climate", 3, cache=folder, **options)
        assert folder.stat().st_mode & 0o077 == 0
        assert all("tvly-local" not in path.read_text() for path in folder.iterdir())

    @pytest.mark.parametrize("damage", [b"", b"{", b'{"format": 99}', b"[" * 5000, b"\xff\xfe"])
    def test_damage_is_a_miss(
        self, server: TavilyServer, options: dict[str, Any], tmp_path: Path, damage: bytes
    ) -> None:
        """A damaged entry is requested again and replaced."""
        first = search_web("climate", 3, cache=tmp_path, **options)
        [path] = tmp_path.glob("*.json")
        path.write_bytes(damage)
        assert search_web("climate", 3, cache=tmp_path, **options) == first
        assert len(server.requests) == 2

    def test_a_folder_that_cannot_be_written_costs_no_answer(
        self, options: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A failing cache is logged, and the response is returned."""
        (tmp_path / "file").write_text("")
        assert search_web("climate", 3, cache=tmp_path / "file", **options)["num_docs"] == 3
        assert "was not kept" in caplog.text


def test_a_missing_key_warns_once_where_nobody_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key and without logging, standard error says so once; with logging, the log alone says it."""
    program = (
        "import logging, sys\nfrom sleuth.web import search_web\n"
        "if 'log' in sys.argv: logging.basicConfig(filename='log')\n"
        "for query in ('one', 'two', 'three'): print(search_web(query)['num_docs'])\n"
    )
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    for arguments, warnings in (([], 1), (["log"], 0)):
        result = python(program, *arguments, cwd=tmp_path)
        assert result.stdout.split() == ["0", "0", "0"]
        assert result.stderr.count("set TAVILY_API_KEY") == warnings, result.stderr
    assert (tmp_path / "log").read_text("utf8").count("set TAVILY_API_KEY") == 3
