"""Waits for conditions, bounds on time that hold on a busy machine, and free ports."""

import os
import socket
import time
from collections.abc import Callable


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


def free_port() -> int:
    """Return a port of loopback that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
