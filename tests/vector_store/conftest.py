"""Fixtures: a Chroma and a Sleuth index with the same documents."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth.engine import Engine
from sleuth.testing.ollama import embed
from sleuth.types import Document
from tests.embedders import Letters


class Words(Letters):
    """An embedder that counts words."""

    def __init__(self, dimension: int = 64, name: str = "words") -> None:
        self.dimension, self.model, self.fingerprint = dimension, name, f"{name}-{dimension}"

    def embed_query(self, text: str) -> list[float]:
        return embed(text)[: self.dimension]


DOCUMENTS = [
    Document("Python is a programming language.", {"source": "/docs/python.md", "year": 1991}, id="python"),
    Document("Rust is a systems programming language.", {"source": "/docs/rust.md", "year": 2015}, id="rust"),
    Document("Pythons are large snakes.", {"source": "/docs/snakes.md", "year": 2001}, id="snakes"),
    Document(
        "Python code is read more often than written.", {"source": "/docs/python.md", "year": 2001}, id="code"
    ),
    Document("Bread is baked from flour and water.", {"source": "/docs/bread.md", "year": 2020}, id="bread"),
]


@pytest.fixture(scope="session")
def langchain_chroma() -> None:
    """Skip a test where the extra is missing. Importing it takes seconds, so no module does when it is collected."""
    pytest.importorskip("langchain_chroma", reason="needs the extra `chroma`")


def chroma_store(path: Path | None, embedder: Words, collection: str = "docs") -> Any:
    pytest.importorskip("langchain_chroma", reason="needs the extra `chroma`")
    from sleuth.vector_store import ChromaStore

    store = ChromaStore(path, collection, embedder=embedder)
    store.add(DOCUMENTS)
    return store


@pytest.fixture(scope="module", params=["chroma", "sleuth"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return each kind of store, filled."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "chroma":
        yield chroma_store(folder, Words())
        return
    from sleuth.vector_store import SleuthVectorStore

    with Engine.open(folder / "index", create=True, embedder=Words()) as engine:
        engine.add(DOCUMENTS)
        yield SleuthVectorStore(engine, Words())
