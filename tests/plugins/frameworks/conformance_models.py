"""Model2vec and fastembed with models made here and the network closed: `make conformance`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from sleuth import Document, Engine
from sleuth.compose import CrossEncoderReranker
from sleuth.errors import EmbeddingError
from sleuth.plugins.embedders import FastEmbedEmbedder, Model2VecEmbedder
from sleuth.protocols import Embedder
from sleuth.testing.contracts import EmbedderContract
from tests.documents import check_spelling, closed_network
from tests.plugins.neural.tiny import WORDS, cross_encoder, tokenizer, write, write_encoder

SETTINGS: dict[str, Any] = {
    "tokenizer_config": {"model_max_length": 64, "pad_token": "[PAD]"},
    "config": {"pad_token_id": 0},
    "special_tokens_map": {"pad_token": "[PAD]"},
}
"""Files that fastembed reads beside the model."""


__all__ = ["closed_network"]
pytestmark = pytest.mark.usefixtures("closed_network")


def model2vec_folder(folder: Path) -> Path:
    """Write static vectors as model2vec lays them out."""
    import model2vec as static

    table = np.random.default_rng(0).standard_normal((len(WORDS), 12)).astype(np.float32)
    static.StaticModel(table, Tokenizer.from_str(tokenizer())).save_pretrained(str(folder))
    return folder


def fastembed_embedder(folder: Path) -> FastEmbedEmbedder:
    """Return a model of our own in fastembed."""
    import fastembed
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


def test_an_index_opens_a_folder_by_its_spelling(tmp_path: Path) -> None:
    """The model is opened again with the index, and finds by vectors; no connection is opened."""
    check_spelling(f"model2vec:{model2vec_folder(tmp_path / 'model')}", tmp_path / "index")


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The error says that a folder is wanted, or a model of the hub."""
    with pytest.raises(EmbeddingError, match="no/such-model"):
        FastEmbedEmbedder("no/such-model")


def test_a_cross_encoder_of_fastembed_reranks(tmp_path: Path) -> None:
    """`rerank_pairs` is what our reranker calls `predict`."""
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
