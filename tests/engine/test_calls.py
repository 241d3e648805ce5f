"""A facade offers the calls of its parts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from sleuth import Document, Engine
from sleuth.engine import calls
from sleuth.engine.documents import Documents
from sleuth.engine.searching import IndexSearch


class Part:
    """Adds numbers."""

    def add(self, first: int, *, second: int = 1) -> int:
        """Add two numbers."""
        return first + second


class Loud(Part):
    """Adds more."""

    def add(self, first: int, *, second: int = 1) -> int:
        return super().add(first, second=second) + 100


class Facade:
    """Has a part."""

    def __init__(self, part: Part) -> None:
        self._part = part

    add = calls.forwarded("_part", Part.add)


def test_a_forwarded_call_is_that_of_the_part() -> None:
    """It has the arguments, the result and the documentation of the call, and runs what the part makes of it."""
    assert Facade(Part()).add(1, second=2) == 3
    assert Facade(Loud()).add(1) == 102
    assert inspect.signature(Facade(Part()).add) == inspect.signature(Part().add)
    assert Facade.add.__doc__ == "Add two numbers."


def test_an_engine_has_the_calls_of_its_parts() -> None:
    """Each public call of the documents and of the search is one of `Engine`, with the same signature."""
    for part, others in ((Documents, set[str]()), (IndexSearch, {"answer", "correct"})):
        names = {name for name, _ in inspect.getmembers(part, inspect.isfunction) if not name.startswith("_")}
        for name in names - others:
            assert inspect.signature(getattr(Engine, name)) == inspect.signature(getattr(part, name)), name


class Parrot:
    """A model that says one thing."""

    def complete(self, prompt: str) -> str:
        return "Polly."

    def stream(self, prompt: str) -> Iterator[str]:
        yield self.complete(prompt)


def test_a_view_answers_with_the_model_of_its_engine(tmp_path: Path) -> None:
    """A view uses the model that its engine has when it is made; another model of the view is its own."""
    with Engine.open(tmp_path / "index", create=True, settings={"embedder": ""}) as engine:
        engine.add([Document("Parrots talk.", {"source": "a", "year": 2020})])
        engine.use_model(Parrot())
        view = engine.scoped("year:2020")
        assert "Polly" in view.search("parrots").response
        view.use_model(None)
        assert "Parrots talk" in view.search("parrots").response
        assert "Polly" in engine.search("parrots").response
