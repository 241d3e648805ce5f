"""No class of a framework takes an argument in silence: `make conformance`, and `make test` with what is installed."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from sleuth import Engine
from sleuth.plugins import frameworks

UNKNOWN: dict[str, Any] = {"nosuch_option": 1}
CALLS: dict[str, Callable[[Any, Engine], object]] = {
    "langchain retriever": lambda module, engine: module.SleuthRetriever(source=engine, **UNKNOWN),
    "langchain options": lambda module, engine: module.SleuthRetriever(source=engine, options=UNKNOWN),
    "langchain invoke": lambda module, engine: module.SleuthRetriever(source=engine).invoke("x", **UNKNOWN),
    "langchain store": lambda module, engine: module.SleuthVectorStore(engine, **UNKNOWN),
    "langchain index": lambda module, engine: module.SleuthDocumentIndex(engine=engine, **UNKNOWN),
    "langchain find": lambda module, engine: module.SleuthDocumentIndex(engine=engine).invoke("x", **UNKNOWN),
    "langgraph toolkit": lambda module, engine: module.SleuthToolkit(engine.path, **UNKNOWN),
    "llama_index retriever": lambda module, engine: module.SleuthRetriever(engine, **UNKNOWN),
    "llama_index store": lambda module, engine: module.SleuthVectorStore(engine=engine, **UNKNOWN),
    "llama_index add": lambda module, engine: module.SleuthVectorStore(engine=engine).add([], **UNKNOWN),
    "llama_index query": lambda module, engine: module.SleuthVectorStore(engine=engine).query(
        None, **UNKNOWN
    ),
    "haystack store": lambda module, engine: module.SleuthDocumentStore(str(engine.path), **UNKNOWN),
    "haystack retriever": lambda module, engine: module.SleuthRetriever(None, **UNKNOWN),
    "haystack run": lambda module, engine: module.SleuthRetriever(None).run("x", **UNKNOWN),
    "haystack vector": lambda module, engine: module.SleuthRetriever(None).run("x", query_embedding=[1.0]),
    "dspy rm": lambda module, engine: module.SleuthRM(engine, **UNKNOWN),
    "dspy call": lambda module, engine: module.SleuthRM(engine)("x", **UNKNOWN),
    "pyterrier retriever": lambda module, engine: module.SleuthRetriever(engine, **UNKNOWN),
    "pydantic_ai toolset": lambda module, engine: module.SleuthToolset(engine.path, **UNKNOWN),
    "mteb model": lambda module, engine: module.SleuthSearch(**UNKNOWN),
    "mteb index": lambda module, engine: module.SleuthSearch().index([], **UNKNOWN),
    "mteb search": lambda module, engine: module.SleuthSearch().search([], top_k=1, **UNKNOWN),
    "agents tools": lambda module, engine: module.AgentTools(engine.path, **UNKNOWN),
    "agents call": lambda module, engine: module.AgentTools(engine.path).call("search", query="x", **UNKNOWN),
}
"""By module and call: what hands over an argument that nothing takes."""


@pytest.mark.parametrize("call", CALLS)
def test_an_argument_that_nothing_takes_is_refused(tmp_path: Path, call: str) -> None:
    """The error names the argument, whether a class, a search or a change is given it."""
    name = call.split(maxsplit=1)[0]
    try:
        module = import_module(f"sleuth.plugins.frameworks.{name}")
    except ImportError:
        pytest.skip(f"needs the framework of the adapter {name}")
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add([{"text": "A bucket is refilled."}])
        with pytest.raises((TypeError, ValueError), match=r"nosuch_option|query_embedding"):
            CALLS[call](module, engine)


def test_every_class_is_among_the_calls() -> None:
    """Each class of an adapter that a user makes is called above."""
    adapters = Path(frameworks.__file__).parent.glob("*.py")
    classes = {
        name
        for path in adapters
        for name in re.findall(r"^class (Sleuth\w+|AgentTools)", path.read_text(), re.M)
    }
    called = {name for each in CALLS.values() for name in each.__code__.co_names}
    assert classes <= called
