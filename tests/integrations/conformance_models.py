"""Embedders and rerankers of other packages, with models made here and the network closed: `make conformance`."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest
from tokenizers import Tokenizer

from sleuth import Document, Engine
from sleuth.compose import CrossEncoderReranker
from sleuth.dense import FastEmbedEmbedder, Model2VecEmbedder, SentenceTransformerEmbedder
from sleuth.errors import EmbeddingError
from sleuth.protocols import Embedder
from sleuth.testing.contracts import EmbedderContract
from tests.integrations.documents import check_examples
from tests.neural.tiny import WORDS, cross_encoder, tokenizer, write, write_encoder

SETTINGS: dict[str, Any] = {
    "tokenizer_config": {"model_max_length": 64, "pad_token": "[PAD]"},
    "config": {"pad_token_id": 0},
    "special_tokens_map": {"pad_token": "[PAD]"},
}
"""Files that fastembed reads beside the model."""


@pytest.fixture(autouse=True)
def _closed_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("a model that lies on the disk must not open a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def model2vec_folder(folder: Path) -> Path:
    """Write static vectors as model2vec lays them out."""
    static = pytest.importorskip("model2vec", reason="installed by `make conformance`")
    table = np.random.default_rng(0).standard_normal((len(WORDS), 12)).astype(np.float32)
    static.StaticModel(table, Tokenizer.from_str(tokenizer())).save_pretrained(str(folder))
    return folder


def sentence_transformers_folder(folder: Path) -> Path:
    """Write a model of sentence-transformers of one module."""
    package = pytest.importorskip("sentence_transformers", reason="installed by `make conformance-mteb`")
    from sentence_transformers.models import StaticEmbedding

    table = np.random.default_rng(0).standard_normal((len(WORDS), 12)).astype(np.float32)
    module = StaticEmbedding(Tokenizer.from_str(tokenizer()), embedding_weights=table)
    package.SentenceTransformer(modules=[module]).save(str(folder))
    return folder


def fastembed_embedder(folder: Path) -> FastEmbedEmbedder:
    """Return a model of our own in fastembed."""
    fastembed = pytest.importorskip("fastembed", reason="installed by `make conformance`")
    from fastembed.common.model_description import ModelSource, PoolingType

    write_encoder(folder, **SETTINGS)
    name = "sleuth/tiny"
    if name not in {each["model"] for each in fastembed.TextEmbedding.list_supported_models()}:
        fastembed.TextEmbedding.add_custom_model(
            name, PoolingType.MEAN, True, ModelSource(hf=name), dim=8, model_file="model.onnx"
        )
    return FastEmbedEmbedder(name, specific_model_path=str(folder))


class TestModel2Vec(EmbedderContract):
    @pytest.fixture(autouse=True)
    def model(self, tmp_path: Path) -> None:
        self.folder = model2vec_folder(tmp_path / "model")

    def make(self) -> Embedder:
        return Model2VecEmbedder(str(self.folder))


class TestFastEmbed(EmbedderContract):
    @pytest.fixture(autouse=True)
    def model(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make(self) -> Embedder:
        return fastembed_embedder(self.folder)


class TestSentenceTransformers(EmbedderContract):
    @pytest.fixture(autouse=True)
    def model(self, tmp_path: Path) -> None:
        self.folder = sentence_transformers_folder(tmp_path / "model")

    def make(self) -> Embedder:
        return SentenceTransformerEmbedder(str(self.folder))


@pytest.mark.parametrize(
    ("package", "write"),
    [("model2vec", model2vec_folder), ("sentence-transformers", sentence_transformers_folder)],
)
def test_an_index_opens_a_folder_by_its_spelling(package: str, write: Any, tmp_path: Path) -> None:
    """The model is opened again with the index, and finds by vectors; no connection is opened."""
    spelling = f"{package}:{write(tmp_path / 'model')}"
    with Engine.open(tmp_path / "index", create=True, embedder=spelling) as engine:
        engine.add([Document("one bucket", id="a"), Document("another text", id="b")])
    with Engine.open(tmp_path / "index") as engine:
        (hit,) = engine.retrieve("another text", 1, legs=["dense"])
    assert hit.document_id == "b"


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The error says that a folder is wanted, or a model of the hub."""
    pytest.importorskip("fastembed", reason="installed by `make conformance`")
    with pytest.raises(EmbeddingError, match="no/such-model"):
        FastEmbedEmbedder("no/such-model")


def test_a_cross_encoder_of_fastembed_reranks(tmp_path: Path) -> None:
    """`rerank_pairs` is what our reranker calls `predict`."""
    pytest.importorskip("fastembed", reason="installed by `make conformance`")
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    write(tmp_path / "model", cross_encoder(), **SETTINGS)
    TextCrossEncoder.add_custom_model("sleuth/tiny-cross", ModelSource(hf="x/y"), model_file="model.onnx")
    encoder = TextCrossEncoder("sleuth/tiny-cross", specific_model_path=str(tmp_path / "model"))
    reranker = CrossEncoderReranker(SimpleNamespace(predict=lambda pairs: list(encoder.rerank_pairs(pairs))))
    with Engine.open(tmp_path / "index", create=True, embedder="") as engine:
        engine.add([Document("one text", id="a"), Document("one bucket text", id="b")])
        ranking = engine.retrieve("one bucket text", 2, rerank=reranker)
    assert [hit.document_id for hit in ranking] == ["b", "a"]
    assert ranking[0].score != ranking[1].score


def test_a_cross_encoder_of_sentence_transformers_reranks() -> None:
    """Our reranker takes its `predict` of pairs; that the class has it is checked, since no weights are here."""
    package = pytest.importorskip("sentence_transformers", reason="installed by `make conformance-mteb`")
    assert callable(package.CrossEncoder.predict)


@pytest.mark.parametrize("heading", ["A model of another package"])
def test_the_guide_is_true(tmp_path: Path, heading: str) -> None:
    """The examples print what the guide says."""
    pytest.importorskip("model2vec", reason="installed by `make conformance`")
    check_examples(heading, tmp_path)
