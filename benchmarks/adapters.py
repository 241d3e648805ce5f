"""What each adapter adds: CPU time of a search through a framework, less the search and the framework's own part.

    python -m benchmarks.adapters [--documents 2000] [--rounds 5]

The framework's own part is the same call of a retriever that does nothing but make the framework's objects of ten
results that are there already. Calls take turns, and the table has medians over all queries. Frameworks that are not
installed are left out: `make conformance` and `make conformance-mteb` install them.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sleuth import Document, Engine
from sleuth.errors import MissingPackageError
from sleuth.types import Ranking

K = 10
WORDS = [
    f"{a}{b}"
    for a in ("tide", "moon", "bucket", "token", "user", "link", "sea")
    for b in ("s", "ed", "ing", "er", "")
]
BAR = 0.3
"""Milliseconds that an adapter may add."""

Call = Callable[[str], Any]


class Adapter(NamedTuple):
    """Calls that take a query.

    Attributes:
        search: what the adapter asks of Sleuth.
        own: the framework's part, over results that are there.
    """

    name: str
    adapter: Call
    search: Call
    own: Call


class Ready:
    """A retriever whose results are there already."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking

    def retrieve(self, query: str, k: int = K, **options: Any) -> Ranking:
        """Return them."""
        return self.ranking


def langchain(engine: Engine, ready: Ready) -> Iterator[Adapter]:
    """The retriever: its framework runs callbacks around each call."""
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.retrievers import BaseRetriever

    from sleuth.integrations.langchain import SleuthRetriever

    class Own(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LangChainDocument]:
            return [
                LangChainDocument(id=item.id, page_content=item.text, metadata={**item.metadata})
                for item in ready.ranking
            ]

    yield Adapter(
        "LangChain, retriever", SleuthRetriever(source=engine, k=K).invoke, retrieve(engine), Own().invoke
    )


def stores(folder: Path, documents: Sequence[Document]) -> Iterator[Adapter]:
    """The stores, over an index of whole documents."""
    from sleuth.integrations.whole import WholeIndex

    engine = WholeIndex.open(folder / "whole").engine
    engine.add(documents)
    embedder = engine.embedder
    assert embedder is not None
    vector = embedder.embed_query(" ".join(WORDS[:2]))
    items = list(engine.nearest(vector, K))
    try:
        from langchain_core.documents import Document as LangChainDocument

        from sleuth.integrations.langchain import SleuthVectorStore
    except (ImportError, MissingPackageError):
        pass
    else:
        store = SleuthVectorStore(engine)
        yield Adapter(
            "LangChain, vector store",
            lambda query: store.similarity_search(query, K),
            lambda query: engine.nearest(embedder.embed_query(query), K),
            lambda query: [
                LangChainDocument(id=item.id, page_content=item.text, metadata={**item.metadata})
                for item in items
            ],
        )
    engine.close()
    try:
        from haystack import Document as HaystackDocument

        from sleuth.integrations.haystack import SleuthDocumentStore, SleuthRetriever
    except (ImportError, MissingPackageError):
        return
    haystack = SleuthDocumentStore(str(folder / "haystack"))
    haystack.write_documents(
        [
            HaystackDocument(id=each.id or "", content=each.page_content, meta=each.metadata)
            for each in documents
        ]
    )
    retriever = SleuthRetriever(haystack, top_k=K)
    yield Adapter(
        "Haystack, retriever",
        retriever.run,
        lambda query: haystack.engine.retrieve(query, K, all_copies=True),
        lambda query: [
            HaystackDocument.from_dict(
                {"id": item.id, "content": item.text, "meta": {**item.metadata}, "score": item.score}
            )
            for item in items
        ],
    )
    haystack.engine.close()


