"""Adapters without their frameworks: nothing is imported early, and what is missing is named with its extra."""

import importlib
import sys
import tomllib
from pathlib import Path

import pytest

from sleuth.errors import MissingPackageError
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
