"""Every call that takes how many hits to return takes an integer of NumPy, and refuses what is not a count."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from sleuth import Document, Engine
from sleuth.code import CodeRetriever, index_path, search_history
from sleuth.code.search.retriever import SnapshotRetriever
from sleuth.compose import (
    BoostedRetriever,
    DedupedRetriever,
    DiversifiedRetriever,
    FusedRetriever,
    RerankedRetriever,
)
from sleuth.compose.labelled import LabelledRetriever
from sleuth.engine import open_code
from sleuth.engine.sources import Sources
from sleuth.errors import ArgumentError
from sleuth.knowledge_base import KnowledgeBaseRetriever, LocalKnowledgeBase, MultiSliceRetriever
from sleuth.lexical import retrieve_local_docs
from sleuth.protocols import Embedder
from sleuth.testing.tavily import TavilyServer, page
from sleuth.types import RetrievedItem
from sleuth.vector_store import Retriever, SleuthVectorStore, VectorStoreRetriever
from sleuth.web import WebRetriever, asearch_web, search_web, search_web_batch
from tests.code.conftest import Git

EVIDENCE = [{"id": number, "content": f"zebra number {number}"} for number in range(5)]


class ById:
    """Orders passages by their ids."""

    def rerank(self, query: str, items: Sequence[RetrievedItem]) -> list[RetrievedItem]:
        return sorted(items, key=lambda item: item.id)


@dataclass(frozen=True)
class Things:
    """The retrievers: an index, code in git, a knowledge base over the index, a web search."""

    engine: Engine
    code: Any
    repository: str
    base: LocalKnowledgeBase
    web: dict[str, Any]
    folder: Path

    @property
    def embedder(self) -> Embedder:
        assert self.engine.embedder is not None
        return self.engine.embedder

    @property
    def store(self) -> Retriever:
        return Retriever(SleuthVectorStore(self.engine, self.embedder), self.embedder)

    @property
    def snapshot(self) -> Any:
        repository = self.code.repository(self.repository)
        return self.code.open_snapshot(repository, self.code.snapshot(repository))


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Things]:
    folder = tmp_path_factory.mktemp("counts")
    git = Git(folder / "code")
    for number in range(3):
        git.commit({f"m{number}.py": f"def zebra_{number}():\n    return 'zebra'\n"}, f"zebra {number}")
    with (
        Engine.open(folder / "ix", create=True) as engine,
        open_code(folder / "ix", create=True) as code,
        TavilyServer([page(number) for number in range(9)]) as server,
        LocalKnowledgeBase(engine) as base,
    ):
        engine.add(Document(f"zebra number {n}", {"source": f"{n}.md", "n": n}) for n in range(5))
        repository = index_path(code, git.root, workers=1).repository
        web = {"api_key": "tvly-local", "base_url": server.url}
        yield Things(engine, code, repository, base, web, folder)


Call = Callable[[Things, Any, Any], Any]

CALLS: dict[str, Call] = {
    "Engine.retrieve": lambda things, k, query: things.engine.retrieve(query, k),
    "Engine.unhooked": lambda things, k, query: things.engine.unhooked.retrieve(query, k),
    "Engine.nearest": lambda things, k, query: things.engine.nearest(things.embedder.embed_query(query), k),
    "Sources": lambda things, k, query: Sources({"docs": things.engine}).retrieve(query, k),
    "FusedRetriever": lambda things, k, query: FusedRetriever({"a": things.engine}).retrieve(query, k),
    "BoostedRetriever": lambda things, k, query: BoostedRetriever(things.engine, 2.0).retrieve(query, k),
    "DedupedRetriever": lambda things, k, query: DedupedRetriever(things.engine).retrieve(query, k),
    "RerankedRetriever": lambda things, k, query: RerankedRetriever(things.engine, ById()).retrieve(query, k),
    "LabelledRetriever": lambda things, k, query: LabelledRetriever(things.engine, "a").retrieve(query, k),
    "DiversifiedRetriever": lambda things, k, query: DiversifiedRetriever(
        things.engine, things.embedder
    ).retrieve(query, k),
    "CodeRetriever": lambda things, k, query: CodeRetriever(things.code, None).retrieve(
        query, things.repository, limit=k, strategy="keyword"
    ),
    "SnapshotRetriever": lambda things, k, query: SnapshotRetriever(things.code, things.repository).retrieve(
        query, k
    ),
    "search_history": lambda things, k, query: search_history(things.snapshot, query, k),
    "retrieve_local_docs": lambda things, k, query: retrieve_local_docs(query, EVIDENCE, k),
    "search_web": lambda things, k, query: json.loads(json.dumps(search_web(query, k, **things.web)))[
        "results"
    ],
    "asearch_web": lambda things, k, query: json.loads(
        json.dumps(asyncio.run(asearch_web(query, k, **things.web)))
    )["results"],
    "search_web_batch": lambda things, k, query: search_web_batch(
        {"q": query}, things.folder / f"{type(k).__name__}{k}.json", k, **things.web
    )[0]["web_docs"]["results"],
    "WebRetriever": lambda things, k, query: WebRetriever(**things.web).retrieve(query, k),
    "Retriever.retrieve": lambda things, k, query: things.store.retrieve(query, k),
    "Retriever.retrieve_with_scores": lambda things, k, query: things.store.retrieve_with_scores(query, k),
    "Retriever.retrieve_by_source": lambda things, k, query: (
        things.store.retrieve_by_source(query, "1.md", k) * 2
    ),
    "VectorStoreRetriever": lambda things, k, query: VectorStoreRetriever(
        SleuthVectorStore(things.engine, things.embedder), things.embedder
    ).retrieve(query, k),
    "MultiSliceRetriever": lambda things, k, query: MultiSliceRetriever(things.base).retrieve(
        query, "KB12345678", None, num_results=k
    ),
    "KnowledgeBaseRetriever": lambda things, k, query: KnowledgeBaseRetriever(
        "KB12345678", client=things.base
    ).retrieve(query, k),
    "Engine.facets": lambda things, k, query: things.engine.facets("n", limit=k, query=query)["n"],
    "Engine.list_documents": lambda things, k, query: things.engine.list_documents(limit=k).documents,
}
"""Every call that takes how many, and which query."""
WITHOUT_QUERY = {"Engine.nearest", "Engine.list_documents"}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_integers_of_numpy_are_counts(things: Things, call: Call) -> None:
    """A call with an integer of NumPy returns what it returns with the same int."""
    expected = list(call(things, 2, "zebra"))
    assert len(expected) == 2
    for two in (np.int64(2), np.int32(2), np.uint8(2)):
        assert repr(list(call(things, two, "zebra"))) == repr(expected)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("wrong", [True, np.True_, 2.0, np.float64(2), "2", None, -1, np.int64(-1)], ids=repr)
def test_what_is_no_count_is_refused(things: Things, call: Call, wrong: Any) -> None:
    """Booleans, fractions, texts and negative numbers raise an error with the rule."""
    rule = r"(k|limit|num_results) must be an int (of [01] or more|from [01] to 10,000), got"
    with pytest.raises(ArgumentError, match=rule):
        call(things, wrong, "zebra")


def test_the_manager_takes_large_counts_and_integers_of_numpy(things: Things) -> None:
    """The manager takes an integer of NumPy, and one above what a search gives."""
    manager, counts = things.engine.manager, (cast("int", np.int64(2)), 10**9)
    assert [len(manager.execute_retrieve("zebra", k).items) for k in counts] == [2, 5]
    assert len(manager.execute_search("zebra", np.int64(2), "with_items").items or ()) == 2  # type: ignore[arg-type]


ASKING = {name: call for name, call in CALLS.items() if name not in WITHOUT_QUERY}


@pytest.mark.parametrize("call", ASKING.values(), ids=ASKING)
@pytest.mark.parametrize(
    ("query", "rule"), [("zebra " * 2_000, "at most 10,000 characters"), (7, "a string")]
)
def test_what_is_no_query_is_refused(things: Things, call: Call, query: Any, rule: str) -> None:
    """A query of more than 10,000 characters and what is not text raise an error with the rule."""
    with pytest.raises(ArgumentError, match=f"query must (be|have) {rule}, got"):
        call(things, 2, query)


@pytest.mark.parametrize("call", ASKING.values(), ids=ASKING)
def test_a_query_of_the_most_characters_is_answered(things: Things, call: Call) -> None:
    call(things, 2, "zebra " * 1_000 + "z" * 4_000)


def test_the_manager_tells_a_wrong_query_in_its_result(things: Things) -> None:
    manager = things.engine.manager
    wrong: list[Any] = ["zebra " * 2_000, 7]
    for query in wrong:
        for result in (manager.execute_retrieve(query), manager.execute_search(query)):
            assert result.detail is not None
            assert (result.detail.code, result.detail.context) == ("invalid", {"argument": "query"})
