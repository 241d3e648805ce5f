"""sentence-transformers with models made here and the network closed: `make conformance-mteb`, which has PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.models import StaticEmbedding
from tokenizers import Tokenizer
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from sleuth import Document, Engine
from sleuth.compose import CrossEncoderReranker
from sleuth.plugins.embedders import SentenceTransformerEmbedder
from sleuth.protocols import Embedder
from sleuth.testing.contracts import EmbedderContract
from tests.documents import check_spelling, closed_network
from tests.plugins.neural.tiny import WORDS, tokenizer

__all__ = ["closed_network"]
pytestmark = pytest.mark.usefixtures("closed_network")


def encoder_folder(folder: Path) -> Path:
    """Write a model of one module."""
    table = np.random.default_rng(0).standard_normal((len(WORDS), 12)).astype(np.float32)
    module = StaticEmbedding(Tokenizer.from_str(tokenizer()), embedding_weights=table)
    SentenceTransformer(modules=[module]).save(str(folder))
    return folder


class TestSentenceTransformers(EmbedderContract):
    @pytest.fixture(autouse=True)
    def model(self, tmp_path: Path) -> None:
        self.folder = encoder_folder(tmp_path / "model")

    def make(self) -> Embedder:
        return SentenceTransformerEmbedder(str(self.folder))


def test_an_index_opens_a_folder_by_its_spelling(tmp_path: Path) -> None:
    """The model is opened again with the index, and finds by vectors; no connection is opened."""
    check_spelling(f"sentence-transformers:{encoder_folder(tmp_path / 'model')}", tmp_path / "index")


def test_a_cross_encoder_reranks(tmp_path: Path) -> None:
    """A `CrossEncoder` from a folder orders the passages by its own scores."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=64, num_labels=1, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(tmp_path / "model")
    special_tokens = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer()), **special_tokens)
    words.save_pretrained(tmp_path / "model")
    encoder = CrossEncoder(str(tmp_path / "model"))
    texts = {"a": "one text", "b": "one bucket text", "c": "another text"}
    with Engine.open(tmp_path / "index", create=True, embedder="") as engine:
        engine.add(Document(text, id=id) for id, text in texts.items())
        ranking = engine.retrieve("one text bucket", 3, rerank=CrossEncoderReranker(encoder))
    scores = encoder.predict([("one text bucket", text) for text in texts.values()])
    expected = sorted(zip(scores.tolist(), texts, strict=True), reverse=True)
    assert [hit.document_id for hit in ranking] == [id for _, id in expected]
