"""Hooks of plugins apply to every search by text."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Document, Engine, FilterError, RetrievalError, open_sources
from sleuth.results import RetrieveResult, StatusDetail
from tests.commands import sleuth

RETRIEVE = "indiana_jones_retrieve"
PERMISSION = """
from sleuth.hooks import hook

@hook("indiana_jones_retrieve", priority=-1)
def hide_secrets(result, query, k, return_mode, for_synthesize, *, rag2f):
    result.items = [item for item in result.items if not item.metadata.get("secret")]
    return result
"""
FAILING = """
from sleuth.hooks import plugin

@plugin
def activated(plugin, instance):
    raise RuntimeError("no licence")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    monkeypatch.setenv("SLEUTH_PLUGINS", str(plugins))
    return plugins


@pytest.fixture
def engine(folder: Path, engine: Engine) -> Engine:
    engine.add([
        Document("Tokens are refilled.", {"source": "open.md"}),
        Document("Tokens of the board.", {"source": "board.md", "secret": True}),
    ])  # fmt: skip
    return engine


def test_no_way_in_goes_around_a_permission_filter(engine: Engine, folder: Path, tmp_path: Path) -> None:
    """`retrieve`, `aretrieve`, `search`, sources, views and `sleuth search` return only what the plugin allows."""
    assert len(engine.unhooked.retrieve("tokens")) == 2
    (folder / "permission.py").write_text(PERMISSION)
    with Engine.open(engine.path) as index, index.scoped("source:*md*") as view:
        for searched in (index, view):
            assert [item.id for item in searched.retrieve("tokens")] == ["open.md#0"]
            assert [item.id for item in asyncio.run(searched.aretrieve("tokens"))] == ["open.md#0"]
            assert [item.id for item in searched.search("tokens", return_mode="with_items").items or ()] == [
                "open.md#0"
            ]
        assert len(index.unhooked.retrieve("tokens")) == 2
    with open_sources(engine.path) as sources:
        assert [item.id for item in sources.retrieve("tokens")] == ["open.md#0"]
    output = sleuth("search", "tokens", "--index", str(engine.path), cwd=tmp_path)
    assert "open.md" in output.stdout
    assert "board.md" not in output.stdout


def test_hooks_of_an_engine_apply_to_sources_over_it(engine: Engine) -> None:
    """Sources over an open engine use its hooks, once each and with what is added later; closing leaves it open."""
    runs: list[str] = []

    def hide(result: RetrieveResult, *_: Any, rag2f: Any) -> None:
        runs.append(type(rag2f).__name__)
        result.items = [item for item in result.items if not item.metadata.get("secret")]

    async def work() -> None:
        async with open_sources(engine.path, engine=engine) as sources:
            assert len(await sources.aretrieve("tokens")) == 2
            engine.hooks.on(RETRIEVE, hide, plugin="permission", priority=-1)
            assert [item.id for item in await sources.aretrieve("tokens")] == ["open.md#0"]

    asyncio.run(work())
    assert runs == ["Sources"]
    assert engine.count().documents == 2


def test_options_and_reports_pass_through(engine: Engine) -> None:
    """With a plugin, a search takes the same options and returns the same notes and errors."""
    engine.hooks.on(RETRIEVE, lambda result, *args, rag2f: None, plugin="idle")
    explained = engine.retrieve("tokens", filter="secret:true", explain=True, legs=["lexical"], deadline=10)
    assert [item.id for item in explained] == ["board.md#0"]
    assert explained[0].explanation is not None
    assert engine.retrieve("tokens", filter="sercet:true").notes
    assert len(engine.retrieve("tokens", k=0)) == len(engine.retrieve(" ")) == 0
    with pytest.raises(FilterError, match="a comparison must be written"):
        engine.retrieve("tokens", filter="secret")
    with pytest.raises(ArgumentError, match="legs must be among lexical in this index, got \\['sound'\\]"):
        engine.retrieve("tokens", legs=["sound"])


def test_a_hook_may_search_itself(engine: Engine) -> None:
    """Inside a hook, `retrieve` of the engine returns the ranking without hooks."""

    def narrow(result: RetrieveResult, query: str, k: int, *args: Any, rag2f: Engine) -> RetrieveResult:
        return RetrieveResult.success(
            query=query, items=list(rag2f.retrieve(query, k, filter="secret!=true"))
        )

    engine.hooks.on(RETRIEVE, narrow, plugin="narrow")
    assert [item.id for item in engine.retrieve("tokens")] == ["open.md#0"]


def test_a_hook_that_refuses_is_an_error(engine: Engine) -> None:
    """An error result of a hook is raised with its code; a result without hits is an empty ranking."""
    code = ["denied"]

    def refuse(result: RetrieveResult, query: str, *args: Any, rag2f: Engine) -> RetrieveResult:
        return RetrieveResult.fail(StatusDetail(code=code[0], message="Not for you"), query=query)

    engine.hooks.on(RETRIEVE, refuse, plugin="guard")
    with pytest.raises(RetrievalError, match="Not for you") as caught:
        engine.retrieve("tokens")
    assert caught.value.context["code"] == "denied"
    code[0] = "no_results"
    assert len(engine.retrieve("tokens")) == 0


def test_a_plugin_that_fails_to_start_is_reported(engine: Engine, folder: Path, tmp_path: Path) -> None:
    """`plugins` and `doctor` list it as failed and exit with 1; `search` and `ask` warn and continue."""
    (folder / "licensed.py").write_text(FAILING)
    index = ["--index", str(engine.path)]
    for path in (index, ["--index", str(tmp_path / "none")]):
        process = sleuth("doctor", "plugins", *path, cwd=tmp_path)
        assert process.returncode == 1
        assert "RuntimeError: no licence" in process.stdout
    output = sleuth("doctor", *index, cwd=tmp_path)
    assert output.returncode == 1
    assert "RuntimeError: no licence" in output.stdout
    for command in ("search", "ask"):
        warned = sleuth(command, "tokens", *index, cwd=tmp_path)
        assert "sleuth: the plugin licensed failed: RuntimeError: no licence" in warned.stderr
        assert "refilled" in warned.stdout
