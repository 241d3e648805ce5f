"""The suites of Haystack, and pages of its store in memory with one import changed: `make conformance`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder
from haystack.components.converters import TextFileToDocument
from haystack.components.embedders import MockDocumentEmbedder, MockTextEmbedder
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentCleaner, DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy
from haystack.errors import FilterError
from haystack.testing import document_store as suite
from haystack.testing import document_store_async as async_suite

from sleuth.errors import EmbeddingError
from sleuth.plugins.frameworks.haystack import SleuthDocumentStore, SleuthRetriever, as_filter
from tests.documents import guide_line, meaning


class _Store:
    @pytest.fixture
    def document_store(self, tmp_path: Path) -> Iterator[SleuthDocumentStore]:
        store = SleuthDocumentStore(str(tmp_path / "index"))
        yield store
        store.engine.close()

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        """The store gives documents by id."""
        assert received == sorted(expected, key=lambda document: document.id)


class TestStore(
    _Store,
    suite.DocumentStoreBaseExtendedTests,
    suite.CountDocumentsByFilterTest,
    suite.CountUniqueMetadataByFilterTest,
    suite.GetMetadataFieldsInfoTest,
    suite.GetMetadataFieldMinMaxTest,
    suite.GetMetadataFieldUniqueValuesTest,
):
    def test_write_documents(self, document_store: SleuthDocumentStore) -> None:
        """Documents come back whole, with embeddings and metadata that the index writes itself."""
        meta = {"source": "x", "language": "de", "nested": {"a": [1]}}
        one = Document(content="one", embedding=[0.1, 0.2], meta=meta)
        documents = [one, Document(content=" two ", blob=None, meta={})]
        assert document_store.write_documents(documents) == 2
        self.assert_documents_are_equal(document_store.filter_documents(), documents)

    @pytest.mark.parametrize("content", [None, "", " \n"])
    def test_a_blank_document_is_left_out(
        self, document_store: SleuthDocumentStore, content: str | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The others are written, also by a `DocumentWriter`, and the log names the one that is not."""
        blank = Document(content=content, id="blank")
        writer = DocumentWriter(document_store)
        written = writer.run([Document(content="one"), blank, Document(content="two")])
        assert written == {"documents_written": 2}
        assert document_store.count_documents() == 2
        assert "blank was left out" in caplog.text


class TestStoreAsync(
    _Store,
    async_suite.DeleteAllAsyncTest,
    async_suite.CountDocumentsAsyncTest,
    async_suite.CountDocumentsByFilterAsyncTest,
    async_suite.CountUniqueMetadataByFilterAsyncTest,
    async_suite.DeleteByFilterAsyncTest,
    async_suite.UpdateByFilterAsyncTest,
    async_suite.WriteDocumentsAsyncTest,
    async_suite.DeleteDocumentsAsyncTest,
    async_suite.GetMetadataFieldsInfoAsyncTest,
    async_suite.GetMetadataFieldMinMaxAsyncTest,
    async_suite.GetMetadataFieldUniqueValuesAsyncTest,
    async_suite.FilterDocumentsAsyncTest,
):
    async def test_write_documents_async(self, document_store: SleuthDocumentStore) -> None:
        """A document comes back."""
        document = Document(content="one")
        assert await document_store.write_documents_async([document]) == 1
        assert await document_store.filter_documents_async() == [document]


TEXTS = ("A bucket is refilled every second.", "A user logs in with a link.", "Buckets hold fifty tokens.")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SleuthDocumentStore]:
    """A store of three documents."""
    store = SleuthDocumentStore(str(tmp_path / "index"))
    store.write_documents([Document(content=text, meta={"n": n}) for n, text in enumerate(TEXTS)])
    yield store
    store.engine.close()


Parts = tuple[Callable[[], Any], Any, Any]
"""A store, the retriever that searches its words, and the one that searches its vectors."""
PEER: Parts = (InMemoryDocumentStore, InMemoryBM25Retriever, InMemoryEmbeddingRetriever)
OURS: Parts = (lambda: SleuthDocumentStore(embedder="documents"), SleuthRetriever, SleuthRetriever)


def _filled(parts: Parts) -> Any:
    """Embed and write documents; a second time they are skipped."""
    documents = [Document(content=text, meta={"n": n, "source": "x"}) for n, text in enumerate(TEXTS)]
    embedded = MockDocumentEmbedder(embedding_fn=meaning).run(documents)["documents"]
    writer = DocumentWriter(parts[0](), policy=DuplicatePolicy.SKIP)
    assert [writer.run(embedded)["documents_written"] for _ in range(2)] == [3, 0]
    return writer.document_store


def _fields(result: dict[str, Any]) -> list[Any]:
    return [(each.id, each.content, each.meta, round(each.score, 2)) for each in result["documents"]]


def vectors(parts: Parts) -> Any:
    """Find by the vector of a text embedder, in a pipeline that is written and read; also without blocking."""
    pipeline = Pipeline()
    pipeline.add_component("embedder", MockTextEmbedder(embedding_fn=meaning))
    pipeline.add_component("retriever", parts[2](document_store=_filled(parts), top_k=2))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    modules = ["sleuth.plugins.frameworks.haystack", "tests.documents"]
    assert Pipeline.loads(pipeline.dumps(), allowed_modules=modules).dumps() == pipeline.dumps()
    question = {"embedder": {"text": "how is it filled"}}
    runs = pipeline.run(question), asyncio.run(pipeline.run_async(question))
    return [_fields(run["retriever"]) for run in runs]


def policies(parts: Parts) -> Any:
    """Filters of a call replace those of the component, or are added to them."""
    store = _filled(parts)
    own = {"field": "meta.n", "operator": ">", "value": 0}
    more = {"field": "meta.source", "operator": "==", "value": "x"}
    retrievers = [parts[2](store, filters=own, filter_policy=policy) for policy in FilterPolicy]
    return [_fields(each.run(query_embedding=meaning("x"), filters=more)) for each in retrievers]


