import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.compose.slices import run_slices
from sleuth.errors import ArgumentError
from tests.waiting import wait_until


def answer(value: int, after: float = 0.0) -> Callable[[], list[int]]:
    def run() -> list[int]:
        time.sleep(after)
        return [value]

    return run


def failing(error: BaseException) -> Callable[[], list[int]]:
    def run() -> list[int]:
        raise error

    return run


@given(st.permutations(range(4)), st.sampled_from([None, 60.0]))
def test_order(order: list[int], deadline: float | None) -> None:
    """Values and reports come in the order of the slices, whichever answers first."""
    slices = {str(n): answer(n, after=n * 0.0005) for n in order}
    results, reports = run_slices(slices, deadline=deadline)
    assert list(results.items()) == [(str(n), [n]) for n in order]
    assert [(r.name, r.status, r.hits) for r in reports] == [(str(n), "ok", 1) for n in order]


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        *(
            ("deadline", value, f"above 0 seconds or None, got {value!r}")
            for value in (0, -1.5, float("nan"))
        ),
        *(("max_slices", value, "an int of 1 or more") for value in (0, 1.5, True)),
    ],
)
def test_options_must_be_positive(option: str, value: Any, rule: str) -> None:
    """A deadline or a number of slices that is not positive raises an error; no slices give nothing."""
    with pytest.raises(ArgumentError, match=f"{option} must be {rule}"):
        run_slices({}, **{option: value})
    assert run_slices({}) == ({}, [])


@pytest.mark.parametrize("deadline", [None, 60.0])
@pytest.mark.parametrize("name", ["bad", "last"])
def test_failure(deadline: float | None, name: str) -> None:
    """A slice that raises is reported with its exception, and the others answer."""
    error = ValueError("no such index")
    slices = {"bad": answer(1), "good": answer(2), "last": answer(3), name: failing(error)}
    results, reports = run_slices(slices, deadline=deadline)
    assert set(results) == {"bad", "good", "last"} - {name}
    (failed,) = [r for r in reports if r.status == "failed"]
    assert (failed.name, failed.error, failed.exception) == (name, "no such index", error)


@pytest.mark.parametrize("deadline", [None, 60.0])
@pytest.mark.parametrize(
    "error", [SystemExit(1), GeneratorExit(), asyncio.CancelledError(), SystemExit(), KeyError()]
)
def test_a_slice_ends_nothing_but_itself(error: BaseException, deadline: float | None) -> None:
    """SystemExit, GeneratorExit and CancelledError in a slice count as that slice failing; an interrupt is raised."""
    for slices in ({"bad": failing(error), "good": answer(1)}, {"good": answer(1), "bad": failing(error)}):
        results, reports = run_slices(slices, deadline=deadline)
        assert results == {"good": [1]}
        assert {r.name: r.exception for r in reports} == {"good": None, "bad": error}
        assert [r.error for r in reports if r.exception] == [str(error) or type(error).__name__]
    with pytest.raises(KeyboardInterrupt):
        run_slices({"a": answer(1), "b": failing(KeyboardInterrupt())})


def test_abandoned() -> None:
    """A slice past its deadline is abandoned; its late result does not change what the call returned."""
    release, ended = threading.Event(), threading.Event()

    def late() -> list[int]:
        release.wait(600)
        ended.set()
        return [1]

    results, reports = run_slices({"stuck": late, "quick": answer(2)}, deadline=2.0)
    release.set()
    assert ended.wait(60)
    assert results == {"quick": [2]}
    assert [r.status for r in reports] == ["abandoned", "ok"]
    assert reports[0].error == "no answer within 2 s"


def test_context_variables() -> None:
    """Slices see the caller's context variables."""
    request: ContextVar[str] = ContextVar("request")
    request.set("r1")
    results, _ = run_slices({"a": request.get, "b": request.get}, deadline=60)
    assert results == {"a": "r1", "b": "r1"}


def test_no_thread_left() -> None:
    """A thousand calls, a hundred of them stuck, hold up no other call and leave no thread behind."""
    before = threading.active_count()
    release = threading.Event()
    for n in range(1000):
        if n % 10 == 0:
            run_slices({"a": answer(1), "stuck": lambda: [int(release.wait())]}, deadline=0.001)
        else:
            assert run_slices({"a": answer(1), "b": answer(2)}, deadline=60)[0] == {"a": [1], "b": [2]}
    release.set()
    wait_until(lambda: threading.active_count() <= before)


def test_nested() -> None:
    """Slices may run slices."""

    def inner(n: int) -> Callable[[], int]:
        return lambda: sum(run_slices({"x": lambda: n, "y": lambda: 1}, deadline=60)[0].values())

    results, _ = run_slices({str(n): inner(n) for n in range(20)}, deadline=60)
    assert results == {str(n): n + 1 for n in range(20)}


def test_a_deadline_beyond_what_a_thread_can_wait() -> None:
    """A deadline longer than a thread can wait equals no deadline."""
    for deadline in (float("inf"), threading.TIMEOUT_MAX * 2):
        results, _ = run_slices({"a": answer(1, 0.01)}, deadline=deadline)
        assert results == {"a": [1]}
