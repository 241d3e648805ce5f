"""Waits for conditions, bounds on time that hold on a busy machine, what a process has, and free ports."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Return once a condition holds.

    Raises:
        AssertionError: it does not hold within so many seconds.
    """
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"the condition did not hold within {seconds:g} s"
        time.sleep(0.01)


def latest(deadline: float) -> float:
    """Return the seconds that a call with a deadline may take.

    These are a minute more than its deadline, since other programs may use the machine; with SLEUTH_EXACT_TIMES
    (`make campaigns`), a tenth more and what it takes to wake a thread.
    """
    return deadline * 1.1 + 0.3 if "SLEUTH_EXACT_TIMES" in os.environ else deadline + 60.0


class Usage(NamedTuple):
    """What this process has: threads, and open descriptors."""

    threads: int
    descriptors: int

    @classmethod
    def now(cls) -> Usage:
        folder = Path("/proc/self/fd")  # not every system has it
        return cls(threading.active_count(), len(list(folder.iterdir())) if folder.is_dir() else 0)

    def is_within(self, most: Usage) -> bool:
        return self.threads <= most.threads and self.descriptors <= most.descriptors


def settle(most: Usage | None = None) -> Usage:
    """Return what this process has once others have ended their side, at most that much if it ever comes to it.

    Slow servers notice with their next byte, a second later; on a busy machine their threads end after their sockets.
    """
    until = time.monotonic() + 60.0
    last, now = None, Usage.now()
    while time.monotonic() < until and (now != last or (most is not None and not now.is_within(most))):
        time.sleep(0.3)
        last, now = now, Usage.now()
    return now


def free_port() -> int:
    """Return a port of loopback that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def listens(port: int) -> bool:
    """Return whether somebody listens on a port of loopback."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
