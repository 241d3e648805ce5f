"""How many examples tests of properties try."""

import os

EXPLORING = "SLEUTH_EXPLORE" in os.environ
"""Whether other examples are tried on each run, and all of them (`make campaigns`)."""


def examples(number: int) -> int:
    """Return how many of so many examples are tried: all while exploring, else a fifth and at least eight."""
    return number if EXPLORING else max(8, number // 5)
