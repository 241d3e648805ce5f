"""Code is a retriever: it passes the contract, takes the same filters, and composes."""

from collections.abc import Callable

import pytest

from sleuth.code import CodeStorage
from sleuth.code.search.retriever import SnapshotRetriever
from sleuth.compose import BoostedRetriever, DiversifiedRetriever, FusedRetriever
from sleuth.engine.codebase import default_embedder
from sleuth.errors import ArgumentError, FilterError, UnknownRepositoryError, UnknownSnapshotError
from sleuth.filters import as_filter, matches
from sleuth.protocols import Retriever
from sleuth.testing.contracts import RetrieverContract
from tests.code.conftest import opened, text_of

QUERY = "charge an order, write it to the ledger, listen on the port of the server"


class TestByWords(RetrieverContract):
    """The retriever contract over a snapshot, by words."""

    query = QUERY

    @pytest.fixture(autouse=True)
    def _shop(self, shop: tuple[CodeStorage, str]) -> None:
        self.shop = shop

    def make(self) -> Retriever:
        return SnapshotRetriever(*self.shop)


class TestByMeaningToo(TestByWords):
    """The retriever contract over a snapshot, by words and meaning."""

    def make(self) -> Retriever:
        return SnapshotRetriever(*self.shop, embedder=default_embedder())


@pytest.fixture(params=[None, default_embedder], ids=["words", "hybrid"])
def retriever(shop: tuple[CodeStorage, str], request: pytest.FixtureRequest) -> SnapshotRetriever:
    make: Callable[[], object] | None = request.param
    return SnapshotRetriever(*shop, embedder=make() if make else None)  # type: ignore[arg-type]


def test_items_say_where_they_stand(shop: tuple[CodeStorage, str]) -> None:
    """An item has the code as its text, and the file, lines and definition as metadata."""
    storage, id = shop
    item = SnapshotRetriever(storage, id).retrieve("Server.Listen port", 1)[0]
    root = storage.repository(id).path
    assert item.text.startswith("func (s *Server) Listen")
    assert item.id.startswith(f"{root}/server/main.go:")
    assert {
        "source": f"{root}/server/main.go", "path": "server/main.go", "language": "go", "category": "code",
        "repository": id, "repository_path": root, "source_type": "code", "symbol": "Server.Listen",
        "name": "Listen", "kind": "method", "container": "Server",
        "labels": ["method_definition", "public_api"],
    }.items() <= item.metadata.items()  # fmt: skip
    first, last = item.metadata["start_line"], item.metadata["end_line"]
    source = text_of(opened(storage, id), "server/main.go")
    assert item.text.split("\n") == source.split("\n")[first - 1 : last]


FILTERS = [
    "language:python", "-language:python", 'path:"shop/models.py" OR category:test', "kind:method",
    "kind:class -path:shop/models.py", "container:Server", "symbol:Order", "name:charge language:typescript",
    "labels:public_api", "start_line>=10", "source_type:code", "source_type:web", "nothing:here",
]  # fmt: skip


@pytest.mark.parametrize("text", FILTERS)
def test_filters_apply_before_the_cut(retriever: SnapshotRetriever, text: str) -> None:
    """For every k, all items match the filter, and no matching item of the unfiltered ranking is lost."""
    tree = as_filter(text)
    every = retriever.retrieve(QUERY, 1_000, filter=tree)
    assert bool(every) == (text not in ("source_type:web", "nothing:here"))
    assert all(matches(tree, item.metadata) for item in every)
    free = {item.id for item in retriever.retrieve(QUERY, 1_000) if matches(tree, item.metadata)}
    assert free <= {item.id for item in every}
    for k in (1, 2, 3):
        head = retriever.retrieve(QUERY, k, filter=text)
        assert [item.id for item in head] == [item.id for item in every[:k]]


def test_wrong_arguments(shop: tuple[CodeStorage, str]) -> None:
    """Each invalid argument is named in its error; a blank query finds nothing."""
    storage, id = shop
    retriever = SnapshotRetriever(storage, id)
    with pytest.raises(ArgumentError, match="query must be a string"):
        retriever.retrieve(3)  # type: ignore[arg-type]
    with pytest.raises(FilterError):
        retriever.retrieve(QUERY, filter="year>")
    with pytest.raises(UnknownSnapshotError):
        SnapshotRetriever(storage, id, "v9").retrieve(QUERY)
    with pytest.raises(UnknownRepositoryError):
        SnapshotRetriever(storage, "/nowhere").retrieve(QUERY)
    assert len(retriever.retrieve("  ")) == 0


def test_it_composes(shop: tuple[CodeStorage, str]) -> None:
    """Code is fused, boosted and diversified as other sources are, and each item explains its score."""
    words, meaning = SnapshotRetriever(*shop), SnapshotRetriever(*shop, embedder=default_embedder())
    fusion = FusedRetriever({"words": words, "meaning": meaning}, method="rrf")
    for retriever in (
        fusion,
        BoostedRetriever(fusion, 2.0, lambda item: item.metadata.get("kind") == "method"),
        DiversifiedRetriever(fusion, default_embedder()),
    ):
        ranking = retriever.retrieve(QUERY, 5)
        assert len(ranking) == 5
        assert all(item.explanation is not None for item in ranking)