def llama_index(engine: Engine, ready: Ready) -> Iterator[Adapter]:
    """The retriever: its framework runs instrumentation around each call."""
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    from sleuth.integrations.llama_index import SleuthRetriever

    class Own(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [
                NodeWithScore(
                    node=TextNode(id_=item.id, text=item.text, metadata=dict(item.metadata)), score=item.score
                )
                for item in ready.ranking
            ]

    yield Adapter(
        "LlamaIndex, retriever", SleuthRetriever(engine, K).retrieve, retrieve(engine), Own().retrieve
    )


def llama_index_store(folder: Path, documents: Sequence[Document]) -> Iterator[Adapter]:
    """The vector store, with vectors of eight random numbers."""
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores.types import VectorStoreQuery
    from llama_index.core.vector_stores.utils import metadata_dict_to_node

    from sleuth.integrations.llama_index import SleuthVectorStore

    chance = random.Random(1)
    store = SleuthVectorStore.open(folder / "nodes")
    store.add(
        [
            TextNode(
                id_=each.id or "",
                text=each.page_content,
                metadata=each.metadata,
                embedding=[chance.gauss(0, 1) for _ in range(8)],
            )
            for each in documents
        ]
    )
    vector = [chance.gauss(0, 1) for _ in range(8)]
    items = list(store.engine.nearest(vector, K))
    yield Adapter(
        "LlamaIndex, vector store",
        lambda query: store.query(VectorStoreQuery(vector, K)),
        lambda query: store.engine.nearest(vector, K),
        lambda query: [metadata_dict_to_node(dict(item.metadata), item.text) for item in items],
    )
    store.engine.close()


def dspy(engine: Engine, ready: Ready) -> Iterator[Adapter]:
    """The retriever."""
    from dspy import Prediction

    from sleuth.integrations.dspy import SleuthRM

    yield Adapter(
        "DSPy, retriever",
        SleuthRM(engine, K),
        retrieve(engine),
        lambda query: [
            Prediction(long_text=item.text, id=item.id, score=item.score, metadata=dict(item.metadata))
            for item in ready.ranking
        ],
    )


def pyterrier(engine: Engine, ready: Ready) -> Iterator[Adapter]:
    """The transformer, a frame of a hundred queries at a time."""
    import pandas as pd

    from sleuth.evaluate import make_run
    from sleuth.integrations.pyterrier import SleuthRetriever

    def frame(query: str) -> Any:
        return pd.DataFrame({"qid": [str(n) for n in range(HUNDRED)], "query": [query] * HUNDRED})

    def own(query: str) -> None:
        topics = frame(query)
        rows = [
            (qid, query, item.document_id, item.score, rank)
            for qid in topics["qid"]
            for rank, item in enumerate(ready.ranking)
        ]
        pd.DataFrame(rows, columns=["qid", "query", "docno", "score", "rank"])

    adapter = SleuthRetriever(engine, K)
    yield Adapter(
        f"PyTerrier, {HUNDRED} queries, each",
        lambda query: adapter(frame(query)),
        lambda query: make_run(engine, {str(n): query for n in range(HUNDRED)}, k=K),
        own,
    )


HUNDRED = 100


def agents(engine: Engine, index: Path) -> Iterator[Adapter]:
    """The tool `search` of LangGraph and Pydantic AI, beside the tool itself."""
    from sleuth.integrations.agents import AgentTools

    tools = AgentTools(index)
    answer = tools.call("search", query="tides", k=K)
    try:
        from langchain_core.tools import StructuredTool

        from sleuth.integrations.langgraph import SleuthToolkit
    except (ImportError, MissingPackageError):
        pass
    else:
        tool = {each.name: each for each in SleuthToolkit(index).get_tools()}["search"]

        def ready_answer(**arguments: Any) -> str:
            return answer

        own = StructuredTool(
            name="search", description="x", args_schema=tool.args_schema or {}, func=ready_answer
        )
        yield Adapter(
            "LangGraph, tool",
            lambda query: tool.invoke({"query": query, "k": K}),
            lambda query: tools.call("search", query=query, k=K),
            lambda query: own.invoke({"query": query, "k": K}),
        )
    try:
        from sleuth.integrations.pydantic_ai import SleuthToolset
    except MissingPackageError:
        return
    toolset = SleuthToolset(index)

    async def ready_call(**arguments: Any) -> str:
        return answer

    async def in_another_thread() -> str:
        return await asyncio.to_thread(lambda: answer)

    yield Adapter(
        "Pydantic AI, tool",
        lambda query: asyncio.run(toolset.tools["search"].function_schema.function(query=query, k=K)),
        lambda query: tools.call("search", query=query, k=K),
        lambda query: asyncio.run(in_another_thread()),
    )


def mteb(documents: Sequence[Document], folder: Path) -> Iterator[Adapter]:
    """The search model, a hundred queries at a time."""
    from types import SimpleNamespace

    from sleuth.engine import WITHOUT_VARIETY
    from sleuth.integrations.mteb import SleuthSearch

    model = SleuthSearch(folder / "mteb")
    model.index(
        [{"id": each.id, "text": each.page_content} for each in documents],
        task_metadata=SimpleNamespace(name="x"),
        hf_split="test",
        hf_subset="default",
    )
    engine = model._engine
    assert engine is not None

    def search(query: str) -> None:
        for _ in range(HUNDRED):
            engine.retrieve(query, 2 * K, **WITHOUT_VARIETY)

    yield Adapter(
        f"MTEB, {HUNDRED} queries, each",
        lambda query: model.search([{"id": str(n), "text": query} for n in range(HUNDRED)], top_k=K),
        search,
        lambda query: None,
    )
    model.close()


def retrieve(engine: Engine) -> Call:
    """Return the plain search."""
    return lambda query: engine.retrieve(query, K)


def milliseconds(call: Call, query: str) -> float:
    """Return the CPU time of a call."""
    start = time.process_time_ns()
    call(query)
    return (time.process_time_ns() - start) / 1e6


def measure(adapter: Adapter, queries: Sequence[str], rounds: int) -> tuple[float, float, float, float]:
    """Return medians: the call, the search, the framework's part and the rest, which the adapter adds."""
    per = HUNDRED if str(HUNDRED) in adapter.name else 1
    if per > 1:
        queries, rounds = queries[:5], max(1, rounds // 2)
    for call in adapter[1:]:
        call(queries[0])
    rows = []
    for _ in range(rounds):
        for query in queries:
            whole, search, own = (milliseconds(call, query) / per for call in adapter[1:])
            rows.append((whole, search, own, whole - search - own))
    return tuple(statistics.median(column) for column in zip(*rows, strict=True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    chance = random.Random(0)
    documents = [
        Document(" ".join(chance.choices(WORDS, k=40)), {"year": 1900 + n % 120, "kind": "note"}, id=f"d{n}")
        for n in range(options.documents)
    ]
    queries = [" ".join(chance.choices(WORDS, k=3)) for _ in range(40)]
    print("| adapter | call, ms | search, ms | framework's own, ms | adds, ms |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Engine.open(folder / "index", create=True) as engine:
            engine.add(documents)
            ready = Ready(engine.retrieve(queries[0], K))
            families: list[Callable[[], Iterator[Adapter]]] = [
                lambda: langchain(engine, ready),
                lambda: stores(folder, documents),
                lambda: llama_index(engine, ready),
                lambda: llama_index_store(folder, documents),
                lambda: dspy(engine, ready),
                lambda: pyterrier(engine, ready),
                lambda: agents(engine, folder / "index"),
                lambda: mteb(documents, folder),
            ]
            for family in families:
                try:
                    for adapter in family():
                        call, search, own, adds = measure(adapter, queries, options.rounds)
                        print(
                            f"| {adapter.name} | {call:.2f} | {search:.2f} | {own:.2f} | {adds:.2f} |",
                            flush=True,
                        )
                except (ImportError, MissingPackageError) as error:
                    print(f"left out: {error}")
    print(f"\nThe bar is {BAR} ms.")


if __name__ == "__main__":
    main()
