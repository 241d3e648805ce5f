"""Asks one leg of a query, within a deadline, and says how it failed; and what legs are asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sleuth.compose.slices import run_slices
from sleuth.errors import ArgumentError, SleuthError, StoreError, UnavailableError
from sleuth.logs import logger_of
from sleuth.remote import Deadline, check_cancelled
from sleuth.remote.cancellation import Cancellation, context_of
from sleuth.types import PartReport

if TYPE_CHECKING:
    from sleuth.engine.queries import QueryCondition
    from sleuth.filters import Filter
    from sleuth.store import LegSearcher, RankingLeg

logger = logger_of("engine")

OF_ALL_LEGS: Final = (StoreError, ArgumentError, UnavailableError)
"""Errors that concern the whole search, whichever leg met them."""


@dataclass(frozen=True, slots=True)
class PoolRequest:
    """What each leg is asked for.

    Attributes:
        depth: rows wanted of each leg, 1 or more.
        tree: which rows may answer; None for all.
        pooled: whether the rows are fused with those of other legs: the far end of a pool need not be certain.
        ordered: whether equal scores must be in order of id; ids always decide ties at the end of the pool.
        exact: whether every row is scored, instead of dropping some by an estimate.
        conditions: what rows must fulfil beside the filter.
    """

    depth: int
    tree: Filter | None
    pooled: bool
    ordered: bool
    exact: bool
    conditions: tuple[QueryCondition, ...] = ()


def ask_leg(leg: RankingLeg[Any], searcher: LegSearcher[Any], query: str, deadline: Deadline | None) -> Any:
    """Return a query in the form of a leg.

    Raises:
        TimeoutError: the leg did not make it before the deadline; its connections are closed.
        EmbeddingError: its model does not answer.
    """
    if deadline is None:
        return searcher.ask(query)
    form = _ask_apart(leg, searcher, query, deadline) if leg.is_slow else searcher.ask(query)
    if deadline.passed():
        raise TimeoutError(f"no answer within {deadline.seconds:g} s")
    return form


def _ask_apart(leg: RankingLeg[Any], searcher: LegSearcher[Any], query: str, deadline: Deadline) -> Any:
    """Return a query in the form of a leg that another thread asks."""
    cancellation = Cancellation()
    context = context_of(cancellation)
    with deadline.cancellation.closing(cancellation.cancel):
        queries, (report,) = run_slices(  # where no time remains, a deadline must still be above 0
            {leg.name: lambda: context.run(searcher.ask, query)}, deadline=max(deadline.remaining(), 1e-3)
        )
    if report.exception is not None:
        raise report.exception
    if not queries:
        cancellation.cancel()
        raise TimeoutError(f"no answer within {deadline.seconds:g} s")
    return queries[leg.name]


def failed_leg(leg: str, error: Exception, started: float, *, alone: bool) -> PartReport:
    """Return the report of a leg that failed or was late; a failure is logged.

    Args:
        started: when the leg was asked, of `time.perf_counter`.
        alone: whether no other leg was asked: then a failure is raised.

    Raises:
        Exception: the error, where it concerns the whole search: an index that cannot be read, shards that do not
            answer, a wrong argument, a cancelled caller.
    """
    check_cancelled()
    seconds = time.perf_counter() - started
    if isinstance(error, TimeoutError):
        return PartReport(leg, "abandoned", seconds, error=str(error))
    if alone or isinstance(error, OF_ALL_LEGS):
        raise error
    message = str(error) if isinstance(error, SleuthError) else f"{type(error).__name__}: {error}"
    logger.warning("the leg %s failed: %s", leg, message)
    return PartReport(leg, "failed", seconds, error=message, exception=error)
