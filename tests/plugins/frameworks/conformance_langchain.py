"""The conformance suites of LangChain, in an environment of their own: `make conformance`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.indexing.base import DocumentIndex
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests
from langchain_tests.integration_tests.indexer import AsyncDocumentIndexTestSuite, DocumentIndexerTestSuite

from sleuth import Document, Engine
from sleuth.plugins.frameworks.langchain import SleuthDocumentIndex, SleuthRetriever, SleuthVectorStore

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
