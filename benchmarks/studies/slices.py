"""How much longer do two slices take than the slower of them alone?

    python benchmarks/studies/slices.py [--rounds 5]

A query with a filter asks a knowledge base twice at once. Measured beside each other, round by round, at 1,
10 and 100
concurrent callers: the wall time of a call of two slices, and of a call of the slower slice alone. Two
clients: one that only waits, so that what is measured is our own cost, and boto3 over a socket to a local
server of the service, on the same cores. Then how far a call of a hanging service overshoots its deadline.
Medians; the bars are 1.15 and 1.10.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

from sleuth import Document, Engine
from sleuth.errors import KnowledgeBaseError
from sleuth.knowledge_base import LocalKnowledgeBase, MultiSliceRetriever
from sleuth.testing.aws import BedrockServer

KB, DS = "KB12345678", "DS12345678"
FILTER = {"topic": {"$eq": "genealogy"}}
FAST, SLOW = 0.15, 0.25
"""Seconds that the two slices take at the service, about what its users report."""


class Waiting:
    """A client that answers after the time that each slice takes."""

    def retrieve(self, **request: Any) -> dict[str, Any]:
        time.sleep(seconds(request))
        return {"retrievalResults": []}


def seconds(request: Mapping[str, Any]) -> float:
    """The filtered slice is the slower one."""
    search = request["retrievalConfiguration"]["vectorSearchConfiguration"]
    return SLOW if "andAll" in search["filter"] else FAST


def wall(pool: ThreadPoolExecutor, callers: int, call: Callable[[], Any]) -> float:
    """Median seconds of a call, made by so many callers at once."""
    go = Event()

    def timed() -> float:
        go.wait()
        started = time.perf_counter()
        call()
        return time.perf_counter() - started

    running = [pool.submit(timed) for _ in range(callers)]
    go.set()
    return median(one.result() for one in running)


def compare(name: str, client: Any, rounds: int) -> None:
    both = MultiSliceRetriever(client, timeout_seconds=30.0)
    slower = MultiSliceRetriever(client, timeout_seconds=30.0, enabled=False)
    for callers in (1, 10, 100):
        with ThreadPoolExecutor(callers) as pool:
            pairs = []
            for _ in range(rounds + 1):  # the first warms threads and connections up
                alone = wall(pool, callers, lambda: slower.retrieve("judy", KB, DS, FILTER))
                pairs.append((alone, wall(pool, callers, lambda: both.retrieve("judy", KB, DS, FILTER))))
        alone, two = (median(pair[side] for pair in pairs[1:]) for side in (0, 1))
        ratio = median(pair[1] / pair[0] for pair in pairs[1:])
        print(f"| {name} | {callers} | {alone * 1000:.1f} | {two * 1000:.1f} | {ratio:.3f} |")


def overshoot(client: Any, rounds: int) -> None:
    print("\n| deadline s | callers | wall s | of the deadline |\n|---|---|---|---|")
    for deadline in (0.5, 1.0):
        retriever = MultiSliceRetriever(client, timeout_seconds=deadline)

        def hang(retriever: MultiSliceRetriever = retriever) -> None:
            try:
                retriever.retrieve("judy", KB, DS, FILTER)
            except KnowledgeBaseError:
                return
            raise AssertionError("a hanging service must not answer")

        for callers in (1, 10, 100):
            with ThreadPoolExecutor(callers) as pool:
                took = median(wall(pool, callers, hang) for _ in range(rounds))
            print(f"| {deadline} | {callers} | {took:.3f} | {took / deadline:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("| client | callers | slower slice ms | two slices ms | ratio |\n|---|---|---|---|---|")
    compare("waits only", Waiting(), rounds)
    with (
        TemporaryDirectory() as folder,
        Engine.open(Path(folder) / "index", create=True) as engine,
        BedrockServer(LocalKnowledgeBase(engine)) as server,
    ):
        engine.add([Document("judy", {"topic": "genealogy"}, id="s3://bucket/judy.txt")])
        server.rules.append(lambda operation, params: seconds(params))
        compare(
            "boto3, local server", server.client("bedrock-agent-runtime", max_pool_connections=256), rounds
        )
        server.rules[:] = [lambda operation, params: 3.0]
        overshoot(server.client("bedrock-agent-runtime", max_pool_connections=256), max(2, rounds // 2))


if __name__ == "__main__":
    main()
