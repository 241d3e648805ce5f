"""Runs the parts of one retrieval at the same time, each with a deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from sleuth.arguments import check_count
from sleuth.errors import ArgumentError
from sleuth.remote import THREADS
from sleuth.types import PartReport

T = TypeVar("T")


class _Outcome(NamedTuple):
    """What one slice gave; only a report of success has a value."""

    report: PartReport
    value: Any = None


def run_slices(
    slices: Mapping[str, Callable[[], T]], *, deadline: float | None = None, max_slices: int | None = None
) -> tuple[dict[str, T], list[PartReport]]:
    """Run every slice in a thread of its own; wait until all have answered or their deadline has passed.

    A thread cannot be cancelled: a slice past its deadline keeps running until it finishes, and its answer is
    discarded. Set a timeout on the socket or client that it waits for. Slices see the context variables of
    the caller.

    Args:
        slices: what to run, by name.
        deadline: seconds that each slice has, from the call; None waits for all.
        max_slices: run only the first so many; the others are reported as skipped. None runs all.

    Returns:
        The values of the slices that answered, and one report for each slice; both in the order of `slices`.
        A failed slice's report carries its exception.
    """
    if deadline is not None and not deadline > 0:
        raise ArgumentError(f"deadline must be above 0 seconds or None, got {deadline!r}")
    if max_slices is not None:
        check_count(max_slices, "max_slices", least=1)
    names = list(slices)[:max_slices]
    started = monotonic()
    outcomes = _gather(slices, names, started, None if deadline is None else started + deadline)
    waited = monotonic() - started
    results: dict[str, T] = {}
    reports: list[PartReport] = []
    for name in slices:
        if name not in names:
            reports.append(PartReport(name, "skipped", error=f"max_slices is {max_slices}"))
        elif name not in outcomes:
            late = f"no answer within {deadline:g} s" if deadline is not None else "no answer"
            reports.append(PartReport(name, "abandoned", waited, error=late))
        else:
            reports.append(outcomes[name].report)
            if reports[-1].status == "ok":
                results[name] = outcomes[name].value
    return results, reports


def _gather(
    slices: Mapping[str, Callable[[], T]], names: list[str], started: float, end: float | None
) -> dict[str, _Outcome]:
    """Return the outcomes of the chosen slices that arrived before `end`, a time of `monotonic`."""
    arrived: SimpleQueue[_Outcome] = SimpleQueue()

    def job(name: str) -> Callable[[], None]:
        run, context = slices[name], copy_context()
        return lambda: arrived.put(_run(name, lambda: context.run(run), started))

    # Without a deadline the caller runs the last slice itself instead of waiting for it.
    beside, names_here = (names[:-1], names[-1:]) if end is None else (names, [])
    for name in beside:
        try:
            THREADS.submit(job(name))
        except RuntimeError as error:  # the system refuses another thread
            arrived.put(_failed(name, started, error))
    outcomes = {name: _run(name, slices[name], started, is_here=True) for name in names_here}
    while len(outcomes) < len(names):
        try:
            # A thread can wait for TIMEOUT_MAX at once.
            seconds = None if end is None else min(max(0.0, end - monotonic()), TIMEOUT_MAX)
            outcome = arrived.get(timeout=seconds)
        except Empty:
            break
        outcomes[outcome.report.name] = outcome
    return outcomes


def _run(name: str, run: Callable[[], T], started: float, *, is_here: bool = False) -> _Outcome:
    """Run a slice and return its outcome, also if it raises SystemExit: the caller waits for an outcome of each.

    KeyboardInterrupt is raised again in the caller's own thread.
    """
    try:
        value = run()
    except BaseException as error:
        if is_here and isinstance(error, KeyboardInterrupt):
            raise
        return _failed(name, started, error)
    hits = len(value) if hasattr(value, "__len__") else 0
    return _Outcome(PartReport(name, "ok", monotonic() - started, hits), value)


def _failed(name: str, started: float, error: BaseException) -> _Outcome:
    reason = str(error) or type(error).__name__
    return _Outcome(PartReport(name, "failed", monotonic() - started, error=reason, exception=error))
