"""What LlamaIndex says of retrievers and vector stores, and its pages with one import changed: `make conformance`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document as LlamaDocument
from llama_index.core import (
    SimpleDirectoryReader,
    StorageContext,
    VectorStoreIndex,
    get_response_synthesizer,
    load_index_from_storage,
)
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.tools import RetrieverTool
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from sleuth import Document, Engine
from sleuth.errors import ArgumentError
from sleuth.plugins.frameworks.llama_index import SleuthRetriever, SleuthVectorStore
from tests.documents import NEWS, QUERY, guide_line, meaning

METADATA: tuple[dict[str, Any], ...] = (
    {"year": 1999, "theme": "Fiction", "tags": ["red", "blue"], "rating": 8.5, "director": None},
    {"year": 1972, "theme": "Mafia", "tags": ["blue"], "rating": 9.2, "director": "Coppola"},
    {"year": 2010, "theme": "fiction", "tags": [], "rating": 8.8, "director": "Nolan"},
    {"title": "Untitled", "source": "x.md", "language": "de"},
)
TEXTS = ("Lorem ipsum dolor", "consectetur adipiscing elit", "sed do eiusmod tempor", "ut labore et dolore")


def _nodes() -> list[TextNode]:
    return [
        TextNode(
            id_=f"node-{place}",
            text=text,
            metadata=dict(metadata),
            embedding=[float(place == axis) + 0.1 for axis in range(4)],
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"doc-{place // 2}")},
        )
        for place, (text, metadata) in enumerate(zip(TEXTS, METADATA, strict=True))
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SleuthVectorStore]:
    """A store of four nodes of two documents."""
    store = SleuthVectorStore.open(tmp_path / "index")
    assert store.add(_nodes()) == [f"node-{place}" for place in range(4)]
    yield store
    store.engine.close()


def _ids(store: SleuthVectorStore, **query: Any) -> list[str]:
    vector = query.pop("query_embedding", [0.25] * 4)
    return list(store.query(VectorStoreQuery(vector, query.pop("similarity_top_k", 10), **query)).ids or ())


def _matching(
    store: SleuthVectorStore, *filters: Any, condition: FilterCondition = FilterCondition.AND
) -> str:
    """Return the numbers of the nodes that match, as one word."""
    ids = _ids(store, filters=MetadataFilters(filters=list(filters), condition=condition))
    return "".join(sorted(id.removeprefix("node-") for id in ids))


def _is(key: str, operator: str, value: Any) -> MetadataFilter:
    return MetadataFilter(key=key, operator=FilterOperator(operator), value=value)


@pytest.mark.parametrize(("operator", "key", "value", "matching"), [
    ("==", "year", 1999, "0"), ("==", "theme", "Fiction", "0"), ("!=", "theme", "Fiction", "123"),
    (">", "year", 1999, "2"), (">=", "year", 1999, "02"), ("<", "rating", 8.8, "0"),
    ("<=", "rating", 8.8, "02"), ("in", "year", [1972, 2010], "12"), ("nin", "year", [1972, 2010], "03"),
    ("any", "tags", ["red", "green"], "0"), ("all", "tags", ["red", "blue"], "0"),
    ("contains", "tags", "blue", "01"), ("text_match", "theme", "iction", "02"),
    ("text_match_insensitive", "theme", "FICTION", "02"), ("is_empty", "tags", None, "23"),
    ("is_empty", "director", None, "03"),
])  # fmt: skip
def test_each_operator(store: SleuthVectorStore, operator: str, key: str, value: Any, matching: str) -> None:
    """Every operator of LlamaIndex chooses the nodes that its documentation says."""
    assert _matching(store, _is(key, operator, value)) == matching


def test_conditions_nest(store: SleuthVectorStore) -> None:
    """Filters are joined by and, or and not, within each other."""
    old, fiction = _is("year", "<", 2000), _is("theme", "text_match_insensitive", "fiction")
    assert _matching(store, old, fiction) == "0"
    assert _matching(store, old, fiction, condition=FilterCondition.OR) == "012"
    assert _matching(store, old, condition=FilterCondition.NOT) == "23"
    inner = MetadataFilters(filters=[old, fiction], condition=FilterCondition.OR)
    assert _matching(store, inner, _is("rating", ">", 8.6)) == "12"


def test_modes(store: SleuthVectorStore) -> None:
    """Words, vectors, and both; other modes are refused by name."""
    assert _ids(store, query_str="eiusmod tempor", mode=VectorStoreQueryMode.TEXT_SEARCH) == ["node-2"]
    vector = [1.0, 0.0, 0.0, 0.0]
    both = {"query_str": "eiusmod", "query_embedding": vector, "mode": VectorStoreQueryMode.HYBRID}
    assert _ids(store, **both, alpha=0.1)[0] == "node-2"
    assert _ids(store, **both, alpha=0.9)[0] == "node-0"
    with pytest.raises(ArgumentError, match="got 'svm'"):
        _ids(store, query_str="x", mode=VectorStoreQueryMode.SVM)


def test_nodes_are_chosen_by_id_and_document(store: SleuthVectorStore) -> None:
    """`node_ids` and `doc_ids` limit a query."""
    assert sorted(_ids(store, node_ids=["node-1", "node-3"])) == ["node-1", "node-3"]
    assert sorted(_ids(store, doc_ids=["doc-1"])) == ["node-2", "node-3"]


def test_nodes_are_read_deleted_and_replaced(store: SleuthVectorStore) -> None:
    """By node, by document, by filter, and all at once; deleting what is not there is fine."""
    assert [node.node_id for node in store.get_nodes(["node-1", "missing"])] == ["node-1"]
    replacement = _nodes()[0].model_copy(update={"text": "other words"})
    store.add([replacement])
    assert [node.get_content() for node in store.get_nodes(["node-0"])] == ["other words"]
    store.delete("doc-1")
    store.delete("missing")
    assert len(store.get_nodes()) == 2
    store.delete_nodes(filters=MetadataFilters(filters=[_is("year", "==", 1972)]))
    store.delete_nodes(["missing"])
    assert [node.node_id for node in store.get_nodes()] == ["node-0"]
    store.clear()
    assert store.get_nodes() == []


class Meaning(BaseEmbedding):
    """Vectors of the default embedder."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return meaning(text)

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return meaning(query)


