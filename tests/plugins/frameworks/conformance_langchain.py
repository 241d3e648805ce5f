"""The suites of LangChain, and pages of its stores with one import changed: `make conformance`."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncGenerator, Callable, Generator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_chroma import Chroma
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
)
from langchain_classic.storage import InMemoryStore
from langchain_community.document_compressors import jina_rerank
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document as LangChainDocument
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.indexing.base import DocumentIndex
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import VectorStore
from langchain_qdrant import QdrantVectorStore, RetrievalMode, SparseEmbeddings, SparseVector
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests
from langchain_tests.integration_tests.indexer import AsyncDocumentIndexTestSuite, DocumentIndexerTestSuite
from langchain_text_splitters import RecursiveCharacterTextSplitter
from qdrant_client import models

from sleuth import Document, Engine
from sleuth.errors import EmbedderMismatchError
from sleuth.plugins.frameworks.langchain import SleuthDocumentIndex, SleuthRetriever, SleuthVectorStore
from tests.documents import NEWS, QUERY, guide_line, meaning
from tests.documents import news as engine
from tests.surfaces.http.conftest import serving

__all__ = ["engine"]

TEXTS = [f"Bucket {number} holds {number * 10} tokens." for number in range(1, 6)]


class TestSleuthRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def engine(self, tmp_path: Path) -> Generator[None, None, None]:
        with Engine.open(tmp_path / "index", create=True) as self._engine:
            self._engine.add([Document(text, {"source": f"{n}.md"}) for n, text in enumerate(TEXTS)])
            yield

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return SleuthRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"source": self._engine}

    @property
    def retriever_query_example(self) -> str:
        return "how many tokens does a bucket hold"


class TestSleuthVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Generator[VectorStore, None, None]:
        store = SleuthVectorStore.open(tmp_path / "index", self.get_embeddings(), model="fake")
        yield store
        store.engine.close()


class TestSleuthDocumentIndex(DocumentIndexerTestSuite):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Generator[DocumentIndex, None, None]:
        index = SleuthDocumentIndex.open(tmp_path / "index")
        yield index
        index.engine.close()


class TestSleuthDocumentIndexAsync(AsyncDocumentIndexTestSuite):
    @pytest.fixture
    async def index(self, tmp_path: Path) -> AsyncGenerator[DocumentIndex, None]:
        index = SleuthDocumentIndex.open(tmp_path / "index")
        yield index
        index.engine.close()


class Meaning(Embeddings):
    """Embeddings that do not name their model."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return list(map(meaning, texts))

    def embed_query(self, text: str) -> list[float]:
        return meaning(text)


IDS = [f"00000000-0000-0000-0000-00000000000{n}" for n in range(6)]
DOCUMENTS = [LangChainDocument(text, id=IDS[n], metadata={"n": n}) for n, text in enumerate(NEWS)]


class Peer(NamedTuple):
    """A store: how its `from_documents` is called, a filter, and the cosine of one of its scores."""

    store: Any
    options: Callable[[], dict[str, Any]] = dict
    filter: Any = {"n": 2}  # noqa: RUF012
    cosine: Callable[[float], float] = float

    def made(self, documents: list[LangChainDocument] = DOCUMENTS) -> VectorStore:
        return self.store.from_documents(documents, Meaning(), **self.options())  # type: ignore[no-any-return]


NUMBERS = count()
IS_2 = models.FieldCondition(key="metadata.n", match=models.MatchValue(value=2))
OURS = Peer(SleuthVectorStore)
PEERS = [
    Peer(Chroma, lambda: {"collection_name": f"docs{next(NUMBERS)}"}, cosine=lambda score: 1 - score / 2),
    Peer(FAISS, cosine=lambda score: 1 - score / 2),
    Peer(
        QdrantVectorStore,
        lambda: {"location": ":memory:", "collection_name": "docs"},
        models.Filter(must=[IS_2]),
    ),
]


def _parts(documents: list[LangChainDocument]) -> list[Any]:
    """Return ids, texts and metadata; Qdrant's integration gives the id as metadata."""
    return [(each.metadata.get("_id", each.id), each.page_content, each.metadata["n"]) for each in documents]


def searches(peer: Peer) -> Any:
    """Search by a text and by a vector, with a filter, and with scores."""
    store = peer.made()
    scored: list[tuple[Any, float]] = store.similarity_search_with_score(QUERY, k=6)
    if peer is OURS:
        distances = guide_line("LangChain: distances", scored=scored)
        assert [1 - distance / 2 for distance in distances] == pytest.approx([score for _, score in scored])
    by_vector = store.similarity_search_by_vector(meaning(QUERY), k=2)
    filtered = store.similarity_search(QUERY, k=2, filter=peer.filter)
    cosines = [round(peer.cosine(score), 2) for _, score in scored]
    return [_parts(each) for each in ([document for document, _ in scored], by_vector, filtered)], cosines


