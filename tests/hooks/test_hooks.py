"""The registry: order, decorators, and what a hook may return."""

import asyncio
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import ArgumentError, RetrievalError
from sleuth.hooks import Morpheus, hook, plugin
from sleuth.results import RetrievedItem, RetrieveResult


def test_decorator_forms() -> None:
    """@hook takes a name and a priority, a name, a priority, or nothing but the function."""

    def call(result: Any, *, rag2f: Any) -> str:
        return "called"

    hooks = [hook("other", priority=7)(call), hook("other")(call), hook(priority=-3)(call), hook(call)]
    assert [(one.name, one.priority) for one in hooks] == [
        ("other", 7), ("other", 1), ("call", -3), ("call", 1),
    ]  # fmt: skip
    assert hooks[3](None, rag2f=None) == "called"


@given(st.lists(st.tuples(st.booleans(), st.integers(-2, 2)), max_size=12))
def test_order(hooks: list[tuple[bool, int]]) -> None:
    """Hooks run by descending priority, equal ones in order of registration, those of a base after the others."""
    base = Morpheus()
    registry = Morpheus(base)
    for at, (in_base, priority) in enumerate(hooks):
        owner = base if in_base else registry
        owner.on("call", lambda seen, *, rag2f, at=at: [*seen, at], priority=priority)
    expected = [
        at for *_, at in sorted((-priority, in_base, at) for at, (in_base, priority) in enumerate(hooks))
    ]
    assert registry.execute_hook("call", [], rag2f=None) == expected


def test_hooks_run_until_the_call_ends() -> None:
    """A registry says inside its hooks that they run, and not after them, also where one failed."""
    registry = Morpheus()
    added = registry.on("call", lambda result, *, rag2f: registry.is_running, plugin="own")
    assert (added.name, added.priority) == ("call", 1)
    assert registry.execute_hook("call", False, rag2f=None)
    assert not registry.is_running
    registry.on("call", lambda result, *, rag2f: 1 // 0, priority=0)
    with pytest.raises(RetrievalError):
        registry.execute_hook("call", False, rag2f=None)
    assert not registry.is_running
    assert [registry.remove(plugin="own"), registry.remove(plugin="own")] == [1, 0]


def test_none_keeps_the_result() -> None:
    """A hook that returns None keeps the result, including changes in place."""
    registry = Morpheus()
    registry.on("call", lambda result, *, rag2f: result.append(1))
    registry.on("call", lambda result, *, rag2f: [*result, 2], priority=0)
    assert registry.execute_hook("call", [0], rag2f=None) == [0, 1, 2]


def test_options_go_to_the_hooks_that_name_them() -> None:
    """A hook gets the options that it names with a default or as keywords; what none names is refused if hooks run."""
    registry, start = Morpheus(), object()
    assert registry.execute_hook("call", start, "text", rag2f=None, k=3) is start
    registry.on("call", hook(lambda result, text, k=0, *, rag2f: [k]))
    registry.on("call", lambda result, text, *, rag2f, m=0: [*result, m])
    registry.on("call", lambda result, text, rag2f, n=0: [*result, n])
    assert registry.execute_hook("call", start, "text", rag2f=None, k=3, m=4, n=5) == [3, 4, 5]
    for unknown in ("text", "rag", "l"):
        with pytest.raises(ArgumentError, match=repr(unknown)):
            registry.execute_hook("call", start, "text", rag2f=None, **{unknown: 1})
    registry.on("call", lambda result, text, *, rag2f, **options: options)
    assert registry.execute_hook("call", start, "text", rag2f=None, l=5) == {"l": 5}


def test_a_failing_hook_stops_the_chain() -> None:
    """No hook runs after one that raised an exception."""
    registry = Morpheus()
    ran: list[str] = []

    def fail(result: Any, *, rag2f: Any) -> None:
        raise KeyError("x")

    registry.on("call", fail, priority=2, plugin="p")
    registry.on("call", lambda result, *, rag2f: ran.append("later"))
    with pytest.raises(RetrievalError, match="hook 'call' of plugin 'p': KeyError") as caught:
        registry.execute_hook("call", [], rag2f=None)
    assert isinstance(caught.value.__cause__, KeyError)
    assert ran == []


def test_coroutines_and_bad_priorities_are_refused() -> None:
    """A coroutine function and a priority that is not an int raise an error with the value."""

    async def coroutine(result: Any, *, rag2f: Any) -> None: ...

    with pytest.raises(ArgumentError, match=r"plain function, got <function .*coroutine"):
        hook("call")(coroutine)
    with pytest.raises(ArgumentError, match="priority must be an integer, got '1'"):
        hook("call", priority="1")(lambda: None)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="hooks must be functions marked @hook"):
        Morpheus().add(print)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="'activated' or 'deactivated', got 'start'"):

        @plugin
        def start(plugin: Any, instance: Any) -> None: ...


