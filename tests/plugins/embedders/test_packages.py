"""The embedders of other packages pass the contract, with models created here: nothing is downloaded."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sleuth import Engine
from sleuth.engine import open_embedder
from sleuth.errors import ArgumentError, EmbeddingError, MissingPackageError
from sleuth.plugins.embedders import FastEmbedEmbedder, Model2VecEmbedder, SentenceTransformerEmbedder


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


def test_an_unknown_spelling_is_refused() -> None:
    """An embedder of no installed plugin is refused with all names."""
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
