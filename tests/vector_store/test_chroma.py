"""Retrieval from a real Chroma."""

import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sleuth.engine import Engine
from sleuth.errors import ArgumentError, EmbedderMismatchError, EmbeddingError, FilterError, RetrievalError
from sleuth.ingest import read
from sleuth.types import Document
from sleuth.vector_store import ChromaStore, Retriever, SleuthVectorStore, VectorStoreRetriever
from tests.embedders import Letters
from tests.vector_store.conftest import DOCUMENTS, Words, chroma_store

pytestmark = pytest.mark.usefixtures("langchain_chroma")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chroma")
    chroma_store(path, Words())
    return path


def test_a_store_without_an_embedder_is_given_ours(folder: Path) -> None:
    """A Chroma without an embedding function is searched with the retriever's embedder, without a download."""
    from langchain_chroma import Chroma

    from sleuth.vector_store import open_client

    bare = Chroma(client=open_client(folder), collection_name="docs")
    results = Retriever(bare, Words()).retrieve_with_scores("Python is a programming language.", k=1)
    assert [(document.id, round(score, 4)) for document, score in results] == [("python", 0.0)]


def test_telemetry_is_off(folder: Path) -> None:
    """The client's telemetry is disabled."""
    from sleuth.vector_store import open_client

    assert open_client(folder).get_settings().anonymized_telemetry is False


def test_another_embedder_is_refused_on_opening(folder: Path) -> None:
    """A collection of one embedder refuses another, with both names."""
    with pytest.raises(EmbedderMismatchError, match=r"'words-64'.*got 'other-64'"):
        ChromaStore(folder, "docs", embedder=Words(64, "other"))


def test_what_chroma_cannot_say_is_refused(folder: Path) -> None:
    """A filter that Chroma cannot express is refused."""
    store = ChromaStore(folder, "docs", embedder=Words())
    with pytest.raises(FilterError):
        Retriever(store, Words()).retrieve("Python", filter="source:/docs/*")


def test_a_failing_store_is_a_retrieval_error() -> None:
    """An exception of the store is the cause of a RetrievalError with query and k."""

    class Broken:
        def similarity_search_by_vector(self, *args: Any, **kwargs: Any) -> Any:
            raise ConnectionError("gone")

    with pytest.raises(RetrievalError, match="ConnectionError: gone") as caught:
        Retriever(Broken(), Words()).retrieve("q", k=3)
    assert caught.value.context == {"query": "q", "k": 3, "store": "Broken"}


def test_equal_passages_are_all_kept() -> None:
    """Equal texts of one source are all kept, and adding them again changes nothing."""
    store = ChromaStore(None, "equal", embedder=Words())
    pages = [Document("page header", {"source": "s", "page": number}) for number in (1, 2)]
    same = [Document("page header", {"source": "s"})] * 3
    ids = store.add([*pages, *same])
    assert len(set(ids)) == 5
    assert store.add([*pages, *same]) == ids
    assert store.add([Document("page header", {"source": "s", "page": 9})])[0] not in ids
    assert len(Retriever(store, Words()).retrieve("header", k=20)) == 6
    assert store.add([Document("first", id="x"), Document("second", id="x")]) == ["x", "x"]
    assert "second" in {
        document.page_content for document in Retriever(store, Words()).retrieve("second", k=20)
    }


def test_an_embedder_without_a_fingerprint() -> None:
    """An embedder without a fingerprint is refused before anything is created."""
    with pytest.raises(ArgumentError, match=r"embedder must have .* a fingerprint.* got Nameless"):
        ChromaStore(None, embedder=type("Nameless", (Letters,), {"fingerprint": None})())
    with pytest.raises(ArgumentError, match="collection must suit Chroma, got 'a b': "):
        ChromaStore(None, "a b", embedder=Words())


