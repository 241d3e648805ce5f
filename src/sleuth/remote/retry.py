"""Retries a call to a service within one deadline, as long as its failures may pass."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Literal, TypeVar

from sleuth.logs import logger_of
from sleuth.remote.cancellation import Deadline
from sleuth.remote.endpoints import Endpoint, Guard

T = TypeVar("T")

logger = logger_of("remote")

RETRY_AFTER_CAP = 30.0
"""Maximum seconds of a `Retry-After` that is waited for."""


@dataclass(frozen=True, slots=True)
class Again:
    """The verdict of a classifier on a failure that may pass.

    Attributes:
        after: seconds that the service asked to wait, or None.
        reason: "outage" if the connection broke or the service fails, "rate" if it limits its rate,
            "conflict" if other work blocks the request.
    """

    after: float | None = None
    reason: Literal["outage", "rate", "conflict"] = "outage"


def again_after(status: int, after: float | None = None) -> Again | None:
    """Return why a request that was answered with an HTTP status may succeed later; None where that is final.

    Args:
        after: seconds that the service asked to wait.
    """
    if status == 429:
        return Again(after, "rate")
    return Again(after) if status >= 500 else None


def backoff(retry: int, base: float, after: float | None = None) -> float:
    """Return the seconds to wait before retry number `retry` (0 is the first): `base`, doubled with each retry.

    Jitter adds up to half and never subtracts. The wait is at least what the service asked for.
    """
    wait = base * 2.0**retry * random.uniform(1.0, 1.5)  # noqa: S311 - spreads load, hides nothing
    return wait if after is None else max(wait, after)


def retry_after(header: str | None) -> float | None:
    """Return the seconds that a `Retry-After` header asks for (RFC 9110 10.2.3: a number or a date), or None."""
    if not header:
        return None
    if header.isascii() and header.strip().isdigit():
        return float(header.strip())
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except (TypeError, ValueError):
        return None


def advice(after: float | None) -> str:
    """Return when to ask a busy service again."""
    return "try again later" if after is None else f"try again in {after:,.0f} s"


def call(
    attempt: Callable[[Deadline], T],
    *,
    again: Callable[[Exception], Again | None],
    retries: int,
    base: float,
    deadline: Deadline,
    endpoint: Endpoint | None = None,
    guarded: bool = True,
) -> T:
    """Return what `attempt` returns, retried while its failures may pass.

    The last failure is raised unchanged: after `retries` retries, if it is final, if the service is down and its
    guard allows no retry, or if the wait would be longer than the time left or than `RETRY_AFTER_CAP`.

    Args:
        attempt: takes the deadline that it must keep.
        again: classifies a failure; None means that it is final.
        retries: maximum number after the first attempt.
        base: seconds of the first wait, before jitter; it doubles with each retry.
        endpoint: paces the attempts if the service limits its rate.
        guarded: whether the endpoint's guard may refuse retries during an outage.

    Raises:
        TurnError: the service limits its rate, and no attempt was possible in time.
    """
    service = endpoint or Endpoint()
    guard = service.guard if endpoint is not None and guarded else None
    service.guard.began()
    failure: Exception | None = None
    for retry in range(retries + 1):
        try:
            moment = service.pace.wait(deadline)
        except TimeoutError:
            if failure is None:
                raise
            break
        try:
            value = attempt(deadline)
        except Exception as error:  # noqa: BLE001 - raised below, unless another attempt succeeds
            failure, verdict = error, again(error)
        else:
            service.guard.answered()
            service.pace.accepted()
            return value
        if verdict is None:
            break
        if verdict.reason == "rate":
            service.pace.refused(moment, base, verdict.after)
        if verdict.reason != "outage":
            service.guard.answered()
        if retry == retries or not _wait(backoff(retry, base, verdict.after), verdict, guard, deadline):
            break
    try:
        raise failure if failure is not None else AssertionError("retries must be 0 or more")
    finally:
        failure = None  # its traceback holds this frame, which would hold it


def _wait(seconds: float, verdict: Again, guard: Guard | None, deadline: Deadline) -> bool:
    """Sleep before a retry; return False if no retry is allowed, or no time is left for it."""
    if (verdict.after or 0.0) > RETRY_AFTER_CAP or seconds >= deadline.remaining():
        return False
    if verdict.reason == "outage" and guard is not None and not guard.take():
        return False
    logger.info("waiting %.1f s before a retry (%s)", seconds, verdict.reason)
    deadline.sleep(seconds)
    return not deadline.passed()
