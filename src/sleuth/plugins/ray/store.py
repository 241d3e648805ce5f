"""A published index as a store whose shards are asked over Ray; pins a version for each query, rolls out new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

from sleuth.cluster import Manifest
from sleuth.cluster.shards import GatheredSnapshot, ShardAnswers
from sleuth.cluster.storage import Address, ObjectFolder, find_version
from sleuth.errors import StoreError
from sleuth.filters import Filter
from sleuth.plugins.ray.router import Router
from sleuth.remote import Deadline
from sleuth.store import Counts, Status


@dataclass(frozen=True, slots=True)
class RayShards:
    """One published version of all shards, asked through a router: `Shards`."""

    router: Router
    manifest: Manifest
    scope: Filter | None = None

    def scoped(self, scope: Filter) -> RayShards:
        """Return them as a scope narrows each."""
        return replace(self, scope=scope)

    @property
    def names(self) -> Sequence[str]:
        """By number of the shard."""
        return self.router.names

    @property
    def versions(self) -> tuple[int, ...]:
        """The number of the published version, and the version of each shard."""
        return (self.manifest.number, *(part.version for part in self.manifest.parts))

    @property
    def generation(self) -> Hashable:
        """The same: what is published never changes."""
        return self.versions

    def ask(
        self, question: str, arguments: Mapping[int, Sequence[Any]], deadline: Deadline | None = None
    ) -> ShardAnswers:
        """Ask some shards the same question."""
        return self.router.ask(self.manifest.number, question, arguments, deadline, scope=self.scope)


class RayStore:
    """A published index over searchers: what `Engine` asks of a `Store`, read-only. Safe to share between threads.

    Attributes:
        router: asks the searchers.
        path: the address.
    """

    def __init__(self, router: Router, source: Address, objects: ObjectFolder, manifest: Manifest) -> None:
        """Create a store at a version, which the searchers load.

        Raises:
            SleuthError: they cannot.
        """
        self.router = router
        self.path = Path(str(source))
        self._source, self._objects = source, objects
        self._manifest = manifest
        self._users: Counter[int] = Counter()
        self._lock = Lock()
        self._rolling = Lock()
        router.load(manifest.number)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the index was made with."""
        return self._manifest.settings

    @property
    def version(self) -> int:
        """Grows with every version that is published."""
        return sum(RayShards(self.router, self._manifest).versions)

    @contextmanager
    def reader(self) -> Iterator[GatheredSnapshot]:
        """Yield the current version of all shards, which stays open for the length of a block."""
        with self._lock:
            manifest = self._manifest
            self._users[manifest.number] += 1
        try:
            yield GatheredSnapshot(RayShards(self.router, manifest))
        finally:
            with self._lock:
                self._users[manifest.number] -= 1
                is_over = manifest is not self._manifest and not self._users[manifest.number]
            if is_over:
                self.router.drop(manifest.number)

    def roll_out(self) -> int | None:
        """Go over to the newest published version; searcher after searcher loads it, then all queries use it.

        Returns:
            Its number; None where it is in use already.

        Raises:
            SleuthError: it cannot be loaded; queries go on with the one before.
        """
        with self._rolling:
            manifest = find_version(Address(self._source.url), self._objects)
            if manifest.number <= self._manifest.number:
                return None
            if manifest.shards != self._manifest.shards or manifest.settings != self._manifest.settings:
                raise StoreError(
                    f"{self._source.url}@{manifest.number} has other shards or settings than "
                    f"{self._manifest.number}: start the server anew",
                    path=str(self._source),
                )
            self.router.load(manifest.number)
            with self._lock:
                former_manifest, self._manifest = self._manifest, manifest
                is_over = not self._users[former_manifest.number]
            if is_over:
                self.router.drop(former_manifest.number)
            return manifest.number

    def writer(self, *, timeout: float = 10.0) -> NoReturn:
        """Refuse to write.

        Raises:
            StoreError: always.
        """
        raise StoreError(
            f"{self._source} is read-only: `sleuth cluster index {self._source.url} SOURCE…` adds to it",
            path=str(self._source),
        )

    def status(self) -> Status:
        """Counts and bytes of the version that is served."""
        manifest = self._manifest
        return Status(
            path=str(self._source),
            format=0,
            version=self.version,
            counts=Counts(manifest.documents, manifest.passages),
            record_bytes=manifest.size,
            legs=(),
            tombstones=0,
            settings=manifest.settings,
            holder=None,
            damage=(),
        )

    def serving(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return what `METRICS` shows: gauges, and the counts of events since the start."""
        return {"published_version": self._manifest.number, **self.router.serving()}, dict(self.router.counts)

    def wait(self) -> None:
        """Do nothing: a published version has no merges."""

    def compact(self) -> None:
        """Refuse to write."""
        self.writer()

    def close(self, *, finish: bool = True) -> None:
        """End the searchers."""
        self.router.close()