def _read(folder: Path) -> Any:
    """Read files with LlamaIndex's reader."""
    for n, text in enumerate(NEWS):
        (folder / f"{n}.md").write_text(text)
    return SimpleDirectoryReader(folder, filename_as_id=True).load_data()


def _index(make: Callable[[], Any], documents: list[LlamaDocument]) -> VectorStoreIndex:
    """Return an index over a store of one kind."""
    context = StorageContext.from_defaults(vector_store=make())
    return VectorStoreIndex.from_documents(documents, context, embed_model=Meaning())


def _found(hits: list[NodeWithScore]) -> list[Any]:
    nodes = [(hit.node, round(hit.score or 0, 2)) for hit in hits]
    return [(node.get_content(), node.metadata, score, node.ref_doc_id) for node, score in nodes]


async def querying(make: Callable[[], Any], folder: Path) -> Any:
    """Index files, ask questions, also streamed, asynchronous and in a chat, and with a filter."""
    index = _index(make, _read(folder))
    engine = index.as_query_engine(llm=MockLLM(), similarity_top_k=2)
    whole = engine.query(QUERY)
    parts = index.as_query_engine(llm=MockLLM(), similarity_top_k=2, streaming=True).query(QUERY)
    assert "".join(parts.response_gen) == str(whole) == str(await engine.aquery(QUERY))
    chat = str(index.as_chat_engine(llm=MockLLM(), chat_mode="context").chat(QUERY))
    only = MetadataFilters(filters=[_is("file_name", "==", "2.md")])
    filtered = index.as_retriever(filters=only, similarity_top_k=5).retrieve(QUERY)
    return _found(whole.source_nodes), str(whole), chat, _found(filtered)


