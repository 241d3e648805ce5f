"""One deadline for a whole call, handed down to every attempt and wait in it."""

from __future__ import annotations

import math
from time import monotonic

from sleuth.remote.cancellation import Cancellation, current_cancellation


class Deadline:
    """A point in time that a whole call shares.

    Args:
        seconds: from now on; None never passes.
        cancellation: makes waits end and the deadline count as passed; that of the current async call by default.

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
        """Begins anew: `seconds` from now. For streams, where a deadline bounds silence."""
        self._end = math.inf if self.seconds is None else monotonic() + self.seconds

    def remaining(self) -> float:
        """Seconds left, 0 where none are; infinite without a limit."""
        return 0.0 if self.cancellation.requested else max(0.0, self._end - monotonic())

    def passed(self) -> bool:
        """Whether no time is left."""
        return self.remaining() == 0.0

    def within(self, seconds: float) -> Deadline:
        """A deadline of its own for a part of the call: so many seconds from now, and not after this one."""
        return Deadline(min(seconds, self.remaining()), self.cancellation)

    def sleep(self, seconds: float) -> None:
        """Waits, but not past the deadline."""
        self.cancellation.wait(min(seconds, self.remaining()))
