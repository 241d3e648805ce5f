"""An index of many shards as one backend: documents are spread by their ids, and rankings gathered.

with ShardedEngine.open("index", create=True, shards=4) as engine:
    engine.add([Document("Tokens are refilled every second.", {"source": "limits.md"})])
    for item in engine.retrieve("how often are tokens refilled", k=3):
        print(item.score, item.id, item.text)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from sleuth.cluster.places import is_sharded
from sleuth.cluster.shards import layout
from sleuth.cluster.shards.gathered import GatheredSearchers
from sleuth.cluster.shards.layout import DEFAULT_SHARDS, Layout, shard_of
from sleuth.cluster.shards.snapshot import GatheredSnapshot
from sleuth.cluster.shards.store import ShardedStore
from sleuth.engine import Engine
from sleuth.engine.index import Backend, IndexBackend
from sleuth.engine.opening import OpenOptions
from sleuth.engine.rebuilding import rebuilt
from sleuth.engine.search import Searchers
from sleuth.errors import ArgumentError, IndexDamagedError, IndexNotFoundError, amount
from sleuth.filters import Filter, as_filter
from sleuth.remote import async_twin
from sleuth.store import Finding, IndexSnapshot, Repair
from sleuth.store.catalogue.schema import folder_at
from sleuth.store.legs.searching import IndexLeg
from sleuth.store.store import Store

_LEVELS = ("error", "warning", "ok")


class GatheredBackend(Backend):
    """Shards, wherever they are: statistics are summed over all, and pools merged before they are fused.

    Attributes:
        shards: how many.
    """

    def __init__(self, store: Any, shards: int, legs: Sequence[IndexLeg], **parts: Any) -> None:
        """Create a backend over a store of many shards.

        Args:
            store: has the calls of a `Store`, and gives `GatheredSnapshot`s.
            legs: turn queries into the form that shards are asked in.
            parts: the others of a `Backend`.
        """
        super().__init__(store, legs, **parts)
        self.shards = shards

    def _searchers_at(self, snapshot: IndexSnapshot, previous: Searchers | None) -> Searchers:
        """Return searchers of all shards."""
        return cast("Searchers", GatheredSearchers(cast("GatheredSnapshot", snapshot), self.legs))

    def narrow(self, snapshot: IndexSnapshot, scope: Filter) -> IndexSnapshot:
        """Return a snapshot of all shards as a scope narrows each of them."""
        gathered = cast("GatheredSnapshot", snapshot)
        return cast("IndexSnapshot", replace(gathered, shards=gathered.shards.scoped(scope)))

    def searcher(self, leg: str) -> Any:
        """Refuse: no one searcher sees all shards.

        Raises:
            ArgumentError: always.
        """
        raise ArgumentError(
            f"leg must be that of one index, got {leg!r} of {self.shards} shards: open one alone"
        )

    def status(self) -> dict[str, Any]:
        """Counts, sizes in bytes and versions, summed over the shards; plain values, fit for JSON."""
        return {**super().status(), "shards": self.shards}


class ShardedEngine(Engine):
    """An engine over the shards of a folder.

    A document belongs to a shard by a hash of its id. Rankings equal those of one index over the same documents.
    `Engine.open` opens such a folder, too.
    """

    @classmethod
    def open(
        cls,
        /,
        path: str | Path,
        *,
        scope: Filter | Mapping[str, Any] | str | None = None,
        shards: int | None = None,
        **options: Any,
    ) -> ShardedEngine:
        """Open the index of many shards in folder `path`; see `Engine.open`.

        Args:
            shards: how many, for a new index: 16 where None. An index that is there keeps its own number.
            options: the other arguments of `Engine.open`.

        Raises:
            ArgumentError: `shards` is not the number of the index that is there.
            IndexDamagedError: a shard is missing.
        """
        limit = as_filter(scope)
        return cls(ShardedBackend.open(path, OpenOptions(**options), shards), scope=limit)

    aopen = classmethod(async_twin(open))


@contextmanager
def rebuilt_shards(path: Path, *, embedder: str | None, re_embed: bool, timeout: float) -> Iterator[Engine]:
    """Provide an engine over shards that are made again, one after the other, each as by `rebuilt`."""
    for folder in layout.read(path).folders(path):
        with rebuilt(folder, embedder=embedder, re_embed=re_embed, timeout=timeout):
            pass
    with Engine.open(path, embedder=embedder) as engine:
        yield engine


class ShardedBackend(GatheredBackend):
    """The shards of a folder, each open in an `IndexBackend`."""

    def __init__(self, store: ShardedStore) -> None:
        """Create a backend over open shards, which it closes."""
        first_index = store.indexes[0]
        super().__init__(
            store,
            len(store.indexes),
            first_index.legs,
            embedder=first_index.embedder,
            chunker=first_index.chunker,
            repairs=_named(store, [index.repairs for index in store.indexes]),
        )
        self._shards = store

    @classmethod
    def open(cls, path: str | Path, options: OpenOptions, shards: int | None = None) -> ShardedBackend:
        """Open the index of many shards in folder `path`; see `ShardedEngine.open`."""
        folder = folder_at(path)
        if not is_sharded(folder):
            if not options.create:
                raise IndexNotFoundError(
                    f"no index of shards at {folder}: make one with create=True", path=str(folder)
                )
            if Store.is_at(folder):
                raise ArgumentError(
                    f"path must be a folder without an index of one shard, got {str(folder)!r}"
                )
            layout.write(folder, Layout(DEFAULT_SHARDS if shards is None else shards))
        divided = layout.read(folder)
        if shards not in (None, divided.shards):
            raise ArgumentError(
                f"shards must be {divided.shards} as in the index at {folder}, got {shards!r}; to change it, "
                "index into another folder"
            )
        folders = divided.folders(folder)
        if not options.create and (missing_names := [shard.name for shard in folders if not shard.is_dir()]):
            raise IndexDamagedError(
                f"{folder} lacks {', '.join(missing_names)}: restore them from a copy", path=str(folder)
            )
        with ExitStack() as stack:
            first_folder, *places = folders
            indexes = [stack.enter_context(IndexBackend.open(first_folder, options))]
            for place in places:
                index = (
                    IndexBackend.open(place, options)
                    if options.re_embed
                    else indexes[0].open_beside(place, create=options.create)
                )
                indexes.append(stack.enter_context(index))
            stack.pop_all()
        return cls(ShardedStore(folder, indexes, divided.names()))

    def embed(self, progress: Callable[[int, int], None] | None, *, timeout: float) -> int:
        """Make the vectors that are still to be made, shard after shard."""
        with self._shards.reader() as snapshot:
            total = sum(snapshot.uncovered(leg.name) for leg in self.legs if leg.deferred) if progress else 0
        count = 0
        for index in self._shards.indexes:
            earlier_count = count

            def tell(count_here: int, total_here: int, earlier_count: int = earlier_count) -> None:
                if progress:
                    progress(earlier_count + count_here, max(total, earlier_count + total_here))

            count += index.embed(tell if progress else None, timeout=timeout)
        return count

    def check(self, *, full: bool) -> list[Finding]:
        """Prove that each shard is whole, and that it holds documents of its own only."""
        findings: list[Finding] = []
        for number, (name, index) in enumerate(zip(self._shards.names, self._shards.indexes, strict=True)):
            findings += [one._replace(subject=f"{name}: {one.subject}") for one in index.check(full=full)]
            with index.store.reader() as snapshot:
                strays = [one.id for one in snapshot.documents() if shard_of(one.id, self.shards) != number]
            if strays:
                message = f"holds {amount(len(strays), 'document')} of other shards, such as {strays[0]!r}"
                remedy = "index the documents again in another folder"
                findings.append(Finding("error", name, message, remedy))
        return sorted(findings, key=lambda finding: _LEVELS.index(finding.level))

    def repair(self) -> list[Repair]:
        """Check each shard fully and mend what can be mended."""
        return _named(self._shards, [index.repair() for index in self._shards.indexes])


def _named(store: ShardedStore, repairs: Sequence[Sequence[Repair]]) -> list[Repair]:
    """Return the repairs of all shards, each with the name of its shard."""
    return [
        repair._replace(what=f"{name}: {repair.what}")
        for name, repairs_of_shard in zip(store.names, repairs, strict=True)
        for repair in repairs_of_shard
    ]
