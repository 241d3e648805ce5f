"""Where are vectors of a build over Ray best made, and how do documents best come to the builders of their shards?

python -m benchmarks.studies.cluster_vectors [--passages 20000] [--shards 4]

With 1 and 2 processors for Ray: the default embedder in builders, and in tasks that hand its vectors over; batches of
documents sent to actors at once, and shuffled by Ray Data first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from benchmarks import passages
from sleuth.cluster.ray import ray_session

BATCH = 1000
"""Passages that a reader sends at a time, as in a build."""


class Builder:
    """Takes batches, and embeds them where no vectors come with them; a Ray actor."""

    def __init__(self) -> None:
        from sleuth.dense import WordLlamaEmbedder

        self._embedder = WordLlamaEmbedder()

    def take(self, data: bytes) -> int:
        from sleuth.cluster.shards.wire import decode

        texts, vectors = decode(data)
        if vectors == ():
            self._embedder.read(texts)
        return len(texts)


def send(texts: Sequence[str], builder: Any, in_task: bool) -> int:
    """Embed a batch here or let the builder do it; a Ray task."""
    import numpy as np
    import ray

    from sleuth.cluster.shards.wire import encode
    from sleuth.dense import WordLlamaEmbedder

    handed: tuple[Any, ...] = ()
    if in_task:
        embedding = WordLlamaEmbedder().read(texts)
        handed = (embedding.vectors.astype(np.float16), embedding.tokens, embedding.sizes)
    count: int = ray.get(builder.take.remote(encode((list(texts), handed))))
    return count


def deliver(rows: dict[str, Any], builders: Sequence[Any]) -> dict[str, list[int]]:
    """Send each batch to the builder of its shard; a task of Ray Data."""
    import ray

    pairs = zip(rows["shard"], rows["batch"], strict=True)
    tasks = [builders[int(shard) % len(builders)].take.remote(bytes(batch)) for shard, batch in pairs]
    return {"count": [sum(ray.get(tasks))]}


def cut(rows: dict[str, Any], shards: int) -> dict[str, list[Any]]:
    """Encode a batch for each shard, as if it held vectors; a task of Ray Data."""
    from sleuth.cluster.shards.wire import encode

    batches: dict[str, list[Any]] = {"shard": [], "batch": []}
    for texts in rows["texts"]:
        lines = str(texts).split("\n")
        for shard in range(shards):
            batches["shard"].append(shard)
            batches["batch"].append(encode((lines[shard::shards], (0,))))
    return batches


def batches_of(texts: Sequence[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while batch := list(islice(rest, BATCH)):
        yield batch


def embed(ray: Any, texts: Sequence[str], workers: int) -> Iterator[float]:
    """Yield the seconds of embedding in builders, and in tasks."""
    builders = [ray.remote(Builder).options(num_cpus=0).remote() for _ in range(workers)]
    task = ray.remote(send)
    for in_task in (False, True):
        for part in (texts[: BATCH * workers], texts):  # the first time processes start
            started = time.perf_counter()
            some = enumerate(batches_of(part))
            ray.get([task.remote(batch, builders[i % workers], in_task) for i, batch in some])
            seconds = time.perf_counter() - started
        yield seconds


def shuffle(ray: Any, texts: Sequence[str], workers: int, shards: int) -> Iterator[float]:
    """Yield the seconds of sending batches at once, and of shuffling them by shard before."""
    builders = [ray.remote(Builder).options(num_cpus=0).remote() for _ in range(workers)]
    for shuffled in (False, True):
        for part in (texts[: BATCH * workers], texts):
            rows = [{"texts": "\n".join(batch)} for batch in batches_of(part)]
            started = time.perf_counter()
            data = ray.data.from_items(rows, override_num_blocks=min(len(rows), 2 * workers))
            data = data.map_batches(cut, batch_size=1, fn_kwargs={"shards": shards})
            options = {"builders": builders}
            if shuffled:
                results = data.groupby("shard").map_groups(deliver, fn_kwargs=options)
            else:
                results = data.map_batches(deliver, batch_size=shards, fn_kwargs=options)
            assert sum(row["count"] for row in results.iter_rows()) == len(part)
            seconds = time.perf_counter() - started
        yield seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--shards", type=int, default=4)
    options = parser.parse_args()
    path = passages.passages(options.passages)
    with path.open(encoding="utf8") as lines:
        texts = [line.rstrip("\n") for line in islice(lines, options.passages)]
    print(
        "| processors | embedded in builders, s | in tasks, handed over, s | sent, s | shuffled before, s |"
    )
    print("|---|---|---|---|---|")
    for workers in (1, 2):
        with ray_session(cpus=workers) as ray:
            seconds = [*embed(ray, texts, workers), *shuffle(ray, texts, workers, options.shards)]
        print(f"| {workers} | {' | '.join(f'{each:.2f}' for each in seconds)} |", flush=True)


if __name__ == "__main__":
    main()
