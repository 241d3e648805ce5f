"""State that all calls of this process to one service share: its accepted rate, and whether it is down."""

from __future__ import annotations

import math
from collections import deque
from threading import Condition, Lock
from time import monotonic

from sleuth.remote.cancellation import Deadline

SLOWEST = 0.25
"""Minimum pace in requests a second: one per longest documented wait, so that a recovery is noticed."""
LONGEST_HOLD = 30.0
"""Maximum seconds without a request, whatever the service asks for."""
_LONGEST_WAIT = 3600.0
_LIFTED = 1000.0
"""Requests a second at which a pace stops being a limit."""


class TurnError(TimeoutError):
    """No turn came within a call's deadline, because the service limits its rate."""


class Pace:
    """Learns the rate that a service accepts; there is no limit until it refuses a request for its rate.

    It uses additive increase and multiplicative decrease with a slow start, as TCP's congestion control does
    (RFC 5681). The first refusal sets the rate to one request per first wait of the caller. Each success doubles the
    rate up to the ceiling, a share of the last refused rate, and then adds to both slowly. Refusals without a success
    between them halve the rate but not the ceiling, so that the rate recovers quickly with the service. Callers take
    turns in the order of their arrival.
    """

    DECREASE = 0.7
    """A refusal at the ceiling multiplies the rate and the ceiling by this."""
    INCREASE = 0.02
    """Requests a second that each success at the ceiling adds to the rate and the ceiling."""

    def __init__(self) -> None:
        self.rate = math.inf  # requests a second; infinite without a limit
        self._ceiling = math.inf
        self._next = 0.0
        self._slowed = -math.inf
        self._has_accepted = False
        self._queue: deque[object] = deque()
        self._turns = Condition(Lock())

    def wait(self, deadline: Deadline) -> float:
        """Wait for a turn; return the time at which it came, in seconds of `monotonic`.

        Raises:
            TurnError: it did not come before the deadline.
        """
        ticket = object()
        with deadline.cancellation.closing(self._wake), self._turns:
            self._queue.append(ticket)
            try:
                while True:
                    now, place = monotonic(), self._queue.index(ticket)
                    if place == 0 and now >= self._next:
                        self._next = now + 1 / self.rate
                        return now
                    remaining, ahead = deadline.remaining(), max(0.0, self._next - now) + place / self.rate
                    # The rate may grow while callers wait, but not while every request is refused.
                    is_hopeless = ahead > remaining and (place == 0 or not self._has_accepted)
                    if remaining == 0 or is_hopeless:
                        raise TurnError(
                            f"the service limits its rate, now to {self.rate:.2g} requests a second: no turn in time"
                        )
                    self._turns.wait(min(remaining, self._next - now if place == 0 else _LONGEST_WAIT))
            finally:
                self._queue.remove(ticket)
                self._turns.notify_all()

    def _wake(self) -> None:
        with self._turns:
            self._turns.notify_all()

    def refused(self, moment: float, wait: float, after: float | None) -> None:
        """Record that the service refused a request for its rate.

        Args:
            moment: when it was sent, as `wait` returned it. Requests before the last decrease cause no further one.
            wait: seconds before the first retry; the first rate is one request per this wait.
            after: seconds that the service asked to wait.
        """
        with self._turns:
            now = monotonic()
            if moment > self._slowed:
                if self.rate == math.inf:
                    self.rate = 1 / wait if wait > 0 else math.inf
                elif not self._has_accepted:
                    self.rate = max(self.rate / 2, SLOWEST)
                else:
                    # Below the ceiling the rate was doubled once too often; at it, it grew slowly, a little too far.
                    share = 0.5 if self.rate < self._ceiling else self.DECREASE
                    self._ceiling = self.rate = max(self.rate * share, SLOWEST)
                self._has_accepted = False
                self._slowed = now
            self._next = max(self._next, now + max(min(after or 0.0, LONGEST_HOLD), 1 / self.rate))
            self._turns.notify_all()

    def accepted(self) -> None:
        """Raise the rate, if it is limited, after a request that was not refused for its rate.

        Double it up to the ceiling; at the ceiling add `INCREASE` to both. Lift the limit at 1,000 requests a second.
        """
        if self.rate == math.inf:
            return
        with self._turns:
            self._has_accepted = True
            if self.rate < self._ceiling:
                self.rate = min(2 * self.rate, self._ceiling)
            else:
                self.rate = self._ceiling = self.rate + self.INCREASE
            if self.rate >= _LIFTED:
                self.rate = self._ceiling = math.inf


class Guard:
    """Limits the retries while a service is down: while connections break or every answer is 5xx.

    A token bucket with one token per retry. One answered request fills it, so that no retry is refused while the
    service answers some requests; during an outage each request adds a fraction of a token.

    Args:
        capacity: tokens when full: one call's retries and one more.
        per_request: tokens that a request adds, so that attempts per request stay below 1.1 in a long outage.
    """

    def __init__(self, capacity: float = 4.0, per_request: float = 0.05) -> None:  # one retry in 20 requests
        self._capacity = capacity
        self._per_request = per_request
        self._tokens = capacity
        self._lock = Lock()

    def began(self) -> None:
        """Record a request, of one attempt or several."""
        with self._lock:
            self._tokens = min(self._capacity, self._tokens + self._per_request)

    def answered(self) -> None:
        """Record that the service is up."""
        self._tokens = self._capacity

    def take(self) -> bool:
        """Take one token and return True if this outage allows one more retry."""
        with self._lock:
            if self._tokens < 1.0:
                return False
            self._tokens -= 1.0
            return True


class Endpoint:
    """The pace and the guard of one service."""

    def __init__(self) -> None:
        self.pace = Pace()
        self.guard = Guard()


_endpoints: dict[str, Endpoint] = {}
_lock = Lock()


def endpoint_at(address: str) -> Endpoint:
    """Return the state that all calls of this process share for the service at `address`."""
    with _lock:
        return _endpoints.setdefault(address, Endpoint())


def forget_endpoints() -> None:
    """Forget every rate and outage, as a new process would."""
    with _lock:
        _endpoints.clear()
