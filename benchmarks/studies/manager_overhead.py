"""What does the manager with ten hooks cost a call, beside the retrieval itself?

    python benchmarks/studies/manager_overhead.py

Interleaves the retriever alone with `execute_retrieve` over it and ten hooks that keep their result, and
prints the medians and their difference. Bar: under 50 microseconds.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Any

from sleuth.hooks import Morpheus
from sleuth.manager import RETRIEVE, RetrievalManager
from sleuth.results import RetrievedItem, RetrieveResult
from sleuth.types import Ranking

ROUNDS = 20_000


class Ready:
    """A retriever that has its ranking ready."""

    def __init__(self, n: int) -> None:
        text = "a passage of some length " * 10
        self.ranking = Ranking([RetrievedItem(id=f"d{i}", text=text, score=1.0) for i in range(n)])

    def retrieve(self, query: str, k: int = 10, *, filter: Any = None) -> Ranking:
        return self.ranking


def keep(result: RetrieveResult, *args: Any, rag2f: Any) -> None:
    """A hook that changes nothing."""


def main() -> None:
    retriever, registry = Ready(10), Morpheus()
    for priority in range(-5, 5):
        registry.on(RETRIEVE, keep, priority=priority)
    manager = RetrievalManager.over(retriever, morpheus=registry)
    alone, managed = [], []
    for _ in range(ROUNDS):
        start = perf_counter()
        retriever.retrieve("how does it work", 10)
        middle = perf_counter()
        manager.execute_retrieve("how does it work", 10)
        managed.append(perf_counter() - middle)
        alone.append(middle - start)
    without, with_hooks = median(alone) * 1e6, median(managed) * 1e6
    print(f"retriever alone {without:.1f} µs, managed with ten hooks {with_hooks:.1f} µs", end=", ")
    print(f"overhead {with_hooks - without:.1f} µs a call (median of {ROUNDS}, ten items)")


if __name__ == "__main__":
    main()