def test_a_folder_is_added_in_passages(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What `read` yields is added: long files in passages that name their document; skipped files are logged."""
    (tmp_path / "long.md").write_text(
        "# Tides\n\n" + "The tide rises and falls. " * 400 + "\n\nThe zeppelin lands.\n"
    )
    (tmp_path / "short.txt").write_text("Bread is baked from flour.\n")
    (tmp_path / "rows.csv").write_bytes(b"\0\1\2")
    store = ChromaStore(None, "folder", embedder=Words())
    ids = store.add(read([tmp_path]))  # type: ignore[arg-type]
    long, short = str(tmp_path / "long.md"), str(tmp_path / "short.txt")
    document = ids[0].removesuffix("#0")
    assert ids[:-1] == [f"{document}#{number}" for number in range(len(ids) - 1)]
    assert len(ids) > 5
    assert store.add(read([tmp_path])) == ids  # type: ignore[arg-type]
    best = VectorStoreRetriever(store, Words()).retrieve("zeppelin lands", 1)[0]
    assert best.document_id == best.metadata["document_id"] == document
    assert len(best.text) < 4_000
    assert [d.id for d in Retriever(store, Words()).retrieve_by_source("bread", short)] == ids[-1:]
    assert {d.metadata["source"] for d in Retriever(store, Words()).retrieve_by_source("tide", long)} == {
        long
    }
    assert "rows.csv was not added" in caplog.text


def test_a_replaced_document_leaves_no_passages() -> None:
    """A document that is added again replaces all its passages, and no other document's."""
    store = ChromaStore(None, "replaced", embedder=Words())
    store.add([Document("other words", {"document_id": "a"}, id="a-notes"), Document("few words", id="a")])
    passages = store.add([Document("many words. " * 600, id="a")])
    assert len(passages) > 2
    assert set(store.store.get(include=[])["ids"]) == {"a-notes", *passages}
    metadata = {"tags": ["a", "b"], "none": None, "n": {"x": 1}}
    assert store.add([Document("few words", metadata, id="a")]) == ["a"]
    assert set(store.store.get(include=[])["ids"]) == {"a-notes", "a"}


def test_other_things_than_documents_are_refused() -> None:
    """A record that is neither a document nor of `read` is refused."""
    store = ChromaStore(None, "refused", embedder=Words())
    with pytest.raises(ArgumentError, match="documents must be an iterable of Document, got 'text' in it"):
        store.add(["text"])  # type: ignore[list-item]


class Wrong(Words):
    """An embedder whose answer is wrong."""

    answer: Any = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1.0] * 64], "one vector per text, got an array of shape .* for 2 texts from 'words-64'"),
        ([[float("nan")] * 64] * 2, "finite numbers, got a vector that is not finite from 'words-64'"),
        ([None, None], "vectors of numbers"),
        (KeyError("model"), "embedder 'words-64' failed: KeyError"),
    ],
    ids=["too few", "nan", "none", "raises"],
)
def test_wrong_vectors_are_refused(answer: Any, message: str) -> None:
    """Too few vectors, NaN, no numbers and exceptions are an EmbeddingError; nothing is stored."""
    embedder = Wrong()
    embedder.answer = answer
    store = ChromaStore(None, "wrong", embedder=embedder)
    with pytest.raises(EmbeddingError, match=message):
        store.add([Document("one"), Document("two")])
    assert store.store._collection.count() == 0


def test_embeddings_of_langchain() -> None:
    """An `Embeddings` of LangChain is an embedder, named by its class and model."""
    from langchain_core.embeddings import Embeddings

    class Counts(Embeddings):
        def __init__(self, model: str) -> None:
            self.model = model

        def embed_query(self, text: str) -> list[float]:
            return Words().embed_query(text)

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return Words().embed_documents(texts)

    embedder: Any = Counts("small")
    store = ChromaStore(None, "langchain", embedder=embedder)
    store.add(DOCUMENTS)
    assert Retriever(store, embedder).retrieve("large snakes", k=1)[0].id == "snakes"


@pytest.mark.parametrize("kind", ["chroma", "indexed", "added"])
def test_all_parts_of_a_file_are_found_by_its_source(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a table and members of an archive are found by the file, relative or absolute."""
    monkeypatch.chdir(tmp_path)
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("b.csv", "b.csv2.csv", "b#1.csv"):
        (docs / name).write_text("name,text\nlow,the tide falls\nhigh,the tide rises\n")
    with zipfile.ZipFile(docs / "z.zip", "w") as archive:
        archive.write(docs / "b.csv", "in/b.csv")
        archive.writestr("in/a.md", "the tide")
    expected = {
        "b.csv": ["b.csv#1", "b.csv#2"],
        "b#1.csv": ["b#1.csv#1", "b#1.csv#2"],
        "b.csv#2": ["b.csv#2"],
        "z.zip": ["z.zip#in/a.md", "z.zip#in/b.csv#1", "z.zip#in/b.csv#2"],
        "z.zip#in/b.csv": ["z.zip#in/b.csv#1", "z.zip#in/b.csv#2"],
        "z.zip#in/none.md": [],
    }
    with ExitStack() as stack:
        if kind == "chroma":
            store: Any = ChromaStore(None, "parts", embedder=Words())
            store.add(one for one in read(["docs"]) if isinstance(one, Document))
        else:
            engine = stack.enter_context(Engine.open(tmp_path / ".sleuth", create=True, embedder=Words()))
            if kind == "indexed":
                engine.index(["docs"])
            else:
                engine.add(one for one in read([docs]) if isinstance(one, Document))
            store = SleuthVectorStore(engine, Words())
        retriever = Retriever(store, Words())
        for source, parts in expected.items():
            for form in (
                f"docs/{source}",
                str(docs / source),
                Path("docs", source),
                f"./docs/../docs/{source}",
            ):
                documents = retriever.retrieve_by_source("tide", form, k=20)
                assert sorted(one.metadata["source"].split("docs/")[1] for one in documents) == parts
