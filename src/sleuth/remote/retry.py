"""Tries a call to a service again while its failure may pass, within one deadline."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Literal, TypeVar

from sleuth.remote.deadline import Deadline
from sleuth.remote.endpoints import Endpoint

T = TypeVar("T")

RETRY_AFTER_CAP = 30.0
"""Seconds: a service that asks for more is not waited for."""


@dataclass(frozen=True, slots=True)
class Again:
    """What a classifier returns for a failure that may pass.

    Attributes:
        after: seconds that the service asked to wait, or None.
        reason: "outage" where the connection broke or the service fails, "rate" where it limits its rate,
            "conflict" where other work is in the way.
    """

    after: float | None = None
    reason: Literal["outage", "rate", "conflict"] = "outage"


def backoff(retry: int, base: float, after: float | None = None) -> float:
    """Seconds to wait before retry number `retry` (0 is the first): `base`, doubled with each retry.

    Jitter adds up to half and never subtracts. At least what the service asked for.
    """
    wait = base * 2.0**retry * random.uniform(1.0, 1.5)  # noqa: S311 - spreads load, hides nothing
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
    endpoint: Endpoint | None = None,
    guarded: bool = True,
) -> T:
    """Return what `attempt` returns, tried again while its failures may pass.

    The last failure is raised as it is: after `retries` retries, for a failure that is final, where the service is
    down and its guard allows no retry, and where waiting would take longer than is left or than `RETRY_AFTER_CAP`.

    Args:
        attempt: takes the deadline that it must keep.
        again: says of a failure whether it may pass; None is final.
        retries: at most so many beyond the first attempt.
        base: seconds of the first wait, before jitter; it doubles with each retry.
        endpoint: paces the attempts where the service limits its rate.
        guarded: whether the endpoint's guard may refuse retries during an outage.

    Raises:
        TurnError: the service limits its rate, and no attempt could be made in time.
    """
    service = endpoint or Endpoint()
    guard = service.guard if endpoint is not None and guarded else None
    service.guard.began()
    failure: Exception | None = None
    for retry in range(retries + 1):
        try:
            sent = service.pace.wait(deadline)
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
            service.pace.refused(sent, base, verdict.after)
        if verdict.reason != "outage":
            service.guard.answered()
        wait = backoff(retry, base, verdict.after)
        if retry == retries or (verdict.after or 0.0) > RETRY_AFTER_CAP or wait >= deadline.remaining():
            break
        if verdict.reason == "outage" and guard is not None and not guard.take():
            break
        deadline.sleep(wait)
        if deadline.passed():
            break
    try:
        raise failure if failure is not None else AssertionError("retries must be 0 or more")
    finally:
        failure = None  # its traceback holds this frame, which would hold it
