"""Async twins: one decorator makes them, with the signature of the call."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, assert_type, get_type_hints

import pytest

from sleuth import CodeRetriever, Engine, FusedRetriever, Ranking, aindex_path, index_path
from sleuth.code.search.context import RetrievedContexts
from sleuth.code.snapshots.indexing import CodeIndexReport
from sleuth.llm import LLMGenerator
from sleuth.remote import async_twin
from sleuth.remote.twins import async_pieces
from sleuth.types import Document
from sleuth.vector_store import Retriever

SRC = Path(__file__).parents[2] / "src" / "sleuth"

WAITING = re.compile(
    r"(retrieve|search|stream|index|ingest|import|generate|complete|synthesize|summarize|evaluate)(_|$)|add$"
)
"""Names of calls that retrieve, generate or ingest."""

WITHOUT = {
    "part of `search_web`": "FallbackService.search MergedService.search WebService.search",
    "part of a call of the engine": "Answers.search Documents.add Documents.index Adder.add index_paths",
    "part of a search or of a segment": "LexicalBuilder.add LexicalSearcher.search SegmentRows.search",
    "client of AWS": "LocalKnowledgeBase.ingest_knowledge_base_documents LocalKnowledgeBase.retrieve",
    "neither waits nor asks": "CodeStorage.complete Morpheus.add Ranking.index",
}
"""Public calls without a twin, by what they are."""


class Counter:
    """Counts, and says in which thread."""

    def count(self, upto: int, *, start: int = 0) -> list[int]:
        """Count to a number."""
        assert current_thread() is not main_thread()
        return list(range(start, upto))

    acount = async_twin(count)

    def numbers(self, upto: int) -> Iterator[int]:
        """Yield numbers."""
        for number in range(upto):
            assert current_thread() is not main_thread()
            yield number

    anumbers = async_pieces(numbers)

    @classmethod
    def open(cls, name: str) -> Counter:
        """Open a counter."""
        counter = cls()
        counter.__dict__["name"] = name
        return counter

    aopen = classmethod(async_twin(open))


class Doubler(Counter):
    """Counts twice as far."""

    def count(self, upto: int, *, start: int = 0) -> list[int]:
        return super().count(2 * upto, start=start)


def public_calls() -> dict[str, Callable[..., Any]]:
    """Return the functions and methods that a user can call, by path."""
    calls: dict[str, Callable[..., Any]] = {}
    for stub in SRC.rglob("__init__.pyi"):
        package = ".".join(["sleuth", *stub.parent.relative_to(SRC).parts])
        if package.count(".") > 1 or package.endswith((".store", ".dense", ".surfaces", ".testing")):
            continue  # for the other rooms, and for tests
        module = import_module(package)
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isfunction(member):
                calls[f"{package}.{name}"] = member
            elif inspect.isclass(member) and not getattr(member, "_is_protocol", False):
                methods = inspect.getmembers(member, inspect.isfunction)
                calls |= {f"{package}.{name}.{own}": method for own, method in methods}
    return calls


def test_what_waits_has_a_twin() -> None:
    """Each public call that retrieves, generates or ingests has a twin with its signature."""
    calls = public_calls()
    waiting = {
        path: call
        for path, call in calls.items()
        if WAITING.match(call.__name__)
        and not path.endswith(tuple(f".{name}" for names in WITHOUT.values() for name in names.split()))
        and call.__annotations__["return"] != "SearchStream"  # for `async for` as it is
    }
    assert len(waiting) > 40
    for path, call in waiting.items():
        owner, _, name = path.rpartition(".")
        assert f"{owner}.a{name}" in calls, path
        assert inspect.signature(calls[f"{owner}.a{name}"]) == inspect.signature(call), path


def test_a_twin_is_named_and_documented() -> None:
    """A twin has the name with an "a", and the documentation of the call."""
    assert Counter.acount.__name__ == "acount"
    assert Counter.acount.__qualname__ == "Counter.acount"
    assert (Counter.acount.__doc__ or "").endswith("Count to a number.")
    assert get_type_hints(Counter.acount) == get_type_hints(Counter.count)


def test_type_checkers_see_the_signature() -> None:
    """A type checker knows what each twin returns: `make check` reads the types that stand here."""

    async def work(engine: Engine, code: CodeRetriever, model: LLMGenerator, *others: Any) -> None:
        store: Retriever
        fusion: FusedRetriever
        store, fusion, storage = others
        assert_type(await Engine.aopen("index", create=True), Engine)
        assert_type(await engine.aretrieve("tide", 3, filter="year:2020"), Ranking)
        assert_type(await engine.adelete(["a"]), list[str])
        assert_type(await code.aretrieve("tide", "repository", limit=3), RetrievedContexts)
        assert_type(await store.aretrieve("tide", 3), list[Document])
        assert_type(await model.agenerate_answer("tide?", []), str)
        assert_type([piece async for piece in model.astream_answer("tide?", [])], list[str])
        assert_type(await fusion.aretrieve("tide"), Ranking)
        assert_type(await aindex_path(storage, "repository"), CodeIndexReport)
        await engine.aretrieve("tide", fitler="year:2020")  # type: ignore[call-arg]
        await engine.aretrieve(3)  # type: ignore[arg-type]
        await aindex_path(storage, "repository", worker=1)  # type: ignore[call-arg]

    assert inspect.iscoroutinefunction(work)
    assert inspect.signature(aindex_path) == inspect.signature(index_path)


def test_twins_run_in_another_thread() -> None:
    """A twin returns what the call returns, in a subclass what its own call returns; arguments are the same."""

    async def work() -> None:
        assert await Counter().acount(3, start=1) == [1, 2]
        assert await Doubler().acount(3) == [0, 1, 2, 3, 4, 5]
        assert type(await Doubler.aopen("a")) is Doubler
        assert [number async for number in Counter().anumbers(3)] == [0, 1, 2]
        with pytest.raises(TypeError, match="stop"):
            await Counter().acount(3, stop=1)  # type: ignore[call-arg]

    asyncio.run(work())