def retrievers(peer: Peer) -> Any:
    """Make a retriever of each kind."""
    store = peer.made()
    plain = store.as_retriever(search_kwargs={"k": 1, "filter": peer.filter})
    different = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "fetch_k": 5})
    least = {"score_threshold": 0.99}
    sure = store.as_retriever(search_type="similarity_score_threshold", search_kwargs=least)
    return [_parts(each) for each in (*plain.batch(["a", "b"]), different.invoke(QUERY), sure.invoke(QUERY))]


def indexing(peer: Peer) -> Any:
    """Keep a store in step with sources by a record manager."""
    manager = InMemoryRecordManager("docs")
    manager.create_schema()
    store = peer.made(DOCUMENTS[5:])
    plain = [LangChainDocument(text, metadata={"n": n, "source": "x"}) for n, text in enumerate(NEWS[:3])]
    steps: Any = [(plain, None), (plain, "incremental"), (plain[:2], "scoped_full"), (plain[:1], "full")]
    how: Any = {"source_id_key": "source", "key_encoder": "sha1"}
    counts = [index(batch, manager, store, cleanup=cleanup, **how) for batch, cleanup in steps]
    return counts, [text for _, text, _ in _parts(store.similarity_search(QUERY, k=9))]


def changing(peer: Peer) -> Any:
    """Add documents with ids, delete others, read by ids, and search without blocking."""
    store = peer.made(DOCUMENTS[:3])
    store.add_documents(DOCUMENTS[3:], ids=IDS[3:])
    store.delete(IDS[:2])
    return sorted(_parts(store.get_by_ids(IDS))), _parts(asyncio.run(store.asimilarity_search(QUERY, k=9)))


def parents(peer: Peer) -> Any:
    """Find small pieces, and give the documents that they are from."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=40, chunk_overlap=0)
    parts: Any = {"vectorstore": peer.made(DOCUMENTS[:1]), "docstore": InMemoryStore()}
    retriever = ParentDocumentRetriever(**parts, child_splitter=splitter, search_kwargs={"k": 3})
    pairs = [LangChainDocument(" ".join(NEWS[n : n + 2]), metadata={"n": n}) for n in (1, 3)]
    retriever.add_documents(pairs, ids=IDS[1:3])
    return [
        (hit.page_content, hit.metadata) for text in ("robbers", "film") for hit in retriever.invoke(text)
    ]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.store.__name__)
@pytest.mark.parametrize("page", [searches, retrievers, indexing, changing, parents])
def test_a_page_of_another_store_gives_the_same_here(page: Callable[[Peer], Any], peer: Peer) -> None:
    """Ids, texts, metadata, order and cosines are those of the store that ours stands in for."""
    assert page(OURS) == page(peer)


WRONG: dict[str, Callable[[], Any]] = {
    r"collection_name.*use SleuthVectorStore\.open": lambda: SleuthVectorStore(collection_name="a"),
    "engine must be .*got.*Meaning": lambda: SleuthVectorStore(Meaning()),
    "location": lambda: SleuthVectorStore.from_documents(DOCUMENTS, Meaning(), location=":memory:"),
    "filter must be": lambda: OURS.made().similarity_search(QUERY, filter=models.Filter(must=[IS_2])),
    "n_results.*'k'": lambda: OURS.made().similarity_search(QUERY, n_results=2),
    "k must": lambda: OURS.made().similarity_search(QUERY, k=-1),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_named(name: str) -> None:
    """What another store takes and ours does not is in the message, with what to write."""
    with pytest.raises(ValueError, match=name):
        WRONG[name]()


def test_collections_are_apart_and_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each store without a path is a new one, and leaves nothing behind; a path keeps documents and dimension."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stores = [OURS.made([each]) for each in DOCUMENTS[:2]]
    hits = [_parts(store.similarity_search("x", k=9)) for store in stores]
    assert hits == [_parts([each]) for each in DOCUMENTS[:2]]
    del stores
    assert list(tmp_path.iterdir()) == []
    names = {"SleuthVectorStore": SleuthVectorStore, "embeddings": DeterministicFakeEmbedding(size=8)}
    for batch in (DOCUMENTS[:3], DOCUMENTS[3:]):
        store = guide_line("LangChain: `Chroma", **names)
        store.add_documents(batch)
        store.engine.close()
    store = guide_line("LangChain: `Chroma", **names)
    assert {each.metadata["n"] for each in guide_line("Qdrant", store=store, text=QUERY)} == {2, 3, 4, 5}
    with pytest.raises(EmbedderMismatchError, match=r"of 8 dimensions.* of 9 dimensions"):
        SleuthVectorStore.open("docs", DeterministicFakeEmbedding(size=9))


def test_a_saved_store_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, a saved index and a collection on the disk give what ours gives, which is saved as it is."""
    monkeypatch.chdir(tmp_path)
    named: Any = {"collection_name": "docs"}
    Chroma.from_documents(DOCUMENTS, Meaning(), **named, persist_directory=str(tmp_path / "chroma"))
    FAISS.from_documents(DOCUMENTS, Meaning()).save_local("faiss")
    QdrantVectorStore.from_documents(DOCUMENTS, Meaning(), **named, path="qdrant").client.close()
    SleuthVectorStore.from_documents(DOCUMENTS, Meaning(), path="docs").engine.close()
    ours, *peers = [
        guide_line("LangChain: `Chroma", SleuthVectorStore=SleuthVectorStore, embeddings=Meaning()),
        Chroma(**named, embedding_function=Meaning(), persist_directory=str(tmp_path / "chroma")),
        FAISS.load_local("faiss", Meaning(), allow_dangerous_deserialization=True),
        QdrantVectorStore.from_existing_collection("docs", Meaning(), path="qdrant"),
    ]
    expected = _parts(ours.similarity_search(QUERY, k=3))
    assert [_parts(peer.similarity_search(QUERY, k=3)) for peer in peers] == [expected] * 3


