"""A cancelled async call ends its request, whichever service it waits for."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth import knowledge_base as kb
from sleuth.code import CodeRetriever, index_path
from sleuth.code.search.retriever import SnapshotRetriever
from sleuth.compose import BoostedRetriever, FusedRetriever
from sleuth.engine import open_code
from sleuth.engine.sources import Sources
from sleuth.knowledge_base import clients
from sleuth.llm import LLMGenerator, OpenAIEmbedder, OpenAIGenerator
from sleuth.remote import THREADS
from sleuth.remote.endpoints import forget_endpoints
from sleuth.testing.faults import Fault, FaultServer
from sleuth.vector_store import Retriever as VectorRetriever
from sleuth.vector_store import SleuthVectorStore
from sleuth.web import WebRetriever, afetch_page, asearch_web, asearch_web_batch
from tests.knowledge_base.conftest import set_account
from tests.waiting import wait_until

BASE, SOURCE = "KB12345678", "DS12345678"
HOUR = 3600.0


class Asking:
    """Embeds documents at once, and asks a server for the vector of a query."""

    fingerprint = "asking"
    dimension = 2

    def __init__(self, url: str) -> None:
        self._remote = OpenAIEmbedder("m", url, api_key="", timeout=HOUR)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._remote.embed_query(text)


@pytest.fixture(scope="module")
def faults() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server
    clients._aws_client.cache_clear()


@pytest.fixture(scope="module")
def engine(faults: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Return an index whose queries wait for a server that never answers."""
    folder = tmp_path_factory.mktemp("engine")
    with Engine.open(folder / "ix", create=True, embedder=Asking(faults.url("hang"))) as index:
        index.add([Document("A zebra is striped.", {"source": "zebra.md"})])
        yield index


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Return an index without vectors."""
    folder = tmp_path_factory.mktemp("words")
    with Engine.open(folder / "ix", create=True, embedder="") as index:
        index.add([Document("A zebra is striped.", {"source": "zebra.md"})])
        yield index


@pytest.fixture(scope="module")
def code(faults: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnapshotRetriever]:
    """Return code whose queries wait for a server that never answers."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "a.py").write_text("def zebra():\n    return 1\n")
    with open_code(folder / "ix", create=True) as storage:
        repository = index_path(storage, folder, workers=1).repository
        yield SnapshotRetriever(storage, repository, embedder=Asking(faults.url("hang")))