def test_hooks_added_during_a_call_run_from_the_next_one() -> None:
    """A call runs the hooks that were registered at its start."""
    registry = Morpheus()

    def adder(result: list[int], *, rag2f: Any) -> list[int]:
        registry.on("call", lambda result, *, rag2f: [*result, 2], priority=0)
        return [*result, 1]

    registry.on("call", adder)
    assert registry.execute_hook("call", [], rag2f=None) == [1]
    assert registry.execute_hook("call", [], rag2f=None) == [1, 2]


def test_what_ends_a_program_or_a_task_is_a_failure_too() -> None:
    """SystemExit, CancelledError and an error without a message count as a failure; KeyboardInterrupt is raised."""
    for raised in (SystemExit(0), asyncio.CancelledError(), type("Odd", (Exception,), {"__str__": int})()):

        def quits(result: Any, *, rag2f: Any, raised: BaseException = raised) -> None:
            raise raised

        registry = Morpheus()
        registry.on("call", quits, plugin="p")
        with pytest.raises(RetrievalError, match=type(raised).__name__) as failed:
            registry.execute_hook("call", 1, rag2f=None)
        assert failed.value.context["plugin"] == "p"

    def interrupted(result: Any, *, rag2f: Any) -> None:
        raise KeyboardInterrupt

    registry = Morpheus()
    registry.on("call", interrupted)
    with pytest.raises(KeyboardInterrupt):
        registry.execute_hook("call", 1, rag2f=None)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("score", "high", "score must be a finite number or None, got 'high'"),
        ("score", float("nan"), "score must be a finite number or None, got nan"),
        ("score", True, "score must be a finite number or None, got True"),
        ("text", None, "text must be a str, got None"),
        ("id", 3, "id must be a str, got 3"),
        ("metadata", [], "metadata must be a Mapping"),
    ],
)
def test_items_of_hooks_are_checked(name: str, value: Any, rule: str) -> None:
    """A hook that puts a wrong value into an item is refused by name, with the item."""
    registry = Morpheus()

    def change(result: RetrieveResult, *, rag2f: Any) -> None:
        setattr(result.items[0], name, value)

    registry.on("call", change, plugin="p")
    start = RetrieveResult.success(items=[RetrievedItem(id="a", text="t", score=1.0)])
    with pytest.raises(RetrievalError, match=f"hook 'call' of plugin 'p': item .*: {re.escape(rule)}"):
        registry.execute_hook("call", start, rag2f=None)


def test_scores_of_hooks_become_floats() -> None:
    """Scores of numpy and ints are taken as floats."""
    registry = Morpheus()

    def change(result: RetrieveResult, *, rag2f: Any) -> None:
        result.items[0].score = np.float32(0.5)  # type: ignore[assignment]
        result.items[1].score = 2

    registry.on("call", change)
    items = [RetrievedItem(id=id, text="t") for id in "ab"]
    result = registry.execute_hook("call", RetrieveResult.success(items=items), rag2f=None)
    assert [(item.score, type(item.score)) for item in result.items] == [(0.5, float), (2.0, float)]