class Words(SparseEmbeddings):
    """A number for each word, in place of a model that is downloaded."""

    def embed_documents(self, texts: list[str]) -> list[SparseVector]:
        return list(map(self.embed_query, texts))

    def embed_query(self, text: str) -> SparseVector:
        numbers = sorted({zlib.crc32(word.encode()) for word in re.findall(r"\w+", text.lower())})
        return SparseVector(indices=numbers, values=[1.0] * len(numbers))


@pytest.mark.parametrize(
    ("mode", "options"), [(RetrievalMode.SPARSE, {"legs": ["lexical"]}), (RetrievalMode.HYBRID, {})]
)
def test_words_of_qdrant(mode: RetrievalMode, options: dict[str, Any]) -> None:
    """Its sparse and hybrid modes find first what a retriever over our store finds, by words and by both."""
    where: Any = {"location": ":memory:", "collection_name": "docs", "retrieval_mode": mode}
    peer = QdrantVectorStore.from_documents(DOCUMENTS, Meaning(), sparse_embedding=Words(), **where)
    ours = SleuthRetriever(source=OURS.made().engine, k=1, options=options)  # type: ignore[attr-defined]
    for text in ("stock market", "wonderful film", "stole a million"):
        assert ours.invoke(text)[0].page_content == peer.similarity_search(text, k=1)[0].page_content
    with pytest.raises(ValueError, match="legs must be"):
        SleuthRetriever(source=ours.source, options={"legs": ["sparse_vector"]}).invoke("film")


def prompting(retriever: BaseRetriever) -> Any:
    """Give hits to a prompt, one by one, in a batch and as a stream."""
    notes = retriever | (lambda hits: hits[0].page_content)
    prompt = ChatPromptTemplate.from_template("{notes} {question}")
    chain = {"notes": notes, "question": RunnablePassthrough()} | prompt | (lambda value: value.to_string())
    return chain.invoke("cloudy weather"), chain.batch(["film", "bank"]), "".join(chain.stream("market"))


def rewording(retriever: BaseRetriever) -> Any:
    """Ask what a model makes of a question, too."""
    model = FakeListChatModel(responses=["who stole a million\nwhere are robbers"])
    return MultiQueryRetriever.from_llm(retriever, model).invoke("crime")[0].page_content


@pytest.mark.parametrize("page", [prompting, rewording])
def test_a_page_of_another_retriever_gives_the_same_here(engine: Engine, page: Any) -> None:
    """A retriever by words takes the place of LangChain's own in whatever is built over it."""
    peer = BM25Retriever.from_texts(NEWS, preprocess_func=lambda text: re.findall(r"\w+", text.lower()))
    assert page(SleuthRetriever(source=engine, k=3)) == page(peer)


def test_retrievers_are_combined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an ensemble, as a tool, and behind the client of Jina's reranker, which asks our server."""
    with Engine.open(tmp_path / ".sleuth", create=True) as engine:
        engine.add(DOCUMENTS)  # type: ignore[arg-type]  # any object with the same attributes
        ours = SleuthRetriever(source=engine, k=3)
        expected = [(item.id, item.score) for item in engine.retrieve("weather", 3)]
        assert [(each.id, each.metadata["score"]) for each in ours.invoke("weather")] == expected
        both = EnsembleRetriever(retrievers=[ours, OURS.made().as_retriever()], weights=[0.5, 0.5])
        assert both.invoke("weather tomorrow")[0].page_content.startswith("The weather")
        tool = create_retriever_tool(ours, "notes", "Searches notes.")
        assert NEWS[1] in tool.invoke({"query": "weather tomorrow"})
        with serving(tmp_path / ".sleuth") as server:
            monkeypatch.setattr(jina_rerank, "JINA_API_URL", f"{server.url}/v1/rerank")
            jina = jina_rerank.JinaRerank(jina_api_key="-", top_n=1)
            reranked = ContextualCompressionRetriever(base_compressor=jina, base_retriever=ours)
            assert reranked.invoke("weather forecast clouds tomorrow")[0].page_content == NEWS[5]
        with pytest.raises(TypeError, match="no argument 'top_k'; did you mean 'k'"):
            SleuthRetriever(source=engine, options={"top_k": 3}).invoke("weather")
