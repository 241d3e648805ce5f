"""Reads files, cuts them into passages, and sends them to the builders of their shards: a task of Ray Data."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sleuth.cluster.ray.batches import encode_batch
from sleuth.cluster.shards.wire import decode, encode
from sleuth.cluster.shards.writing import by_shard
from sleuth.ingest import Adder, AddReport, FileEntry, ReadOptions, Skipped, open_chunker, read_file
from sleuth.settings import IndexSettings
from sleuth.types import Document

if TYPE_CHECKING:
    from sleuth.store import DocumentBatch, Known

_WAITING = 8
"""Batches that a reader has sent and that no builder has put yet."""


class Sender:
    """Takes batches as a writer does, and sends each document to the builder of its shard.

    Attributes:
        added, updated, unchanged: documents that builders have put.
    """

    pending_bytes = 0

    def __init__(self, builders: Sequence[Any], shards: int) -> None:
        """Send to builders; shard n is filled by builder n % len(builders)."""
        self._builders = builders
        self._shards = shards
        self._waiting: deque[Any] = deque()
        self.added = self.updated = self.unchanged = 0

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Return nothing: builders know."""
        return {}

    def put_batch(self, batch: DocumentBatch) -> int:
        """Send the documents of a batch."""
        for number, part in by_shard(batch, self._shards).items():
            builder = self._builders[number % len(self._builders)]
            self._waiting.append(builder.add.remote(number, encode_batch(part)))
        self._take(_WAITING)
        return len(batch)

    def commit(self) -> int:
        """Wait until builders have put everything."""
        self._take(0)
        return 0

    def _take(self, most: int) -> None:
        """Wait until so many batches are on their way."""
        import ray

        while len(self._waiting) > most:
            added, updated, unchanged = ray.get(self._waiting.popleft())
            self.added, self.updated, self.unchanged = (
                self.added + added,
                self.updated + updated,
                self.unchanged + unchanged,
            )


def read_files(
    rows: Mapping[str, Any],
    *,
    builders: Sequence[Any],
    shards: int,
    settings: Mapping[str, Any],
    options: bytes,
) -> dict[str, list[Any]]:
    """Read some files and send their documents.

    Args:
        rows: column "entry" holds encoded `FileEntry`s.
        options: an encoded `ReadOptions`.

    Returns:
        Columns of one row: counts, and an encoded list of what was skipped.
    """
    index, reading = IndexSettings.from_dict(settings), ReadOptions(**decode(options))
    sender = Sender(builders, shards)
    adder: Adder[AddReport] = Adder(sender, open_chunker(index), AddReport(), reading.language)  # type: ignore[arg-type]
    skipped: list[Skipped] = []
    size = 0
    for data in rows["entry"]:
        entry: FileEntry = FileEntry(*decode(data))
        size += entry.size
        for record in read_file(entry, reading):
            if isinstance(record, Document):
                adder.add(record)
            elif isinstance(record, Skipped):
                skipped.append(record)
    adder.commit()
    return {
        "files": [len(rows["entry"])],
        "bytes": [size],
        "added": [sender.added],
        "updated": [sender.updated],
        "unchanged": [sender.unchanged],
        "skipped": [encode([(each.path, each.reason, each.kind) for each in skipped])],
    }
