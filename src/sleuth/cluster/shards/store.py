"""The shards of a folder as one store and its writer: what `Engine` asks of a `Store`, asked of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from sleuth.cluster.shards.layout import shard_of
from sleuth.cluster.shards.shard import LocalShard, LocalShards, ShardIndex
from sleuth.cluster.shards.snapshot import GatheredSnapshot
from sleuth.engine.index import IndexBackend
from sleuth.store import Counts, DocumentBatch, Known, Status
from sleuth.store.record.values import LegStatus
from sleuth.store.store import readers

if TYPE_CHECKING:
    from sleuth.store import FileFacts, Writer


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


def by_shard(batch: DocumentBatch, shards: int) -> dict[int, DocumentBatch]:
    """Return the documents of a batch by the shard that they belong to."""
    numbers = [shard_of(name, shards) for name in batch.ids]
    return {
        number: batch.without({row for row, owner in enumerate(numbers) if owner != number})
        for number in sorted(set(numbers))
    }


class ShardedWriter:
    """Writes to all shards as one `Writer`.

    Each document is whole or absent, whatever happens. `commit` commits shard after shard: where it is broken off, the
    documents of some shards are committed and those of others are not, and adding or indexing again completes them. So
    that a file of several documents is read again then, files are noted when all shards have committed; until then the
    first shard, which commits before the others, notes each of them without a version.
    """

    def __init__(self, writers: Sequence[Writer]) -> None:
        """Create a writer over the writers of the shards, by number."""
        self._writers = writers
        self._files: dict[str, FileFacts] = {}

    def _by_shard(self, ids: Iterable[str]) -> dict[int, list[str]]:
        parts: dict[int, list[str]] = {}
        for name in ids:
            parts.setdefault(self._number(name), []).append(name)
        return parts

    def _number(self, document_id: str) -> int:
        return shard_of(document_id, len(self._writers))

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Return what is stored of these documents, by id, without unknown ones."""
        documents: dict[str, Known] = {}
        for number, names in self._by_shard(ids).items():
            documents |= self._writers[number].known(names)
        return documents

    def put_batch(self, batch: DocumentBatch) -> int:
        """Add or replace the documents of a batch; how many changed."""
        parts = by_shard(batch, len(self._writers))
        return sum(self._writers[number].put_batch(part) for number, part in parts.items())

    def note_file(self, name: str, **facts: Unpack[FileFacts]) -> None:
        """Note facts of a file, in the shard that its name belongs to, once all shards have committed its documents."""
        self._files.setdefault(name, {}).update(facts)

    def delete(self, document_ids: Iterable[str]) -> list[str]:
        """Remove documents with their text; the ids that were there, in the order given."""
        names = list(dict.fromkeys(document_ids))
        known_names: set[str] = set()
        for number, group_of_shard in self._by_shard(names).items():
            known_names.update(self._writers[number].delete(group_of_shard))
        return [name for name in names if name in known_names]

    def put_embeddings(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by content hash in every shard, as any of them may be given the text."""
        for writer in self._writers:
            writer.put_embeddings(fingerprint, vectors)

    @property
    def counts(self) -> Counts | None:
        """Documents and chunks of all shards as of the last commit; None where some have had none."""
        parts = [writer.counts for writer in self._writers]
        counts = [part for part in parts if part is not None]
        return Counts(*map(sum, zip(*counts, strict=True))) if len(counts) == len(parts) else None

    @property
    def pending_bytes(self) -> int:
        """Characters of text put since the last commit."""
        return sum(writer.pending_bytes for writer in self._writers)

    def commit(self) -> int:
        """Make everything so far durable and visible, shard after shard; the new version."""
        files, self._files = self._files, {}
        first = self._writers[0]
        for name, facts in files.items():
            if "version" in facts:  # should this be broken off, the first shard knows whose documents changed
                first.doubt_file(name, facts.get("documents", 0), facts.get("own_ids", 0))
        version = sum([writer.commit() for writer in self._writers])
        if files:
            for name, facts in files.items():
                if self._number(name):
                    first.note_file(name, documents=0, own_ids=0)
                self._writers[self._number(name)].note_file(name, **facts)
            version = sum([writer.commit() for writer in reversed(self._writers)])
        return version
