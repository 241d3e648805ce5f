"""Engines without the package of the default embedder."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sleuth import Document, Engine, default_embedder
from sleuth.engine.doctor import examine
from sleuth.engine.sources import Sources
from sleuth.errors import ArgumentError, EmbeddingError, MissingPackageError
from sleuth.settings import IndexSettings
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register
from tests.llm.test_openai import KEY, OpenAIServer

DOCUMENTS = [Document("Tokens are refilled every second.", id="a"), Document("Cats sleep all day.", id="b")]
COMMAND = r"pip install 'sleuth\[hybrid\]'"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Hide the package, or show it again; it is hidden at first."""

    def choose(is_installed: bool) -> None:
        if is_installed:
            monkeypatch.delitem(sys.modules, "wordllama")
        else:
            monkeypatch.setitem(sys.modules, "wordllama", None)

    choose(False)
    return choose


def test_a_new_index_is_searched_by_words_and_says_so_once(
    tmp_path: Path, installed: Callable[[bool], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Creating it logs the command that adds meaning, later openings are silent, and `re_embed` adds it."""
    with caplog.at_level(logging.WARNING):
        with Engine.open(tmp_path / "i", create=True) as engine:
            engine.add(DOCUMENTS)
        with Engine.open(tmp_path / "i", create=True, settings=IndexSettings()) as engine:
            ranking = engine.retrieve("refilled tokens")
            assert [item.id for item in ranking] == ["a#0"]
            assert not ranking.failures
            assert engine.settings.embedder == ""
            assert "sleuth index --re-embed" in engine.status()["words_only"]
    (record,) = caplog.records
    assert "pip install 'sleuth[hybrid]', then `sleuth index --re-embed`" in record.getMessage()
    with pytest.raises(MissingPackageError, match=COMMAND):
        Engine.open(tmp_path / "i", re_embed=True)
    installed(True)
    with Engine.open(tmp_path / "i", re_embed=True) as engine:
        assert [item.id for item in engine.retrieve("kittens napping", 1, legs=["dense"])] == ["b#0"]
        assert engine.status()["words_only"] == ""


def test_the_command_that_creates_an_index_prints_how_to_add_meaning(
    tmp_path: Path, installed: Callable[[bool], None]
) -> None:
    """`sleuth index` prints the command on standard error when it creates an index, and not later."""
    (tmp_path / "a.md").write_text("Tokens are refilled every second.\n")

    def errors(*options: str) -> str:
        arguments = ["index", str(tmp_path / "a.md"), "--index", *options]
        register(arguments)
        return CliRunner().invoke(app, arguments, catch_exceptions=False).stderr

    assert "pip install 'sleuth[hybrid]'" in " ".join(errors(str(tmp_path / "i")).split())
    assert "pip install" not in errors(str(tmp_path / "i"))
    assert "pip install" not in errors(str(tmp_path / "j"), "--embedder", "")


def test_an_embedder_that_is_named_must_be_installed(
    tmp_path: Path, installed: Callable[[bool], None]
) -> None:
    """A named embedder without its package raises an error with the command, and no index is created."""
    with pytest.raises(MissingPackageError, match=COMMAND):
        Engine.open(tmp_path / "i", create=True, embedder="wordllama")
    with pytest.raises(MissingPackageError, match=COMMAND):
        Engine.open(tmp_path / "i", create=True, settings={"embedder": "wordllama"})
    with pytest.raises(MissingPackageError, match=COMMAND):
        default_embedder()
    assert Sources({"a": None}).embedder is None  # type: ignore[dict-item]
    assert not (tmp_path / "i").exists()


def test_an_index_with_vectors_is_searched_by_its_words(
    tmp_path: Path, installed: Callable[[bool], None]
) -> None:
    """The failed leg names the command; documents added meanwhile get vectors once the package is installed."""
    installed(True)
    with Engine.open(tmp_path / "i", create=True) as engine:
        engine.add(DOCUMENTS)
    installed(False)
    with Engine.open(tmp_path / "i") as engine:
        ranking = engine.retrieve("refilled tokens")
        assert [item.id for item in ranking] == ["a#0"]
        assert "pip install 'sleuth[hybrid]'" in str(ranking.failures[0].error)
        with pytest.raises(EmbeddingError, match=COMMAND):
            engine.retrieve("refilled tokens", legs=["dense"])
        engine.add([Document("Dogs bark at night.", id="c")])
        engine.delete(["a"])
        engine.compact()
        assert not [finding for finding in engine.check(full=True) if finding.level == "error"]
        assert "Dogs bark" in engine.search("what do dogs do at night").response
        assert "pip install" in engine.status()["words_only"]
    with pytest.raises(MissingPackageError, match=COMMAND):
        Engine.open(tmp_path / "i", re_embed=True)
    messages = [diagnosis.message for diagnosis in examine(tmp_path / "i") if diagnosis.subject == "meaning"]
    assert len(messages) == 1
    assert "pip install 'sleuth[hybrid]'" in messages[0]
    installed(True)
    with Engine.open(tmp_path / "i") as engine:
        assert {item.id for item in engine.retrieve("pets", legs=["dense"])} == {"b#0", "c#0"}
        assert not [finding for finding in engine.check(full=True) if finding.level != "ok"]


def test_an_index_of_a_server_that_nobody_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words answer and say which variables are missing; a question is sent to no other server."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with Engine.open(tmp_path / "i", create=True, embedder="openai:m") as engine:
            engine.add(DOCUMENTS)
        asked = len(server.requests)
        monkeypatch.delenv("OPENAI_BASE_URL")
        monkeypatch.delenv("OPENAI_API_KEY")
        with Engine.open(tmp_path / "i") as engine:
            assert [item.id for item in engine.retrieve("refilled tokens")] == ["a#0"]
            assert (
                "'openai:m': base_url must name a server, got none: set $OPENAI_BASE_URL" in engine.words_only
            )
            assert engine.status()["legs"]["dense"]["passages"] == 2
        with pytest.raises(ArgumentError, match="OPENAI_BASE_URL"):
            Engine.open(tmp_path / "other", create=True, embedder="openai:m")
        assert len(server.requests) == asked
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with Engine.open(tmp_path / "i") as engine:
            assert engine.retrieve("refilled tokens", legs=["dense"])
            assert engine.words_only == ""
