"""Keeps recent answers of one version of the index, up to a number of bytes."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Hashable

_LARGEST = 16
"""An answer larger than this part of the cache is not kept: it would push out too many others."""

_ENTRY_BYTES = 200
"""What an entry takes besides its question and its answer."""


class AnswerCache:
    """Answers by question, the least recently used ones dropped first. For one thread.

    Answers are those of one version of the index, named by a stamp: with another stamp all of them are dropped, so
    that neither a text that was deleted nor an answer that changed is kept.

    Attributes:
        capacity: bytes that all answers take at most; 0 keeps none.
        size: bytes that they take.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity, self.size = capacity, 0
        self._stamp: Hashable = None
        self._answers: OrderedDict[Hashable, bytes] = OrderedDict()

    def get(self, question: Hashable, stamp: Hashable) -> bytes | None:
        """Return the answer of the version with this stamp; None where it is not kept."""
        if stamp != self._stamp:
            self._answers.clear()
            self._stamp, self.size = stamp, 0
            return None
        answer = self._answers.get(question)
        if answer is not None:
            self._answers.move_to_end(question)
        return answer

    def put(self, question: Hashable, stamp: Hashable, answer: bytes) -> None:
        """Keep an answer, if nobody has asked a newer version since."""
        size = _size_of(question, answer)
        if stamp != self._stamp or size * _LARGEST > self.capacity or question in self._answers:
            return
        self._answers[question] = answer
        self.size += size
        while self.size > self.capacity:
            self.size -= _size_of(*self._answers.popitem(last=False))


def _size_of(question: Hashable, answer: bytes) -> int:
    parts = question if isinstance(question, tuple) else (question,)
    return _ENTRY_BYTES + sum(map(sys.getsizeof, parts)) + sys.getsizeof(answer)
