"""Learned sparse encoders in ONNX, with a model that the tests write."""

from math import log
from pathlib import Path

import numpy as np
import pytest

from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.plugins.neural import OnnxCrossEncoder, OnnxEmbedder, OnnxSparseEncoder
from sleuth.plugins.neural.folder import ModelFolder
from tests.plugins.neural import tiny

OWN, ADDED = log(6), log(2.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_sparse_encoder(tmp_path_factory.mktemp("models") / "splade")


def test_weights_of_texts(folder: Path) -> None:
    """A token weighs ln(1 + x) of its greatest logit; the model adds words, and padding adds none."""
    encoder = OnnxSparseEncoder(folder, threads=1)
    texts = ["token text", "a a", "", "one another text tokens refilled limiter"]
    weights = encoder.encode_documents(texts)
    assert weights[0] == pytest.approx({"token": OWN, "text": OWN, "bucket": ADDED})
    assert weights[1] == pytest.approx({"a": OWN})
    assert weights[2] == {}
    assert weights == [encoder.encode_documents([text])[0] for text in texts]
    assert encoder.encode_query("token text") == weights[0]


def test_queries_by_a_table(tmp_path: Path) -> None:
    """With `idf.json` in the folder, each token of a query has its weight there, and the model does not run."""
    table = {"token": 2.5, "text": 0, "bucket": 9}
    folder = tiny.write_sparse_encoder(tmp_path / "m", idf=table)
    encoder = OnnxSparseEncoder(folder)
    (folder / "model.onnx").write_bytes(b"not a model")
    assert encoder.encode_query("token token text one") == {"token": 2.5}
    assert encoder.encode_query("xyz") == {}
    with pytest.raises(EmbeddingError, match=r"the model in .* failed"):
        encoder.encode_documents(["a"])


@pytest.mark.parametrize("table", ['{"a": "b"}', '{"a": -1}', '{"a": NaN}', '{"a": [1]}'])
def test_tables_that_cannot_be_used(tmp_path: Path, table: str) -> None:
    """A table with something else than weights is refused."""
    folder = tiny.write_sparse_encoder(tmp_path / "m")
    (folder / "idf.json").write_text(table)
    with pytest.raises(ArgumentError, match=r"idf.json must hold a number of 0 and more for each token"):
        OnnxSparseEncoder(folder)


def test_activations(tmp_path: Path, folder: Path) -> None:
    """A model whose activation takes the logarithm twice has smaller weights, and another fingerprint."""
    pooling = {"pooling_strategy": "max", "activation_function": "log1p_relu"}
    twice = OnnxSparseEncoder(
        tiny.write_sparse_encoder(tmp_path / "splade", **{"1_SpladePooling___config": pooling})
    )
    assert twice.encode_query("a") == pytest.approx({"a": log(1 + OWN)})
    assert twice.fingerprint != OnnxSparseEncoder(folder).fingerprint


def test_greatest_values_are_taken_as_they_are(tmp_path: Path) -> None:
    """A model may give one number for each token of the vocabulary."""
    one = np.array([1], np.int64)
    table = np.zeros((len(tiny.WORDS), len(tiny.WORDS)), np.float32)
    np.fill_diagonal(table, 3)
    nodes = [
        tiny.node("Gather", ["table", "input_ids"], "logits"),
        tiny.node("ReduceSum", ["logits", "one"], "sums", keepdims=0),
    ]
    output = tiny.value("sums", tiny.FLOAT, "batch", len(tiny.WORDS))
    constants = [tiny.tensor("table", table), tiny.tensor("one", one)]
    raw = tiny.model(nodes, constants, ["input_ids", "attention_mask"], output)
    folder = tiny.write(tmp_path / "m", raw, config={"architectures": ["BertForMaskedLM"]})
    weights = OnnxSparseEncoder(folder).encode_query("a a b")
    assert weights["a"] == pytest.approx(log(7))
    assert weights["b"] == pytest.approx(log(4))


def test_other_models_are_refused(tmp_path: Path, folder: Path) -> None:
    """Each kind of model is refused where another one is needed, by name; so is one without logits of tokens."""
    assert ModelFolder.open(folder).kind == "sparse encoder"
    for model in (OnnxEmbedder, OnnxCrossEncoder):
        with pytest.raises(ArgumentError, match="got the sparse encoder 'splade'"):
            model(folder)
    other = "must be of the kind 'sparse encoder', got the cross-encoder 'c'"
    with pytest.raises(ArgumentError, match=other):
        OnnxSparseEncoder(tiny.write_cross_encoder(tmp_path / "c"))
    masked = {"architectures": ["MPNetForMaskedLM"]}
    assert ModelFolder.open(tiny.write_encoder(tmp_path / "pooled", config=masked)).kind == "encoder"
    short = tiny.write(tmp_path / "short", tiny.encoder(), config={"architectures": ["BertForMaskedLM"]})
    shape = r"must give a number for each of 17 tokens, got shape \(1, 3, 8\)"
    with pytest.raises(EmbeddingError, match=shape):
        OnnxSparseEncoder(short).encode_query("a")