async def changing(make: Callable[[], Any], folder: Path) -> Any:
    """Insert, change and delete documents of an index."""
    first, second, *others = _read(folder)
    index = _index(make, [first, second])
    index.insert(others[0])
    second.set_content("The weather tomorrow will be sunny.")
    index.update_ref_doc(second)
    index.delete_ref_doc(first.doc_id)
    return _found(await index.as_retriever(similarity_top_k=9).aretrieve(QUERY))


async def reading(make: Callable[[], Any], folder: Path) -> Any:
    """Read one kind of file, also in folders below, with metadata that a function gives."""
    _read(folder)
    (folder / "below").mkdir(exist_ok=True)
    for name in ("skipped.txt", "below/6.md"):
        (folder / name).write_text("It may rain.")
    reader = SimpleDirectoryReader(
        folder, recursive=True, required_exts=[".md"], file_metadata=lambda path: {"stem": Path(path).stem}
    )
    hits = _index(make, reader.load_data()).as_retriever(similarity_top_k=9).retrieve(QUERY)
    return [parts[:3] for parts in _found(hits)]


async def composing(make: Callable[[], Any], folder: Path) -> Any:
    """Drop weak nodes, answer in each mode, fuse two retrievers, and make a tool of one."""
    retriever = _index(make, _read(folder)).as_retriever(similarity_top_k=5)
    answers = []
    for mode in ("compact", "refine", "tree_summarize"):
        writer = get_response_synthesizer(llm=MockLLM(), response_mode=mode)
        engine = RetrieverQueryEngine(retriever, writer, [SimilarityPostprocessor(similarity_cutoff=0.2)])
        answer = await engine.aquery(QUERY)
        answers.append((str(answer), _found(answer.source_nodes)))
    fused = QueryFusionRetriever([retriever] * 2, MockLLM(), num_queries=1, similarity_top_k=2)
    tool = RetrieverTool.from_defaults(retriever, name="news", description="Searches news.")
    return answers, _found(await fused.aretrieve(QUERY)), str(tool.call(QUERY))


async def ingesting(make: Callable[[], Any], folder: Path) -> Any:
    """Cut and embed, save the pipeline, load it, skip what is unchanged, replace what is not, delete what is gone."""
    documents, store = _read(folder), make()
    steps: Any = [SentenceSplitter(chunk_size=60, chunk_overlap=0), Meaning()]
    stores: Any = {"vector_store": store, "docstore_strategy": DocstoreStrategy.UPSERTS_AND_DELETE}
    first, second = (
        IngestionPipeline(transformations=steps, **stores, docstore=SimpleDocumentStore()) for _ in range(2)
    )
    counts = [len(first.run(documents=documents))]
    first.persist(state := f"{folder}-{type(store).__name__}")
    second.load(state)
    counts.append(len(second.run(documents=documents)))
    documents[0].set_content("The weather tomorrow will be sunny.")
    counts += [len(await second.arun(documents=rows)) for rows in (documents, documents[:5])]
    scores = store.query(VectorStoreQuery(meaning(QUERY), 9)).similarities
    return counts, [round(score, 2) for score in scores]


@pytest.mark.parametrize("page", [querying, changing, ingesting, reading, composing])
async def test_a_page_of_the_simple_store_gives_the_same_here(page: Any, tmp_path: Path) -> None:
    """Answers, nodes, order and scores are those of LlamaIndex's own vector store."""
    assert await page(SleuthVectorStore.open, tmp_path) == await page(SimpleVectorStore, tmp_path)


