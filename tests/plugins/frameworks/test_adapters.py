"""Adapters without their frameworks: nothing is imported early, and what is missing is named with its extra."""

import importlib
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest

from sleuth.errors import EmbeddingError, MissingPackageError, SleuthError
from sleuth.plugins.frameworks.whole import VectorsOfOthers, WholeIndex
from tests.commands import python

HOME = Path(__file__).parents[3]
FRAMEWORKS = {
    "langchain": "langchain_core", "haystack": "haystack", "llama_index": "llama_index",
    "langgraph": "langchain_core", "pydantic_ai": "pydantic_ai", "dspy": "dspy", "pyterrier": "pyterrier",
    "mteb": "mteb",
}  # fmt: skip
"""What each adapter needs."""


def test_sleuth_imports_no_framework() -> None:
    """Sleuth, its engine and its server load none of the frameworks, whether they are installed or not."""
    packages = {*FRAMEWORKS.values(), "pyarrow", "pandas", "polars", "datasets", "ir_datasets", "torch"}
    modules = "sys, sleuth, sleuth.engine, sleuth.vector_store, sleuth.plugins.evaluation, "
    modules += "sleuth.plugins.frameworks.agents"
    loaded = python(f"import {modules}\nprint(*sys.modules)").stdout.split()
    assert "sleuth.vector_store" in loaded
    assert packages.isdisjoint(loaded)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_missing_framework_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing an adapter says which extra it needs, and the extra is one of the package."""
    for module in [each for each in sys.modules if each.split(".")[0] == FRAMEWORKS[name]]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, FRAMEWORKS[name], None)
    monkeypatch.delitem(sys.modules, f"sleuth.plugins.frameworks.{name}", raising=False)
    with pytest.raises(MissingPackageError, match="pip install 'sleuth") as caught:
        importlib.import_module(f"sleuth.plugins.frameworks.{name}")
    extras = tomllib.loads((HOME / "pyproject.toml").read_text("utf8"))["project"]["optional-dependencies"]
    assert caught.value.extra in extras


def test_a_document_has_the_vector_that_came_last_with_it(tmp_path: Path) -> None:
    """Also where all else is as before, or others have its text; what cannot be kept is refused, nothing changes."""
    index = WholeIndex.open(tmp_path / "index", VectorsOfOthers())
    index.add(["one", "two"], [None] * 2, ["1", "2"], [[1, 0], [0, 1]])
    for text, vector in (("three", [1.0]), ("three", [float("nan"), 1.0]), ("\ud800", [1.0, 1.0])):
        with pytest.raises(SleuthError):
            index.add(["one", text], [None] * 2, ["1", "3"], [[0, -1], vector])
    assert [(one.id, round(one.score or 0)) for one in index.nearest([1, 0], 9)] == [("1", 1), ("2", 0)]
    version = index.engine.status()["version"]
    metadatas: list[dict[str, object]] = [{"heading": "One"}, {"title": date(2020, 1, 1)}]
    index.add(["one", "one"], metadatas, ["1", "3"], [[0, -1], [1, 1]])
    assert index.engine.status()["version"] == version + 1  # a kill leaves the document as it was or is
    nearest = index.nearest([0, 1], 9)
    assert [(one.id, round(one.score or 0, 1)) for one in nearest] == [("2", 1), ("3", 0.7), ("1", -1)]
    index.engine.update({"title": "Three"}, ["3"])
    assert index.vectors(nearest) == [[0, 1], [1, 1], [0, -1]]
    index.engine.update({"_own_vector": None}, ["3"])  # as of a document that an earlier version wrote
    with pytest.raises(EmbeddingError, match="add them again"):
        index.vectors(nearest)
    index.engine.close()
