"""WebRetriever, and batches of searches."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sleuth.errors import ArgumentError, FilterError, LoadError, WebError
from sleuth.protocols import Retriever
from sleuth.testing.contracts import RetrieverContract
from sleuth.testing.tavily import TavilyServer, error, page
from sleuth.web import WebRetriever, search_web, search_web_batch


class TestRetriever:
    def test_is_a_retriever(self, server: TavilyServer, options: dict[str, Any]) -> None:
        """Hits have url, title, domain and, if known, the date; ids are urls."""
        server.pages = [page(0, published_date="2024-05-01", score=0.5), page(1, score=0.9)]
        retriever = WebRetriever(**options)
        assert isinstance(retriever, Retriever)
        ranking = retriever.retrieve("climate")
        assert [(item.id, item.score) for item in ranking] == [
            ("https://www.site1.org/page", 0.9),
            ("https://www.site0.org/page", 0.5),
        ]
        assert ranking[1].metadata == {
            "source": "https://www.site0.org/page", "url": "https://www.site0.org/page", "title": "Title 0",
            "domain": "site0.org", "source_type": "web", "published_date": "2024-05-01",
        }  # fmt: skip
        assert asyncio.run(retriever.aretrieve("climate")) == ranking

    def test_filters_hold_before_the_cut(self, server: TavilyServer, options: dict[str, Any]) -> None:
        """A filter is applied to all results, and a domain is sent to the service."""
        retriever = WebRetriever(**options)
        [item] = retriever.retrieve("climate", 1, filter={"title": "Title 17"})
        assert item.metadata["title"] == "Title 17"
        [item] = retriever.retrieve(
            "climate", 5, filter={"$and": [{"domain": "site25.org"}, {"title": {"$ne": "x"}}]}
        )
        assert item.metadata["domain"] == "site25.org"
        assert server.asked[-1]["include_domains"] == ["site25.org"]
        with pytest.raises(FilterError):
            retriever.retrieve("climate", 1, filter={"title": {"$like": "x"}})

    def test_failures_are_raised(self, server: TavilyServer, options: dict[str, Any]) -> None:
        """A failure that `search_web` logs is raised here, so that a fused ranking can report it."""
        server.always(error(432))
        with pytest.raises(WebError, match="tavily answered 432") as caught:
            WebRetriever(**options).retrieve("climate")
        assert caught.value.status == 432
        with pytest.raises(WebError, match="no API key"):
            WebRetriever().retrieve("climate")

    def test_blank_queries_find_nothing(self, server: TavilyServer, options: dict[str, Any]) -> None:
        """A blank query is not sent."""
        assert len(WebRetriever(**options).retrieve(" ")) == 0
        assert server.requests == []


class TestBatch:
    def test_web_file(self, options: dict[str, Any], tmp_path: Path) -> None:
        """The file has, in order, what `search_web` returns with each query's id."""
        queries: dict[Any, str] = {"query_1": "climate", 0: "policy"}
        entries = search_web_batch(queries, tmp_path / "new" / "web.json", 2, **options)
        assert search_web_batch(queries, tmp_path / "new" / "web.json", 2, **options) == entries
        assert json.loads((tmp_path / "new" / "web.json").read_text()) == entries
        assert entries == [search_web(text, 2, str(name), **options) for name, text in queries.items()]

    def test_goes_on_where_it_stopped(
        self, server: TavilyServer, options: dict[str, Any], tmp_path: Path
    ) -> None:
        """Answered queries are not repeated, failed or changed ones are, and other entries stay."""
        path = tmp_path / "web.json"
        server.next(0.0, error(400), 0.0)
        queries = [{"query": "climate"}, {"query": "policy"}, {"query": "sea"}]
        first = search_web_batch(queries, path, 2, workers=1, **options)
        assert [entry["web_docs"]["num_docs"] for entry in first] == [2, 0, 2]
        request_count = len(server.asked)
        again = [{"query": "climate"}, {"query": "policy"}, {"id": "query_2", "query": "ice"}]
        second = search_web_batch(again, path, 2, **options)
        assert sorted(body["query"] for body in server.asked[request_count:]) == ["ice", "policy"]
        assert len(server.asked) == request_count + 2
        assert second[0] == first[0]
        search_web_batch({"other": "wind"}, path, 2, **options)
        ids = {entry["id"] for entry in json.loads(path.read_text())}
        assert ids == {"other", "query_0", "query_1", "query_2"}

    @pytest.mark.parametrize("text", ["not json", "{}x", '[{"id": 1}]', "[1]", '{"a": 1}'])
    def test_other_files_are_not_written_over(
        self, options: dict[str, Any], tmp_path: Path, text: str
    ) -> None:
        """A file that is not a web file is not overwritten."""
        path = tmp_path / "precious.json"
        path.write_text(text)
        with pytest.raises(LoadError, match="not a web file"):
            search_web_batch({"a": "climate"}, path, **options)
        assert path.read_text() == text

    @pytest.mark.parametrize("bad", [[{"id": "a"}], ["climate"], [{"id": "a", "query": "x"}] * 2, {"": "x"}])
    def test_queries_are_checked(self, options: dict[str, Any], tmp_path: Path, bad: Any) -> None:
        """Entries without a query or an id, and two with the same id, are refused."""
        with pytest.raises(ArgumentError):
            search_web_batch(bad, tmp_path / "web.json", **options)
        with pytest.raises(ArgumentError, match="path must be text or a Path, got 5"):
            search_web_batch({}, 5, **options)  # type: ignore[arg-type]


class TestContract(RetrieverContract):
    query = "climate"

    @pytest.fixture(autouse=True)
    def service(self, server: TavilyServer, options: dict[str, Any]) -> None:
        server.pages = [page(number, score=(number % 4) / 4) for number in range(30)]
        self._options = options

    def make(self) -> Retriever:
        return WebRetriever(**self._options)
