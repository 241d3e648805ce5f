"""A knowledge base passes the retriever contract, hosted and local."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.errors import FilterError, KnowledgeBaseError
from sleuth.knowledge_base import KnowledgeBaseRetriever, LocalKnowledgeBase
from sleuth.protocols import Retriever
from sleuth.testing.aws import BedrockServer
from sleuth.testing.contracts import RetrieverContract
from tests.knowledge_base.conftest import DS, KB, Account


class TestHosted(RetrieverContract):
    query = "pictures of judy"

    @pytest.fixture(autouse=True)
    def service(self, server: BedrockServer, account: Account, runtime: Any) -> None:
        for number in range(12):
            account.hold(DS, f"s3://bucket/{number}", f"judy {number % 3}", {"third": number % 3})
        self._client = runtime

    def make(self) -> Retriever:
        return KnowledgeBaseRetriever(KB, DS, client=self._client)

    def test_filters(self) -> None:
        """A filter is applied before the cut, or is refused."""
        ranking = self.make().retrieve(self.query, 2, filter="third:2")
        assert [item.metadata["third"] for item in ranking] == [2, 2]
        assert ranking[0].metadata["source"] == ranking[0].id
        with pytest.raises(FilterError):
            self.make().retrieve(self.query, 2, filter="third:*")

    def test_failures_are_raised(self, server: BedrockServer) -> None:
        """A failing service raises an error, so that a fused ranking can report it."""
        server.rules.append(lambda operation, params: server.error(operation, "AccessDeniedException"))
        with pytest.raises(KnowledgeBaseError, match="may not be read"):
            self.make().retrieve(self.query)


class TestOnThisMachine(RetrieverContract):
    query = "pictures of judy"

    @pytest.fixture(autouse=True)
    def index(self, tmp_path: Path) -> Iterator[None]:
        with Engine.open(tmp_path / "index", create=True) as engine:
            engine.add([Document(f"judy {number}", id=f"note-{number}") for number in range(12)])
            self._client = LocalKnowledgeBase(engine)
            yield

    def make(self) -> Retriever:
        return KnowledgeBaseRetriever(KB, client=self._client)
