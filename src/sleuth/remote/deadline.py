"""One deadline for a whole call, handed down to every attempt and wait in it."""

from __future__ import annotations

import math
from time import monotonic

from sleuth.remote.cancellation import Cancellation, current_cancellation


class Deadline:
    """A point in time that a whole call shares.

    Args:
        seconds: from now on; None never passes.
        cancellation: ends waits and makes the deadline pass; by default that of the current async call.

    Attributes:
        seconds, cancellation: as given.
    """

    __slots__ = ("_end", "cancellation", "seconds")

    def __init__(self, seconds: float | None, cancellation: Cancellation | None = None) -> None:
        self.seconds = seconds
        self.cancellation = cancellation or current_cancellation() or Cancellation()
        self._end = math.inf
        self.renew()

    def renew(self) -> None:
        """Restart the deadline: `seconds` from now. For streams, where a deadline bounds silence."""
        self._end = math.inf if self.seconds is None else monotonic() + self.seconds

    def remaining(self) -> float:
        """Return the remaining seconds, 0 after the deadline; infinite without a limit."""
        return 0.0 if self.cancellation.requested else max(0.0, self._end - monotonic())

    def passed(self) -> bool:
        """Tell whether no time is left."""
        return self.remaining() == 0.0

    def within(self, seconds: float) -> Deadline:
        """Return a deadline for a part of the call: `seconds` from now, but not later than this one."""
        return Deadline(min(seconds, self.remaining()), self.cancellation)

    def sleep(self, seconds: float) -> None:
        """Wait, but not past the deadline."""
        self.cancellation.wait(min(seconds, self.remaining()))