@pytest.fixture(autouse=True)
def account(faults: FaultServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Set the environment of an AWS account whose region never answers."""
    set_account(monkeypatch, faults.url("hang"))
    monkeypatch.chdir(tmp_path)
    forget_endpoints()


async def streamed(stream: Any) -> list[str]:
    return [text async for text in stream]


def web(faults: FaultServer, fault: Fault = "hang") -> dict[str, Any]:
    return {"api_key": "local", "base_url": faults.url(fault), "timeout": HOUR}


Call = Callable[[FaultServer, Engine, Engine, SnapshotRetriever], Awaitable[object]]
CALLS: dict[str, Call] = {
    "asearch_web": lambda faults, *_: asearch_web("zebra", **web(faults)),
    "asearch_web, head": lambda faults, *_: asearch_web("zebra", **web(faults, "drip")),
    "asearch_web, body": lambda faults, *_: asearch_web("zebra", **web(faults, "drip-body")),
    "asearch_web_batch": lambda faults, *_: asearch_web_batch({"a": "zebra"}, "web.json", **web(faults)),
    "WebRetriever": lambda faults, *_: WebRetriever(**web(faults)).aretrieve("zebra"),
    "afetch_page": lambda faults, *_: afetch_page(
        faults.url("hang"), timeout=HOUR, allow_networks=["127.0.0.0/8"], obey_robots=False
    ),
    "Engine.aretrieve": lambda faults, engine, *_: engine.aretrieve("zebra"),
    "Engine.asearch, query": lambda faults, engine, *_: engine.asearch("zebra"),
    "Engine.asearch, model": lambda faults, _, words, __: words.asearch("zebra", model=model(faults)),
    "Engine.stream_search": lambda faults, _, words, __: streamed(
        words.stream_search("zebra", model=model(faults))
    ),
    "aexecute_retrieve": lambda faults, engine, *_: engine.manager.aexecute_retrieve("zebra"),
    "aexecute_search": lambda faults, engine, *_: engine.manager.aexecute_search("zebra"),
    "astream_search": lambda faults, engine, *_: streamed(engine.manager.astream_search("zebra")),
    "SnapshotRetriever": lambda faults, _, __, code: code.aretrieve("zebra"),
    "Sources, web": lambda faults, _, words, __: Sources(
        {"web": WebRetriever(**web(faults)), "docs": words}, deadline=None
    ).aretrieve("zebra"),
    "Sources, one": lambda faults, engine, *_: Sources({"docs": engine}, deadline=None).aretrieve("zebra"),
    "FusedRetriever": lambda faults, engine, words, _: FusedRetriever(
        {"web": WebRetriever(**web(faults)), "docs": words}
    ).aretrieve("zebra"),
    "BoostedRetriever": lambda faults, engine, *_: BoostedRetriever(engine, 2.0).aretrieve("zebra"),
    "CodeRetriever": lambda faults, _, __, code: CodeRetriever(
        code._storage, Asking(faults.url("hang"))
    ).aretrieve("zebra", code._repository),
    "Retriever": lambda faults, engine, *_: VectorRetriever(
        SleuthVectorStore(engine, engine.embedder), engine.embedder
    ).aretrieve("zebra"),
    "LLMGenerator": lambda faults, *_: LLMGenerator(llm=model(faults)).agenerate_answer("zebra?", []),
    "LLMGenerator, stream": lambda faults, *_: streamed(
        LLMGenerator(llm=model(faults)).astream_answer("zebra?", [])
    ),
    "MultiSliceRetriever": lambda *_: kb.MultiSliceRetriever(timeout_seconds=HOUR).aretrieve(
        "zebra", BASE, SOURCE, {"a": 1}
    ),
    "KnowledgeBaseRetriever": lambda *_: kb.KnowledgeBaseRetriever(BASE, timeout_seconds=HOUR).aretrieve(
        "zebra"
    ),
    "astart_ingestion": lambda *_: kb.astart_ingestion_with_retry(BASE, SOURCE),
    "aingest_documents": lambda *_: kb.aingest_documents_with_retry(
        BASE, SOURCE, [{"dataSourceId": SOURCE, "s3": {"uri": "s3://b/x"}}]
    ),
    "acheck_document_status": lambda *_: kb.acheck_document_status(
        BASE, SOURCE, "s3://b/x", sleep_first=False
    ),
    "abatch_check": lambda *_: kb.abatch_check_document_statuses(BASE, SOURCE, ["s3://b/x"]),
    "await_for_ingestion": lambda *_: kb.await_for_ingestion(BASE, SOURCE, "JOB1234567"),
}


def model(faults: FaultServer) -> OpenAIGenerator:
    return OpenAIGenerator("m", faults.url("hang"), api_key="", timeout=HOUR)


async def impatient(
    faults: FaultServer, call: Awaitable[object], close: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Cancel a call once it has connected, after closing what it searches."""
    before = faults.connections
    task = asyncio.ensure_future(call)
    while faults.connections == before:
        assert not task.done(), task.result()
        await asyncio.sleep(0.01)
    if close is not None:
        await close()
        assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_cancelled_call_ends_its_request(
    faults: FaultServer, engine: Engine, words: Engine, code: SnapshotRetriever, call: Call
) -> None:
    """The connection is closed, and `asyncio.run` does not wait for an answer."""
    asyncio.run(impatient(faults, call(faults, engine, words, code)))
    wait_until(lambda: not faults.open)
    wait_until(lambda: not THREADS.running)


def test_sources_close_while_they_are_asked(faults: FaultServer, words: Engine) -> None:
    """`aclose` does not wait for a source that hangs, and the search still ends when it is cancelled."""

    async def search() -> None:
        async with Sources({"web": WebRetriever(**web(faults)), "docs": words}, deadline=None) as sources:
            await impatient(faults, sources.aretrieve("zebra"), sources.aclose)

    asyncio.run(search())
    wait_until(lambda: not faults.open)
