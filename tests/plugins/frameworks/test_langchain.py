"""LangChain's retriever, vector store and document index over an index; its own suites are in `make conformance`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import Engine
from sleuth.errors import ArgumentError

pytest.importorskip("langchain_core", reason="needs the extra `langchain`")

from langchain_core.documents import Document

from sleuth.plugins.frameworks.langchain import SleuthDocumentIndex, SleuthRetriever, SleuthVectorStore

GERMAN = "Ein Benutzer meldet sich mit einem Link an, und das ist gut so."
OWN = {"language": "en", "title": "Users", "start_page": 3}
DOCUMENTS = [
    Document("  A bucket is refilled.\n", id="a", metadata={"source": "a", "tags": ["x"], "year": 2021}),
    Document(GERMAN, id="b", metadata={}),
    Document("Users log in.", id="c", metadata=OWN),
]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SleuthDocumentIndex]:
    """An empty index."""
    index = SleuthDocumentIndex.open(tmp_path / "index")
    yield index
    index.engine.close()


@pytest.fixture
def store(index: SleuthDocumentIndex) -> SleuthVectorStore:
    """The same index as a vector store."""
    return SleuthVectorStore(index.engine)


def test_documents_come_back_as_they_were(tmp_path: Path) -> None:
    """Neither blanks nor keys that the engine writes itself are changed, also when opened again."""
    for _ in range(2):
        index = SleuthDocumentIndex.open(tmp_path / "index")
        index.upsert(DOCUMENTS)
        assert index.get(["c", "b", "a", "missing"]) == DOCUMENTS[::-1]
        assert index.invoke("refilled bucket")[0] == DOCUMENTS[0]
        index.engine.close()


@pytest.mark.parametrize(("argument", "values"), [("metadatas", [{}]), ("ids", ["1", "2", "3"])])
def test_lists_of_another_length_are_named(store: SleuthVectorStore, argument: str, values: Any) -> None:
    """Each text needs its metadata and its id."""
    with pytest.raises(ArgumentError, match=f"{argument} must have one value for each of 2 texts"):
        store.add_texts(["one", "two"], **{argument: values})


SIMILARITY = [f"similarity_search{suffix}" for suffix in ("", "_with_score", "_with_relevance_scores")]


@pytest.mark.parametrize("search", [*SIMILARITY, "max_marginal_relevance_search"])
@pytest.mark.parametrize("option", ["filters", "where", "pre_filter", "where_document", "nosuch"])
def test_a_search_uses_or_refuses_options(store: SleuthVectorStore, search: str, option: str) -> None:
    """A filter under another name never returns unfiltered documents; `filter` filters."""
    store.add_texts(["one", "two"], [{"tenant": "a"}, {"tenant": "b"}], ids=["1", "2"])
    with pytest.raises(ArgumentError, match=f"must be among filter, k, got '{option}'"):
        getattr(store, search)("one", **{option: {"tenant": "b"}})
    results = getattr(store, search)("one", filter={"tenant": "b"})
    assert [getattr(each, "id", None) or each[0].id for each in results] == ["2"]


def test_writes_refuse_what_they_do_not_use(index: SleuthDocumentIndex, store: SleuthVectorStore) -> None:
    """`add_texts`, `delete`, `upsert` and `get` name an option that they do not take."""
    calls: list[tuple[Any, Any]] = [(store.add_texts, ["one"]), (store.delete, ["1"])]
    calls += [(index.upsert, DOCUMENTS), (index.get, ["1"]), (index.delete, ["1"])]
    for call, values in calls:
        with pytest.raises(ArgumentError, match="got 'namespace'"):
            call(values, namespace="a")
    assert index.engine.count().documents == 0
    assert store.add_texts(["one"], ids=["1"], batch_size=100) == ["1"]
    with pytest.raises(ValueError, match=r"filter\n.*not permitted"):
        SleuthRetriever(source=index.engine, filter="tenant:a")  # type: ignore[call-arg]


def test_a_delete_says_whether_the_documents_were_there(hybrid: Engine) -> None:
    """Also over an index that was cut into passages, whose ids name no documents."""
    hybrid.add(DOCUMENTS)  # type: ignore[arg-type]  # any object with the same attributes
    store = SleuthVectorStore(hybrid)
    passage = store.similarity_search("bucket", 1)[0].id
    assert passage is not None
    assert [store.delete(ids) for ids in ([passage], ["a", "nosuch"], ["b"])] == [False, False, True]
    assert hybrid.count().documents == 1


@pytest.mark.parametrize("key", ["source", "title", "language", "score", "year"])
@pytest.mark.parametrize("value", [None, "de"])
def test_metadata_of_a_user_come_back(
    index: SleuthDocumentIndex, store: SleuthVectorStore, key: str, value: Any
) -> None:
    """No key or value of a user is replaced by one of ours, by a store, an index or a retriever."""
    document = Document(id="a", page_content="A bucket is refilled.", metadata={key: value})
    index.upsert([document])
    assert index.get(["a"]) == index.invoke("bucket") == [document]
    assert store.similarity_search("bucket", 1) == [document]
    if key == "score" and value is not None:
        assert SleuthRetriever(source=index.engine).invoke("bucket")[0].metadata["score"] == value
