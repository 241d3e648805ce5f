"""A facade offers the calls of its parts."""

import inspect
from collections.abc import Iterator
from pathlib import Path

from sleuth import Document, Engine
from sleuth.engine.documents import Documents
from sleuth.engine.searching import IndexSearch


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
