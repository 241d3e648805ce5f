"""Getting a model from a hub: a local server that speaks the hub's protocol."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sleuth.errors import ArgumentError, RemoteError
from sleuth.plugins.neural import OnnxEmbedder
from sleuth.plugins.neural.folder import ModelFolder
from sleuth.plugins.neural.pull import find_model, pull_model
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register
from tests.plugins.neural import tiny
from tests.plugins.neural.hub import REVISION, Hub


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A hub that has a tiny model under the name of a known one; $SLEUTH_MODELS is empty."""
    monkeypatch.setenv("SLEUTH_MODELS", str(tmp_path / "models"))
    source = tiny.write_encoder(tmp_path / "source", config={"architectures": ["BertModel"]})
    with Hub({"intfloat/e5-small-v2": source}) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def test_a_known_model(hub: Hub, tmp_path: Path) -> None:
    """The files that are needed come with their checksums and origin, and the model is used by its name."""
    model = find_model("e5-small-v2")
    assert (model.name, model.licence, model.revision) == ("e5-small-v2", "apache-2.0", REVISION)
    calls: list[tuple[int, int]] = []
    folder = pull_model(model, progress=lambda done, total: calls.append((done, total)))
    assert folder == ModelFolder.open("e5-small-v2")
    assert folder.path == tmp_path / "models" / "e5-small-v2"
    assert calls[-1] == (model.bytes, model.bytes)
    assert sorted(calls) == calls
    assert not any("pytorch_model" in path for path in hub.paths())
    origin = json.loads((folder.path / "origin.json").read_text())
    assert origin["repository"] == "intfloat/e5-small-v2"
    assert origin["files"]["model.onnx"].startswith("sha256:")
    assert origin["files"]["tokenizer.json"].startswith("git:")
    assert OnnxEmbedder("e5-small-v2").embed_query("a b").shape == (8,)


def test_a_file_with_another_checksum_is_dropped(hub: Hub, tmp_path: Path) -> None:
    """A file that is not what the hub lists makes no model; the next attempt gets only the missing files."""
    for name in ("config.json", "model.onnx"):
        hub.broken = name
        with pytest.raises(RemoteError, match=rf"{name} must have the checksum .*: the file was dropped"):
            pull_model(find_model("e5-small-v2"))
        assert not (tmp_path / "models" / "e5-small-v2").exists()
        hub.requests.clear()
    hub.broken = ""
    pull_model(find_model("e5-small-v2"))
    assert sum("tokenizer.json" in path for path in hub.paths()) == 0
    assert sum("model.onnx" in path for path in hub.paths()) == 2


def test_what_a_hub_does_not_have(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown names, models without ONNX, lists that are malformed and hubs that are down raise errors."""
    with pytest.raises(ArgumentError, match=r"name must be among all-MiniLM-L6-v2, .*, or OWNER/NAME .*'x'"):
        find_model("x")
    with pytest.raises(ArgumentError, match="OWNER/NAME"):
        find_model("../..")
    with pytest.raises(RemoteError, match=r"no/model.* did not give the model: status 404"):
        find_model("no/model")
    del hub.files["model.onnx"]
    with pytest.raises(ArgumentError, match=r"a model with model.onnx and tokenizer.json, got 'e5-small-v2'"):
        find_model("e5-small-v2")
    monkeypatch.setattr(hub, "facts", lambda *file: {"rfilename": "model.onnx"})
    with pytest.raises(RemoteError, match="must list the files of a model"):
        find_model("e5-small-v2")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(RemoteError, match="did not give the model"):
        find_model("e5-small-v2")
    monkeypatch.setenv("HF_ENDPOINT", "ftp://x")
    with pytest.raises(ArgumentError, match="HF_ENDPOINT must be"):
        find_model("e5-small-v2")


def run(*arguments: str) -> tuple[int, str]:
    register(list(arguments))
    result = CliRunner().invoke(app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_the_command(hub: Hub, tmp_path: Path) -> None:
    """`sleuth index models` lists models with their licence, and asks no hub; `pull` shows size and licence first."""
    code, output = run("index", "models")
    assert code == 0
    assert f"No models in {tmp_path / 'models'}." in output
    assert "multilingual-e5-small" in output
    assert hub.requests == []
    _, out = run("index", "models", "pull", "e5-small-v2")
    assert "intfloat/e5-small-v2 at 8b3219a92973" in out
    assert "licence apache-2.0" in out
    assert "--embedder onnx:e5-small-v2" in out
    hub.requests.clear()
    tiny.write_cross_encoder(tmp_path / "models" / "cross")
    (tiny.write_encoder(tmp_path / "models" / "damaged") / "model.onnx").write_bytes(b"x")
    rows = json.loads(run("index", "models", "--json")[1])["models"]
    kinds = {row["name"]: (row["kind"], row["licence"]) for row in rows}
    others = {"cross": ("cross-encoder", "unknown"), "damaged": ("encoder", "unknown")}
    assert kinds == others | {"e5-small-v2": ("encoder", "apache-2.0")}
    assert "e5-small-v2  encoder" in run("index", "models")[1]
    assert hub.requests == []