def words(parts: Parts) -> Any:
    """Find by words, and have a prompt hold what is found."""
    pipeline = Pipeline()
    pipeline.add_component("retriever", parts[1](_filled(parts), top_k=1))
    template = "{% for each in documents %}{{ each.content }}{% endfor %} {{ question }}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables="*"))
    pipeline.connect("retriever", "prompt.documents")
    questions = ("who logs in", "fifty tokens", "refilled every second")
    calls = [{"retriever": {"query": text}, "prompt": {"question": text}} for text in questions]
    return [pipeline.run(call)["prompt"]["prompt"] for call in calls]


def joining(parts: Parts) -> Any:
    """Join what two retrievers over one store find."""
    store, pipeline = _filled(parts), Pipeline()
    for name, retriever in zip(("words", "vectors"), parts[1:], strict=True):
        pipeline.add_component(name, retriever(store, top_k=2))
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=1))
    pipeline.connect("words", "joiner")
    pipeline.connect("vectors", "joiner")
    query = {"words": {"query": "user link"}, "vectors": {"query_embedding": meaning("who logs in")}}
    return _fields(pipeline.run(query)["joiner"])


def filtering(parts: Parts) -> Any:
    """Search words among documents that a tree of conditions chooses; those of a call come in its place."""
    store = _filled(parts)
    either = [{"field": "meta.n", "operator": "in", "value": [0, 2]}]
    either += [{"operator": "NOT", "conditions": [{"field": "meta.source", "operator": "==", "value": "x"}]}]
    tree = {"operator": "OR", "conditions": either}
    retriever = parts[1](store, filters=tree)
    calls: Any = ({}, {"filters": {"field": "meta.n", "operator": "<", "value": 1}}, {"top_k": 1})
    runs = [retriever.run("bucket tokens", **call)["documents"] for call in calls]
    return [sorted(each.id for each in documents) for documents in (*runs, store.filter_documents(tree))]


def preparing(parts: Parts) -> Any:
    """Convert files, clean and split them, embed and write them; a second time they are overwritten."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{n}.txt" for n in range(3)]
        for path, text in zip(paths, TEXTS, strict=True):
            path.write_text(f"{text}\n\n\n  {TEXTS[0]} ")
        writer = DocumentWriter(parts[0](), policy=DuplicatePolicy.OVERWRITE)
        steps = [TextFileToDocument(), DocumentCleaner(), DocumentSplitter(split_by="period", split_length=1)]
        steps += [MockDocumentEmbedder(embedding_fn=meaning), writer]
        pipeline = Pipeline()
        for step in steps:
            pipeline.add_component(type(step).__name__, step)
        for former, step in pairwise(steps):
            pipeline.connect(type(former).__name__, type(step).__name__)
        runs = [pipeline.run({"TextFileToDocument": {"sources": paths}}) for _ in range(2)]
    hits = parts[2](writer.document_store, top_k=6).run(query_embedding=meaning("who logs in"))
    return runs, [(hit.content, hit.meta["split_id"], round(hit.score, 2)) for hit in hits["documents"]]


@pytest.mark.parametrize("page", [vectors, policies, words, joining, filtering, preparing])
def test_a_page_of_the_store_in_memory_gives_the_same_here(page: Callable[[Parts], Any]) -> None:
    """Ids, texts, metadata, order and scores are those of Haystack's own store and its two retrievers."""
    assert page(OURS) == page(PEER)


STORE, RETRIEVER = cast("Any", SleuthDocumentStore), cast("Any", SleuthRetriever)
WRONG: dict[str, Callable[[], Any]] = {
    "embedding_similarity_function": lambda: STORE(embedding_similarity_function="cosine"),
    "scale_score": lambda: RETRIEVER(STORE(), scale_score=True),
    r"query_embedding.*embedder='documents'": lambda: RETRIEVER(STORE()).run(query_embedding=[1.0]),
    "query or query_embedding": lambda: RETRIEVER(STORE()).run(),
    "embedding of the document": lambda: OURS[0]().write_documents([Document(content="one")]),
    "256": lambda: RETRIEVER(_filled(OURS)).run(query_embedding=[1.0]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_named(name: str) -> None:
    """What Haystack's store takes and ours does not is in the message, with what to write."""
    with pytest.raises((TypeError, ValueError, EmbeddingError), match=name):
        WRONG[name]()


def test_a_pipeline_is_written_and_read(store: SleuthDocumentStore, caplog: pytest.LogCaptureFixture) -> None:
    """A pipeline with the component survives being written as YAML; the log says what a store in memory loses."""
    pipeline = Pipeline()
    pipeline.add_component("retriever", SleuthRetriever(store, top_k=1))
    first = pipeline.run({"retriever": {"query": "refilled bucket"}})
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["sleuth.plugins.frameworks.haystack"])
    assert again.run({"retriever": {"query": "refilled bucket"}}) == first
    again.get_component("retriever").document_store.engine.close()
    assert guide_line("Haystack: a document's", SleuthDocumentStore=STORE).has_vectors and not caplog.records
    _filled(OURS).to_dict()
    assert "3 documents are not written with their store" in caplog.text


@pytest.mark.parametrize("conditions", [[], [{"field": "meta.a", "operator": "==", "value": 1}]])
def test_an_unknown_operator_is_refused(conditions: list[dict[str, Any]]) -> None:
    """It would else match every document where there are no conditions."""
    with pytest.raises(FilterError, match="operator must be AND, OR or NOT, got 'NAND'"):
        as_filter({"operator": "NAND", "conditions": conditions})
