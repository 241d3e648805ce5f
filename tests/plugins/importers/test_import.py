"""A Chroma collection is imported into an index with its vectors."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from sleuth.engine import Engine
from sleuth.errors import ArgumentError, EmbedderMismatchError
from sleuth.plugins.importers import import_vectors, read_chroma
from sleuth.testing.ollama import OllamaServer
from tests.commands import sleuth
from tests.vector_store.conftest import DOCUMENTS, Words, chroma_store

pytestmark = pytest.mark.skipif(find_spec("chromadb") is None, reason="needs the extra `chroma`")


class Counted(Words):
    """An embedder that counts the texts it embeds."""

    def __init__(self, dimension: int = 64, name: str = "words") -> None:
        super().__init__(dimension, name)
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return super().embed_documents(texts)


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chroma")
    chroma_store(path, Words())
    return path


def test_reading_names_what_there_is(chroma: Path, tmp_path: Path) -> None:
    """A path without a Chroma, and an unknown collection, raise errors with the known names."""
    with pytest.raises(ArgumentError, match=r"collection must be among those of .* \(docs\), got 'other'"):
        list(read_chroma(chroma, "other"))
    with pytest.raises(ArgumentError, match=r"path must be the folder of a Chroma"):
        list(read_chroma(tmp_path / "nowhere"))
    chroma_store(tmp_path, Words(), "one")
    chroma_store(tmp_path, Words(), "two")
    with pytest.raises(ArgumentError, match=r"\(one, two\), got None"):
        list(read_chroma(tmp_path))


def test_long_documents_are_embedded_anew(tmp_path: Path) -> None:
    """A document that is cut into passages gets new vectors."""
    from sleuth.vector_store import ChromaStore

    ChromaStore(tmp_path / "chroma", "long", embedder=Words()).store.add_texts(
        ["many words. " * 300, "few words"], ids=["long", "short"]
    )
    embedder = Counted()
    with Engine.open(
        tmp_path / "index", create=True, embedder=embedder, settings={"chunk_size": 64, "chunk_overlap": 8}
    ) as engine:
        import_vectors(engine, read_chroma(tmp_path / "chroma"))
        assert len(engine.get("long")) > 1
    assert "few words" not in embedder.texts[2:]
    assert len(embedder.texts) > 3


def test_another_embedder_is_refused(chroma: Path, tmp_path: Path) -> None:
    """An embedder that gives other vectors for the same texts is refused, with the difference."""

    class Backwards(Words):
        def embed_query(self, text: str) -> list[float]:
            return super().embed_query(text)[::-1]

    cosine = r"has a cosine of -?0\.\d\d with the one there"
    for other, why in ((Words(32), "its vectors have length 32, the collection's 64"), (Backwards(), cosine)):
        refusal = pytest.raises(EmbedderMismatchError, match=why)
        with Engine.open(tmp_path / why[:3], create=True, embedder=other) as engine, refusal:
            import_vectors(engine, read_chroma(chroma))
    with Engine.open(tmp_path / "c", create=True) as engine:
        with pytest.raises(ArgumentError, match="embedder must be the one that made the vectors"):
            import_vectors(engine, read_chroma(chroma))
        assert import_vectors(engine, read_chroma(chroma), re_embed=True).added == len(DOCUMENTS)


def test_command(chroma: Path, tmp_path: Path) -> None:
    """`sleuth index import chroma` makes an index with the collection's vectors, which the named embedder searches."""
    command = ("index", "import", "chroma", str(chroma), "--embedder", "ollama:nomic-embed-text", "--json")
    search = ("search", "--index", "ix", "--leg", "dense", "--json", "snakes")
    with OllamaServer() as ollama:
        process = sleuth(*command, "--index", "ix", cwd=tmp_path, OLLAMA_HOST=ollama.url)
        assert process.returncode == 0, process.stderr
        assert json.loads(process.stdout)["added"] == len(DOCUMENTS)
        assert sum(len(batch["input"]) for batch in ollama.payloads("/api/embed")) <= 4
        result = sleuth(*search, cwd=tmp_path, OLLAMA_HOST=ollama.url)
    assert json.loads(result.stdout)["items"][0]["id"].startswith("snakes")
    process = sleuth("index", "import", "chroma", "nowhere", "--re-embed", "--index", "iy", cwd=tmp_path)
    assert process.returncode == 2
    assert "chroma.sqlite3" in process.stderr