def test_an_index_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was persisted and loaded finds what ours finds, which is on the disk as it is."""
    monkeypatch.chdir(tmp_path)
    ours, theirs = SleuthVectorStore.open("nodes"), SimpleVectorStore()
    for store in (ours, theirs):
        context = StorageContext.from_defaults(vector_store=store)
        VectorStoreIndex.from_documents(_read(tmp_path), context, embed_model=Meaning())
    context.persist("saved")
    saved = StorageContext.from_defaults(persist_dir="saved")
    indexes = [load_index_from_storage(saved, embed_model=Meaning())]
    ours.engine.close()
    names = {"VectorStoreIndex": VectorStoreIndex, "SleuthVectorStore": SleuthVectorStore}
    indexes.append(guide_line("LlamaIndex: `persist`", **names, embed_model=Meaning()))
    first, second = [_found(index.as_retriever(similarity_top_k=3).retrieve(QUERY)) for index in indexes]
    assert first == second != []


def test_nodes_that_differ(store: SleuthVectorStore) -> None:
    """Mode `mmr` chooses the nodes that LlamaIndex's own store chooses, with their scores."""
    theirs, copy = SimpleVectorStore(), _nodes()[0].model_copy(update={"id_": "node-9"})
    theirs.add([*_nodes(), copy])
    store.add([copy])
    query = VectorStoreQuery([1.0, 0.3, 0.2, 0.1], 2, mode=VectorStoreQueryMode.MMR)
    for options in ({}, {"mmr_threshold": 0.2}, {"mmr_threshold": 1}):
        expected, found = theirs.query(query, **options), store.query(query, **options)
        assert found.ids == expected.ids
        assert found.similarities == pytest.approx(expected.similarities, abs=1e-6)
    nearest, different = [
        store.query(query, mmr_threshold=0.1, mmr_prefetch_factor=n).ids or () for n in (1, 4)
    ]
    assert ("node-9" in nearest, "node-9" in different) == (True, False)  # a copy
    with pytest.raises(ArgumentError, match="got 'mmr_treshold'"):
        store.query(query, mmr_treshold=0.5)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_retriever_gives_nodes_with_scores(tmp_path: Path, is_async: bool) -> None:
    """Items of any retriever are nodes: id, text, metadata and score; options reach the source."""
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add([Document(text, {"source": f"{n}.md", "n": n}) for n, text in enumerate(TEXTS)])
        retriever, query = SleuthRetriever(engine, 2, filter="n<3"), "eiusmod lorem dolore"
        hits = await retriever.aretrieve(query) if is_async else retriever.retrieve(query)
        expected = engine.retrieve(query, 2, filter="n<3")
    assert [(hit.node.node_id, hit.score) for hit in hits] == [(item.id, item.score) for item in expected]
    assert hits[0].node.get_content() == expected[0].text and hits[0].node.metadata["n"] in (0, 2)


def test_a_model_reads_no_keys_of_the_engine(tmp_path: Path) -> None:
    """The prompt of a node has its source and the keys of the user; the node has all."""
    (tmp_path / "a.md").write_text("A bucket is refilled.")
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.index([tmp_path / "a.md"])
        (hit,) = SleuthRetriever(engine).retrieve("bucket")
    assert {"modified", "size", "type", "start_line"} <= hit.node.metadata.keys()
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        prompt = hit.node.get_content(metadata_mode=mode)
        keys = {line.partition(":")[0] for line in prompt.splitlines() if ": " in line}
        assert keys == {"source", "title"}


def test_a_store_refuses_options_that_it_does_not_use(store: SleuthVectorStore) -> None:
    """A filter beside the query, or a namespace, is named, and never ignored."""
    query = VectorStoreQuery([0.25] * 4, 10)
    calls: list[tuple[Any, Any]] = [(store.query, query), (store.add, _nodes()), (store.delete, "doc-0")]
    for call, value in [*calls, (store.delete_nodes, ["node-0"])]:
        for option in ("where", "namespace"):
            with pytest.raises(ArgumentError, match=f"options must be among .*got '{option}'"):
                call(value, **{option: {"theme": "Mafia"}})
    assert len(_ids(store)) == 4
    with pytest.raises(ValueError, match="engine\n  Field required"):
        SleuthVectorStore(chroma_collection="x")
    with pytest.raises(TypeError, match="no argument 'similarity_top_k'; did you mean 'k'"):
        SleuthRetriever(store.engine, similarity_top_k=2).retrieve("x")
    with pytest.raises(ArgumentError, match="documents must hold Documents"):
        store.engine.add([LlamaDocument(text="x")])
