"""An engine over many shards: `Engine`'s interface, with documents spread by their ids and rankings gathered.

with ShardedEngine.open("index", create=True, shards=4) as engine:
    engine.add([Document("Tokens are refilled every second.", {"source": "limits.md"})])
    for item in engine.retrieve("how often are tokens refilled", k=3):
        print(item.score, item.id, item.text)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sleuth.cluster.places import is_sharded
from sleuth.cluster.shards import layout
from sleuth.cluster.shards.gathered import GatheredOfNewest
from sleuth.cluster.shards.layout import DEFAULT_SHARDS, Layout, shard_of
from sleuth.cluster.shards.store import ShardedStore
from sleuth.engine import Engine
from sleuth.errors import ArgumentError, IndexDamagedError, IndexNotFoundError
from sleuth.filters import as_filter
from sleuth.settings import IndexSettings
from sleuth.store import Finding, Store, folder_at

if TYPE_CHECKING:
    from sleuth.engine import SearchersOfNewest
    from sleuth.filters import Filter
    from sleuth.protocols import DocumentChunker, Embedder
    from sleuth.store import IndexLeg, Repair

_LEVELS = ("error", "warning", "ok")


class GatheredEngine(Engine):
    """An engine over shards, wherever they are: statistics are summed over all, and pools merged before they are fused.

    Attributes:
        shards: how many.
    """

    def __init__(
        self,
        store: Any,
        shards: int,
        legs: Sequence[IndexLeg],
        embedder: Embedder | None = None,
        *,
        scope: Filter | None = None,
    ) -> None:
        """Create an engine over a store of many shards.

        Args:
            store: what `Engine` asks of a `Store`, and gives `GatheredSnapshot`s.
            legs: turn queries into the form that shards are asked in.
            embedder: of the index.
            scope: see `Engine.open`.
        """
        self.scope = scope
        self._is_view = False
        self._store = store
        self.path = store.path
        self.settings = IndexSettings.from_dict(store.settings)
        self.shards = shards
        self._legs, self._embedder = legs, embedder
        self._newest = GatheredOfNewest(legs)
        self._searchers = cast("SearchersOfNewest", self._newest)
        self.repairs: tuple[Repair, ...] = ()

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


class ShardedEngine(GatheredEngine):
    """An open index of many shards: adds documents and answers queries as an `Engine` over one index does.

    A document belongs to a shard by a hash of its id. Rankings equal those of one index over the same documents. Safe
    to share between threads.
    """

    def __init__(self, store: ShardedStore, *, scope: Filter | None = None) -> None:
        """Create an engine over open shards; users call `ShardedEngine.open`.

        Args:
            scope: see `Engine.open`.
        """
        first = store.engines[0]
        super().__init__(store, len(store.engines), first._legs, first.embedder, scope=scope)
        self._shards = store
        self.repairs = tuple(
            repair._replace(what=f"{name}: {repair.what}")
            for name, engine in zip(store.names, store.engines, strict=True)
            for repair in engine.repairs
        )

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: bool = False,
        settings: IndexSettings | Mapping[str, Any] | None = None,
        embedder: Embedder | str | None = None,
        re_embed: bool = False,
        scope: Filter | Mapping[str, Any] | str | None = None,
        chunker: DocumentChunker | str | None = None,
        shards: int | None = None,
    ) -> ShardedEngine:
        """Open the index of many shards in folder `path`; see `Engine.open`.

        Args:
            shards: how many, for a new index: 16 where None. An index that is there keeps its own number.

        Raises:
            ArgumentError: `shards` is not the number of the index that is there.
            IndexDamagedError: a shard is missing.
        """
        folder = folder_at(path)
        if not is_sharded(folder):
            if not create:
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
        if not create and (missing := [shard.name for shard in folders if not shard.is_dir()]):
            raise IndexDamagedError(
                f"{folder} lacks {', '.join(missing)}: restore them from a copy", path=str(folder)
            )
        with ExitStack() as stack:
            first, *others = folders
            options: dict[str, Any] = {"settings": settings, "embedder": embedder, "re_embed": re_embed}
            options["chunker"] = chunker
            engines = [stack.enter_context(Engine.open(first, create=create, **options))]
            for other in others:
                engine = (
                    Engine.open(other, create=create, **options)
                    if re_embed
                    else engines[0].open_beside(other, create=create)
                )
                engines.append(stack.enter_context(engine))
            stack.pop_all()
        engine = cls(ShardedStore(folder, engines, divided.names()), scope=as_filter(scope))
        engine._chunker = engines[0]._chunker
        return engine

    def embed(self, *, progress: Callable[[int, int], None] | None = None, timeout: float = 10.0) -> int:
        """Make the vectors that are still to be made, shard after shard; see `Engine.embed`."""
        with self._shards.reader() as snapshot:
            total = sum(snapshot.uncovered(leg.name) for leg in self._legs if leg.deferred) if progress else 0
        done = 0
        for engine in self._shards.engines:
            before = done

            def tell(now: int, of: int, before: int = before) -> None:
                if progress:
                    progress(before + now, max(total, before + of))

            done += engine.embed(progress=tell if progress else None, timeout=timeout)
        return done

    def check(self, *, full: bool = False) -> list[Finding]:
        """Prove that each shard is whole, and that it holds documents of its own only."""
        self._check_unscoped("check the index")
        findings = [
            finding._replace(subject=f"{name}: {finding.subject}")
            for name, engine in zip(self._shards.names, self._shards.engines, strict=True)
            for finding in engine.check(full=full)
        ]
        return sorted([*findings, *self._misplaced()], key=lambda finding: _LEVELS.index(finding.level))

    def _misplaced(self) -> list[Finding]:
        """Name the shards that hold documents of others."""
        findings = []
        for number, (name, engine) in enumerate(zip(self._shards.names, self._shards.engines, strict=True)):
            strays = [
                stored.id for stored in engine.documents() if shard_of(stored.id, self.shards) != number
            ]
            if strays:
                message = f"holds {len(strays)} documents of other shards, such as {strays[0]!r}"
                findings.append(
                    Finding("error", name, message, "index the documents again in another folder")
                )
        return findings

    def repair(self) -> list[Repair]:
        """Check each shard fully and mend what can be mended."""
        self._check_unscoped("repair the index")
        return [
            repair._replace(what=f"{name}: {repair.what}")
            for name, engine in zip(self._shards.names, self._shards.engines, strict=True)
            for repair in engine.repair()
        ]
