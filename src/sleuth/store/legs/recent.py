"""Values that were used last, kept in memory up to a limit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentValues(Generic[K, V]):
    """Values by key, the least recently used dropped first. Safe to share between threads.

    Args:
        limit: what all values may take together.
        size_of: returns what a value takes.
    """

    def __init__(self, limit: int, size_of: Callable[[V], int] = lambda _: 1) -> None:
        self._limit, self._size_of, self._size = limit, size_of, 0
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value, if it is still there."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Keep a value, and drop others until the limit is kept."""
        with self._lock:
            former = self._values.pop(key, None)
            self._size += self._size_of(value) - (0 if former is None else self._size_of(former))
            self._values[key] = value
            while self._size > self._limit:
                _, oldest = self._values.popitem(last=False)
                self._size -= self._size_of(oldest)

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()
            self._size = 0
