"""The conformance suites of Haystack, and what it says of retrievers: `make conformance`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.errors import FilterError
from haystack.testing import document_store as suite
from haystack.testing import document_store_async as async_suite

from sleuth.plugins.frameworks.haystack import SleuthDocumentStore, SleuthRetriever, as_filter
from tests.documents import check_examples


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
        documents = [
            Document(
                content="one",
                embedding=[0.1, 0.2],
                meta={"source": "x", "language": "de", "nested": {"a": [1]}},
            ),
            Document(content=" two ", blob=None, meta={}),
        ]
        assert document_store.write_documents(documents) == 2
        self.assert_documents_are_equal(document_store.filter_documents(), documents)

    @pytest.mark.parametrize("content", [None, "", " \n"])
    def test_a_blank_document_is_left_out(
        self, document_store: SleuthDocumentStore, content: str | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The others are written, also by a `DocumentWriter`, and the log names the one that is not."""
        blank = Document(content=content, id="blank")
        writer = DocumentWriter(document_store)
        assert writer.run([Document(content="one"), blank, Document(content="two")]) == {
            "documents_written": 2
        }
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


def _contents(result: dict[str, Any]) -> list[str]:
    return [document.content for document in result["documents"]]


async def test_a_retriever_runs(store: SleuthDocumentStore) -> None:
    """`run`, `run_async`, `top_k` and `filters`, those of `run` before those of the component."""
    retriever = SleuthRetriever(store, top_k=2, filters={"field": "meta.n", "operator": "!=", "value": 2})
    assert _contents(retriever.run("refilled bucket"))[0] == TEXTS[0]
    assert TEXTS[2] not in _contents(retriever.run("buckets", top_k=3))
    other = {"field": "meta.n", "operator": "==", "value": 2}
    assert _contents(await retriever.run_async("buckets", filters=other)) == [TEXTS[2]]
    assert all(document.score is not None for document in retriever.run("bucket")["documents"])


def test_a_pipeline_is_written_and_read(store: SleuthDocumentStore) -> None:
    """A pipeline with the component survives being written as YAML."""
    pipeline = Pipeline()
    pipeline.add_component("retriever", SleuthRetriever(store, top_k=1))
    first = pipeline.run({"retriever": {"query": "refilled bucket"}})
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["sleuth.plugins.frameworks.haystack"])
    assert again.run({"retriever": {"query": "refilled bucket"}}) == first
    again.get_component("retriever").document_store.engine.close()


def test_the_guide_is_true(tmp_path: Path) -> None:
    """The examples print what the guide says."""
    check_examples("Haystack", tmp_path)


@pytest.mark.parametrize("conditions", [[], [{"field": "meta.a", "operator": "==", "value": 1}]])
def test_an_unknown_operator_is_refused(conditions: list[dict[str, Any]]) -> None:
    """It would else match every document where there are no conditions."""
    with pytest.raises(FilterError, match="operator must be AND, OR or NOT, got 'NAND'"):
        as_filter({"operator": "NAND", "conditions": conditions})
