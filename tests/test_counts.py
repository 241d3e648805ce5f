"""Every call that takes how many hits to return takes an integer of NumPy, and refuses what is not a count."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sleuth import Document, Engine
from sleuth.code import CodeRetriever, SnapshotRetriever, index_path, search_history
from sleuth.compose import (
    BoostedRetriever,
    DedupedRetriever,
    DiversifiedRetriever,
    FusedRetriever,
    LabelledRetriever,
    RerankedRetriever,
)
from sleuth.engine import Sources, open_code
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
    """What is asked: an index, code in git, a knowledge base over the index, a web search."""

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
        engine.add(
            [
                Document(f"zebra number {number}", {"source": f"{number}.md", "n": number})
                for number in range(5)
            ]
        )
        repository = index_path(code, git.root, workers=1).repository
        yield Things(
            engine, code, repository, base, {"api_key": "tvly-local", "base_url": server.url}, folder
        )


CALLS: dict[str, Callable[[Things, Any], Any]] = {
    "Engine.retrieve": lambda things, k: things.engine.retrieve("zebra", k),
    "Engine.unhooked": lambda things, k: things.engine.unhooked.retrieve("zebra", k),
    "Engine.nearest": lambda things, k: things.engine.nearest(things.embedder.embed_query("zebra"), k),
    "Sources": lambda things, k: Sources({"docs": things.engine}).retrieve("zebra", k),
    "FusedRetriever": lambda things, k: FusedRetriever({"a": things.engine}).retrieve("zebra", k),
    "BoostedRetriever": lambda things, k: BoostedRetriever(things.engine, 2.0).retrieve("zebra", k),
    "DedupedRetriever": lambda things, k: DedupedRetriever(things.engine).retrieve("zebra", k),
    "RerankedRetriever": lambda things, k: RerankedRetriever(things.engine, ById()).retrieve("zebra", k),
    "LabelledRetriever": lambda things, k: LabelledRetriever(things.engine, "a").retrieve("zebra", k),
    "DiversifiedRetriever": lambda things, k: DiversifiedRetriever(things.engine, things.embedder).retrieve(
        "zebra", k
    ),
    "CodeRetriever": lambda things, k: CodeRetriever(things.code, None).retrieve(
        "zebra", things.repository, limit=k, strategy="keyword"
    ),
    "SnapshotRetriever": lambda things, k: SnapshotRetriever(things.code, things.repository).retrieve(
        "zebra", k
    ),
    "search_history": lambda things, k: search_history(things.snapshot, "zebra", k),
    "retrieve_local_docs": lambda things, k: retrieve_local_docs("zebra", EVIDENCE, k),
    "search_web": lambda things, k: json.loads(json.dumps(search_web("zebra", k, **things.web)))["results"],
    "asearch_web": lambda things, k: json.loads(
        json.dumps(asyncio.run(asearch_web("zebra", k, **things.web)))
    )["results"],
    "search_web_batch": lambda things, k: search_web_batch(
        {"q": "zebra"}, things.folder / f"{type(k).__name__}{k}.json", k, **things.web
    )[0]["web_docs"]["results"],
    "WebRetriever": lambda things, k: WebRetriever(**things.web).retrieve("zebra", k),
    "Retriever.retrieve": lambda things, k: things.store.retrieve("zebra", k),
    "Retriever.retrieve_with_scores": lambda things, k: things.store.retrieve_with_scores("zebra", k),
    "Retriever.retrieve_by_source": lambda things, k: things.store.retrieve_by_source("zebra", "1.md", k) * 2,
    "VectorStoreRetriever": lambda things, k: VectorStoreRetriever(
        SleuthVectorStore(things.engine, things.embedder), things.embedder
    ).retrieve("zebra", k),
    "MultiSliceRetriever": lambda things, k: MultiSliceRetriever(things.base).retrieve(
        "zebra", "KB12345678", None, num_results=k
    ),
    "KnowledgeBaseRetriever": lambda things, k: KnowledgeBaseRetriever(
        "KB12345678", client=things.base
    ).retrieve("zebra", k),
    "Engine.facets": lambda things, k: things.engine.facets("n", limit=k)["n"],
    "Engine.list_documents": lambda things, k: things.engine.list_documents(limit=k).documents,
}
"""Every call that takes how many."""


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_integers_of_numpy_are_counts(things: Things, call: Callable[[Things, Any], Any]) -> None:
    """A call with an integer of NumPy returns what it returns with the same int."""
    expected = list(call(things, 2))
    assert len(expected) == 2
    for two in (np.int64(2), np.int32(2), np.uint8(2)):
        assert repr(list(call(things, two))) == repr(expected)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("wrong", [True, np.True_, 2.0, np.float64(2), "2", None, -1, np.int64(-1)], ids=repr)
def test_what_is_no_count_is_refused(things: Things, call: Callable[[Things, Any], Any], wrong: Any) -> None:
    """Booleans, fractions, texts and negative numbers raise an error with the rule."""
    with pytest.raises(ArgumentError, match=r"(k|limit|num_results) must be an int of [01] or more, got"):
        call(things, wrong)


def test_the_manager_tells_a_wrong_count_in_its_result(things: Things) -> None:
    """The manager takes an integer of NumPy; a wrong k is an error of the result, as document 000 has it."""
    manager = things.engine.manager
    assert len(manager.execute_retrieve("zebra", np.int64(2)).items) == 2  # type: ignore[arg-type]
    assert len(manager.execute_search("zebra", np.int64(2), "with_items").items or ()) == 2  # type: ignore[arg-type]
    for wrong in (True, 2.0, "2", 0, np.int64(0)):
        for result in (manager.execute_retrieve("zebra", wrong), manager.execute_search("zebra", wrong)):  # type: ignore[arg-type]
            assert result.is_error()
            assert result.detail is not None
            assert result.detail.code == "invalid"
