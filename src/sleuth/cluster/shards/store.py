"""The shards of a folder as one store: what `Engine` asks of a `Store`, asked of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sleuth.cluster.shards.shard import LocalShard, ShardIndex
from sleuth.cluster.shards.shards import LocalShards
from sleuth.cluster.shards.snapshot import GatheredSnapshot
from sleuth.cluster.shards.writing import ShardedWriter
from sleuth.engine.index import IndexBackend
from sleuth.store import Counts, Status
from sleuth.store.record.values import LegStatus
from sleuth.store.store import readers


class ShardedStore:
    """All shards of an index folder, each open in an `IndexBackend`. Safe to share between threads.

    Attributes:
        path: the folder.
        settings: those of every shard.
        indexes: by number of the shard.
        names: of the shards.
    """

    def __init__(self, path: Path, indexes: Sequence[IndexBackend], names: Sequence[str]) -> None:
        """Create a store over open indexes, which it closes."""
        self.path = path
        self.indexes = tuple(indexes)
        self.names = tuple(names)
        self.settings: Mapping[str, Any] = indexes[0].settings.to_dict()
        self._searched = [ShardIndex(index) for index in indexes]
        self._stores = [index.store for index in indexes]

    @property
    def version(self) -> int:
        """Grows with every commit of a shard."""
        with self.reader() as snapshot:
            return snapshot.version

    @contextmanager
    def reader(self) -> Iterator[GatheredSnapshot]:
        """Yield the newest version of each shard, unchanging for the length of a block. Never waits for a writer."""
        with readers(self._stores) as snapshots:
            shards = list(map(LocalShard, self._searched, snapshots))
            yield GatheredSnapshot(LocalShards(shards, self.names))

    @contextmanager
    def writer(self, *, timeout: float = 10.0) -> Iterator[ShardedWriter]:
        """Become the one writer of all shards for the length of a block; locks are taken in order of number."""
        with ExitStack() as stack:
            writers = [stack.enter_context(index.store.writer(timeout=timeout)) for index in self.indexes]
            writer = ShardedWriter(writers)
            yield writer
            writer.commit()

    def status(self) -> Status:
        """Sum the status of all shards."""
        parts = [index.store.status() for index in self.indexes]
        return Status(
            path=str(self.path),
            format=parts[0].format,
            version=sum(part.version for part in parts),
            counts=Counts(*map(sum, zip(*(part.counts for part in parts), strict=True))),
            record_bytes=sum(part.record_bytes for part in parts),
            legs=tuple(map(_sum_legs, zip(*(part.legs for part in parts), strict=True))),
            tombstones=sum(part.tombstones for part in parts),
            settings=self.settings,
            holder=next((part.holder for part in parts if part.holder), None),
            changed_at=max((part.changed_at for part in parts if part.changed_at is not None), default=None),
            damage=tuple(
                f"{name}: {text}"
                for name, part in zip(self.names, parts, strict=True)
                for text in part.damage
            ),
        )

    def wait(self) -> None:
        """Wait until all merges that are due are done."""
        for index in self.indexes:
            index.store.wait()

    def compact(self) -> None:
        """Merge each leg of each shard into one segment."""
        for index in self.indexes:
            index.store.compact()

    def close(self, *, finish: bool = True) -> None:
        """Close all shards. Closing twice is fine."""
        with ExitStack() as stack:
            for index in self.indexes:
                stack.callback(index.close, finish=finish)


def _sum_legs(legs: Sequence[LegStatus]) -> LegStatus:
    numbers = (sum(values) for values in zip(*(leg[2:] for leg in legs), strict=True))
    fingerprint = next((leg.fingerprint for leg in legs if leg.fingerprint), "")
    return LegStatus(legs[0].name, fingerprint, *numbers)
