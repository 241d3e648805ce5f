"""When is a failed call to a service tried again, and until when?

One deadline per call is handed down to every attempt, so that none outlives it. Waits grow by doubling with
full jitter, and `Retry-After` lengthens them. All calls to one endpoint share a budget of retries: a
service that is down gets hardly more requests than one that is up.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from threading import Event, Lock
from time import monotonic, time
from typing import TypeVar

T = TypeVar("T")

RETRY_AFTER_CAP = 30.0
"""Seconds: a service that asks for more is not waited for."""


class Deadline:
    """A point in time that a whole call shares.

    Args:
        seconds: from now on; None never passes.
        cancelled: set it to make waits end and the deadline count as passed.
    """

    __slots__ = ("_cancelled", "_end", "seconds")

    def __init__(self, seconds: float | None, cancelled: Event | None = None) -> None:
        self.seconds = seconds
        self._end = math.inf if seconds is None else monotonic() + seconds
        self._cancelled = cancelled or Event()

    def remaining(self) -> float:
        """Seconds left, 0 where none are; infinite without a limit."""
        return 0.0 if self._cancelled.is_set() else max(0.0, self._end - monotonic())

    def passed(self) -> bool:
        """Whether no time is left."""
        return self.remaining() == 0.0

    def within(self, seconds: float) -> Deadline:
        """A deadline of its own for a part of the call: so many seconds from now, and not after this one."""
        return Deadline(min(seconds, self.remaining()), self._cancelled)

    def sleep(self, seconds: float) -> None:
        """Waits, but not past the deadline."""
        self._cancelled.wait(min(seconds, self.remaining()))


class RetryBudget:
    """How many retries an endpoint may still get: a bucket of tokens, one per retry.

    A retry that was answered gets its token back, as in the standard mode of AWS's clients: a limit of rate that
    passes is no outage. Successes fill the bucket slowly beside, and so does time, so that an endpoint that is rarely
    used recovers too. In an outage of a minute no more than `capacity + 1` retries are made, however many calls
    there are.

    Args:
        capacity: tokens when full, as it is at the start: 6 is three calls of three tries each.
        per_success: tokens that a success gives back.
        per_second: tokens that time gives back.
    """

    def __init__(
        self, capacity: float = 6.0, *, per_success: float = 0.1, per_second: float = 1 / 60
    ) -> None:
        self._capacity = capacity
        self._per_success = per_success
        self._per_second = per_second
        self._tokens = capacity
        self._at = monotonic()
        self._lock = Lock()

    def _fill(self) -> None:
        now = monotonic()
        self._tokens = min(self._capacity, self._tokens + (now - self._at) * self._per_second)
        self._at = now

    def take(self) -> bool:
        """Whether one more retry is allowed; it counts as made."""
        with self._lock:
            self._fill()
            if self._tokens < 1.0:
                return False
            self._tokens -= 1.0
            return True

    def succeeded(self, taken: int = 0) -> None:
        """Notes that the endpoint answered, after so many retries that were taken from here."""
        with self._lock:
            self._fill()
            self._tokens = min(self._capacity, self._tokens + taken + self._per_success)


_budgets: dict[str, RetryBudget] = {}
_budgets_lock = Lock()


def budget_of(endpoint: str) -> RetryBudget:
    """The budget that all calls of this process to `endpoint` share."""
    with _budgets_lock:
        return _budgets.setdefault(endpoint, RetryBudget())


@dataclass(frozen=True, slots=True)
class Again:
    """What a classifier returns for a failure that may pass.

    Attributes:
        after: seconds that the service asked to wait, or None.
        outage: whether it is the service that fails, so that the retry is taken from the endpoint's budget; a
            conflict with another job is not.
    """

    after: float | None = None
    outage: bool = True


def backoff(retry: int, base: float, after: float | None = None) -> float:
    """Seconds to wait before retry number `retry` (0 is the first).

    Full jitter: uniform between 0 and `base * 2**retry` (Brooker, "Exponential Backoff And Jitter", AWS,
    2015), and at least what the service asked for.
    """
    wait = random.uniform(0.0, base * 2.0**retry)  # noqa: S311 - spreads load, hides nothing
    return wait if after is None else max(wait, after)


def retry_after(header: str | None) -> float | None:
    """Seconds that a `Retry-After` header asks for (RFC 9110 10.2.3: a number or a date), or None."""
    if not header:
        return None
    if header.isascii() and header.strip().isdigit():
        return float(header.strip())
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except (TypeError, ValueError):
        return None


def call(
    attempt: Callable[[Deadline], T],
    *,
    again: Callable[[Exception], Again | None],
    retries: int,
    base: float,
    deadline: Deadline,
    budget: RetryBudget | None = None,
) -> T:
    """What `attempt` returns, tried again while its failures may pass.

    The last failure is raised as it is: after `retries` retries, for a failure that is final, where the
    budget is spent, and where waiting would take longer than is left or than `RETRY_AFTER_CAP`.

    Args:
        attempt: takes the deadline that it must keep.
        again: says of a failure whether it may pass; None is final.
        retries: at most so many beyond the first attempt.
        base: seconds of the longest first wait; it doubles with each retry.
    """
    taken = 0
    for retry in range(retries + 1):
        try:
            value = attempt(deadline)
        except Exception as error:
            verdict = again(error)
            if verdict is None or retry == retries or (verdict.after or 0.0) > RETRY_AFTER_CAP:
                raise
            wait = backoff(retry, base, verdict.after)
            if wait >= deadline.remaining():
                raise
            if verdict.outage and budget is not None:
                if not budget.take():
                    raise
                taken += 1
            deadline.sleep(wait)
        else:
            if budget is not None:
                budget.succeeded(taken)
            return value
    raise AssertionError("retries must be 0 or more")
