"""The embedders of other packages pass the contract, with models created here: nothing is downloaded."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sleuth import Engine
from sleuth.engine import open_embedder
from sleuth.errors import ArgumentError, EmbeddingError, MissingPackageError
from sleuth.plugins.embedders import FastEmbedEmbedder, Model2VecEmbedder, SentenceTransformerEmbedder
from sleuth.protocols import Embedder
from sleuth.testing.contracts import EmbedderContract


@pytest.fixture(scope="module")
def static_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model2vec model of a few words, saved by that package."""
    package = pytest.importorskip("model2vec", reason="an extra of this package")
    tokenizers = pytest.importorskip("tokenizers")
    words = ["[UNK]", "one", "another", "text", "a", "b", "ünïcödé"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]")  # noqa: S106
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(0).standard_normal((len(words), 12)).astype(np.float32)
    folder: Path = tmp_path_factory.mktemp("static")
    package.StaticModel(vectors, tokenizer).save_pretrained(str(folder))
    return folder


class TestModel2Vec(EmbedderContract):
    @pytest.fixture(autouse=True)
    def model(self, static_model: Path) -> None:
        self.folder = static_model

    def make(self) -> Embedder:
        return Model2VecEmbedder(str(self.folder))


@pytest.mark.parametrize(
    ("make", "module"),
    [
        (Model2VecEmbedder, "model2vec"),
        (SentenceTransformerEmbedder, "sentence_transformers"),
        (FastEmbedEmbedder, "fastembed"),
    ],
)
def test_missing_package(make: Any, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package, the error says what to install."""
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingPackageError, match=r"pip install 'sleuth\[(models|fastembed)\]'"):
        make("some/model")


@pytest.mark.parametrize("embedder", ["model2vec:/nowhere", "sentence-transformers:/nowhere"])
def test_an_embedder_that_does_not_load_makes_no_index(tmp_path: Path, embedder: str) -> None:
    """An unknown or uninstalled embedder raises an error before an index is created."""
    with pytest.raises((EmbeddingError, MissingPackageError), match="/nowhere"):
        Engine.open(tmp_path / "i", create=True, embedder=embedder)
    assert not (tmp_path / "i").exists()


def test_a_model_that_fails(static_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of the model becomes an EmbeddingError with its message."""
    embedder = Model2VecEmbedder(str(static_model))

    def fail(*args: object, **options: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(embedder._model, "encode", fail)
    with pytest.raises(EmbeddingError, match=r"model2vec/.* failed: out of memory"):
        embedder.embed_query("text")


def test_a_spelling_opens_a_model(static_model: Path) -> None:
    """An embedder is opened by the names of its plugin and its model; another plugin is refused with all names."""
    embedder = open_embedder(f"model2vec:{static_model}")
    assert embedder is not None
    assert embedder.fingerprint == f"model2vec/{static_model}/12"
    with pytest.raises(ArgumentError, match=r'"onnx:MODEL", "sentence-transformers:MODEL".*, got \'x:y\''):
        open_embedder("", "x:y")


def test_what_a_package_raises_is_an_embedding_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any exception of a package becomes an EmbeddingError with the model."""

    class Model:
        @staticmethod
        def from_pretrained(model: str, **options: object) -> None:
            raise FileNotFoundError("no config.json\nin the folder")

    monkeypatch.setitem(sys.modules, "model2vec", SimpleNamespace(StaticModel=Model))
    with pytest.raises(EmbeddingError, match=r"'potion' does not load \(no config.json\)"):
        Model2VecEmbedder("potion")
