"""The calls of an engine are those of its parts, and each that waits has an async twin that does the same."""

import inspect
from pathlib import Path

from sleuth import Document, Engine
from sleuth.engine.documents import Documents
from sleuth.engine.searching import IndexSearch
from tests.answer.conftest import Scripted


def test_an_engine_has_the_calls_of_its_parts() -> None:
    """Each public call of the documents and of the search is one of `Engine`, with the same signature."""
    for part, others in ((Documents, set[str]()), (IndexSearch, {"answer", "correct"})):
        names = {name for name, _ in inspect.getmembers(part, inspect.isfunction) if not name.startswith("_")}
        for name in names - others:
            assert inspect.signature(getattr(Engine, name)) == inspect.signature(getattr(part, name)), name


def test_a_view_answers_with_the_model_of_its_engine(tmp_path: Path) -> None:
    """A view uses the model that its engine has when it is made; another model of the view is its own."""
    with Engine.open(tmp_path / "index", create=True, settings={"embedder": ""}) as engine:
        engine.add([Document("Parrots talk.", {"source": "a", "year": 2020})])
        engine.use_model(Scripted("Polly.", "Polly."))
        view = engine.scoped("year:2020")
        assert "Polly" in view.search("parrots").response
        view.use_model(None)
        assert "Parrots talk" in view.search("parrots").response
        assert "Polly" in engine.search("parrots").response


WITHOUT = {
    *("searcher", "idf", "scoped", "wait", "run"),  # for what is built on engines
    *("load_plugins", "unload_plugins", "use_model", "synthesizer", "snippet"),  # nothing is waited for
    "stream_search",  # for `async for` as it is
}
"""Calls that have no twin."""


def test_every_call_has_a_twin() -> None:
    """A twin stands beside each call, with the same arguments and the same result."""
    names = {name for name, _ in inspect.getmembers(Engine, callable) if not name.startswith("_")}
    twins = {name for name in names if inspect.iscoroutinefunction(getattr(Engine, name))}
    assert {name.removeprefix("a") for name in twins} == names - twins - WITHOUT
    for twin in twins:
        call = getattr(Engine, twin.removeprefix("a"))
        assert inspect.signature(getattr(Engine, twin)) == inspect.signature(call)
