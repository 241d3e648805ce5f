"""How many examples tests of properties try."""

from __future__ import annotations

import os

EXPLORING = "SLEUTH_EXPLORE" in os.environ
"""Whether other examples are tried on each run, and all of them (`make campaigns`)."""


def examples(number: int) -> int:
    """Return how many of so many examples are tried: all while exploring, else a third and at least ten."""
    return number if EXPLORING else max(10, number // 3)
