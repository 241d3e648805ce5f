"""An engine over a published index whose shards are owned by searchers on Ray.

Its store pins a version for each query, and rolls out new ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import Any, NoReturn

from sleuth.cluster import GatheredBackend, Manifest
from sleuth.cluster.shards import GatheredSnapshot, ShardAnswers, ShardsMissingError
from sleuth.cluster.storage import Address, ObjectFolder, find_version
from sleuth.engine import Engine, open_embedder, open_legs
from sleuth.errors import SleuthError, StoreError
from sleuth.filters import Filter, as_filter
from sleuth.logs import logger_of
from sleuth.plugins.ray.router import Router, RouterOptions
from sleuth.plugins.ray.session import ray_session, reconnect
from sleuth.protocols import Embedder
from sleuth.remote import THREADS, Deadline
from sleuth.settings import IndexSettings
from sleuth.store import Counts, Finding, Repair, Status
from sleuth.types import Ranking

logger = logger_of("cluster")

_ATTEMPTS = 3
"""Most restarts of a query because a searcher died between two of its questions."""


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

    generation = versions  # what is published never changes

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


class RayBackend(GatheredBackend):
    """A published index, read-only, whose shards are asked over Ray.

    Rankings equal those of one index. Shards that do not answer are missing from a ranking, which says so in
    `Ranking.failures`.
    """

    def __init__(self, store: RayStore, embedder: Embedder | None) -> None:
        """Create a backend over searchers, and what embeds queries."""
        legs = open_legs(IndexSettings.from_dict(store.settings), embedder)
        super().__init__(store, len(store.router.names), legs, embedder=embedder)
        self.served = store

    def ask(self, search: Callable[[], Ranking]) -> Ranking:
        """Run a search; run it again without the shards whose searcher died meanwhile."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return search()
            except ShardsMissingError as error:
                logger.warning("a query is begun anew: %s", error)
        return search()

    def embed(self, progress: Callable[[int, int], None] | None, *, timeout: float) -> int:
        """Return 0: a published index has all its vectors."""
        return 0

    def check(self, *, full: bool) -> list[Finding]:
        """Name the searchers that are not up."""
        mend = "wait until it is revived, or serve with --replicas 2"
        return [
            Finding("error", searcher["name"], f"is lost; it owns {', '.join(searcher['shards'])}", mend)
            for searcher in self.served.router.status()["searchers"]
            if not searcher["up"]
        ]

    def repair(self) -> list[Repair]:
        """Return nothing: searchers are revived by themselves."""
        return []

    def status(self) -> dict[str, Any]:
        """Counts and versions, and which searchers are up; plain values, fit for JSON."""
        return {**super().status(), **self.served.router.status()}


class RayEngine(Engine):
    """An engine over searchers on Ray; users call `serve_from_ray`."""

    backend: RayBackend

    def roll_out(self) -> int | None:
        """Go over to the newest published version; see `RayStore.roll_out`."""
        return self.backend.served.roll_out()


@contextmanager
def serve_from_ray(
    address: str,
    *,
    ray_address: str | None = None,
    options: RouterOptions | None = None,
    scope: Filter | Mapping[str, Any] | str | None = None,
    follow: float | None = None,
) -> Iterator[RayEngine]:
    """Serve a published index from searchers on Ray, for the length of a block.

    Args:
        address: `s3://bucket/name`, the newest version, or `s3://bucket/name@7`.
        ray_address: of a Ray cluster; None starts one on this machine, on loopback. While its head does not answer,
            searches raise UnavailableError; it is tried again until it has searchers. After a loss this holds for
            `ray://HOST:PORT` alone: with other addresses Ray ends this process.
        options: searchers and replicas, deadlines.
        scope: see `Engine.open`.
        follow: seconds between two looks for a newer version; None stays with this one.

    Raises:
        IndexNotFoundError: no such version.
        IndexDamagedError: an object is missing or damaged; names it.
        MissingPackageError: Ray is not installed.
        StoreError: the storage cannot be reached, or no Ray can be started here.
    """
    source = Address.parse(address)
    objects = ObjectFolder(source.url)
    manifest = find_version(source, objects)
    embedder = open_embedder(str(manifest.settings["embedder"]), path=str(source))
    with ray_session(ray_address, required=ray_address is None) as ray:
        names = [part.folder or "index" for part in manifest.parts]
        mend = None if ray_address is None else partial(reconnect, ray, ray_address)
        with closing(Router(ray, source.url, names, options or RouterOptions(), mend)) as router:
            store = RayStore(router, source, objects, manifest)
            engine = RayEngine(RayBackend(store, embedder), scope=as_filter(scope))
            with engine, _following(engine, follow):
                yield engine


@contextmanager
def _following(engine: RayEngine, seconds: float | None) -> Iterator[None]:
    """Roll out new versions in the background of a block."""
    if seconds is None:
        yield
        return
    over = Event()

    def follow() -> None:
        while not over.wait(seconds):
            try:
                if number := engine.roll_out():
                    logger.warning("version %d is served", number)
            except SleuthError as error:
                logger.warning("a new version cannot be served: %s", error)

    job = THREADS.submit(follow)
    try:
        yield
    finally:
        over.set()
        job.wait()
