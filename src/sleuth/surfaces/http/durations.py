"""Says which searches are so short that passing them to a thread costs more than doing them at once."""

from __future__ import annotations

SHORT = 0.01
"""Seconds that a short search takes at most: so long may the event loop do nothing else."""

_WEIGHT = 0.2
"""Part that the last search has in the mean."""


class Durations:
    """The moving mean of the seconds of searches, by kind. Threads may lose an update of each other.

    A kind that nobody has asked for yet is not short.
    """

    def __init__(self) -> None:
        self._means: dict[str, float] = {}

    def note(self, kind: str, seconds: float) -> None:
        """Take a search into account."""
        mean = self._means.get(kind, seconds)
        self._means[kind] = mean + _WEIGHT * (seconds - mean)

    def is_short(self, kind: str) -> bool:
        """Return whether searches of a kind were short lately."""
        return self._means.get(kind, SHORT) < SHORT
