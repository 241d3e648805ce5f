"""Reads files, cuts and embeds passages, and sends them to the builders of their shards: a task of Ray Data."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sleuth.cluster.ray.batches import encode_batch
from sleuth.cluster.shards.wire import decode, encode
from sleuth.cluster.shards.writing import by_shard
from sleuth.dense import DenseLeg
from sleuth.engine import is_slow, open_embedder
from sleuth.errors import SleuthError
from sleuth.ingest import Adder, AddReport, FileEntry, ReadOptions, Skipped, open_chunker, read_file
from sleuth.settings import IndexSettings
from sleuth.store import rows_of, text_hash
from sleuth.types import Document

if TYPE_CHECKING:
    from sleuth.store import DocumentBatch, Known

_WAITING = 8
"""Batches that a reader has sent and that no builder has put yet."""


class Sender:
    """Takes batches as a writer does, embeds them, and sends each document to the builder of its shard.

    Attributes:
        added, updated, unchanged: documents that builders have put.
    """

    pending_bytes = 0

    def __init__(self, builders: Sequence[Any], shards: int, leg: DenseLeg | None) -> None:
        """Send to builders; shard n is filled by builder n % len(builders).

        Args:
            leg: embeds passages; None where builders make the vectors.
        """
        self._builders = builders
        self._shards = shards
        self._leg = leg
        self._waiting: deque[Any] = deque()
        self.added = self.updated = self.unchanged = 0

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Return nothing: builders know."""
        return {}

    def put_batch(self, batch: DocumentBatch) -> int:
        """Send the documents of a batch, with the vectors that their shards lack."""
        parts = by_shard(batch, self._shards)
        vectors = {} if self._leg is None else self._vectors(self._leg, parts)
        fingerprint = "" if self._leg is None else self._leg.embedder.fingerprint
        for number, part in parts.items():
            add = self._builder(number).add
            self._waiting.append(
                add.remote(number, encode_batch(part), fingerprint, encode(vectors.get(number, {})))
            )
        self._take(_WAITING)
        return len(batch)

    def _builder(self, number: int) -> Any:
        return self._builders[number % len(self._builders)]

    def _vectors(self, leg: DenseLeg, parts: Mapping[int, DocumentBatch]) -> dict[int, dict[str, bytes]]:
        """Embed the texts of all shards together, save those whose vectors their shards keep.

        Returns:
            By number of the shard and hash of the text, a vector as bytes of float32.
        """
        import ray

        fingerprint = leg.embedder.fingerprint
        texts = {
            number: {text_hash(text): text for text in leg.texts(rows_of(part, part.keys(1)))}
            for number, part in parts.items()
        }
        questions = [
            self._builder(number).lacking.remote(number, fingerprint, list(by_hash))
            for number, by_hash in texts.items()
        ]
        lacking = dict(zip(texts, ray.get(questions), strict=True))
        missing = {name: texts[number][name] for number, names in lacking.items() for name in names}
        vectors = dict(zip(missing, leg.embed(list(missing.values())), strict=True))
        return {
            number: {name: vectors[name].tobytes() for name in names} for number, names in lacking.items()
        }

    def commit(self) -> int:
        """Wait until builders have put everything."""
        self._take(0)
        return 0

    def _take(self, most: int) -> None:
        """Wait until so many batches are on their way."""
        import ray

        while len(self._waiting) > most:
            new, updated, unchanged = ray.get(self._waiting.popleft())
            self.added, self.updated, self.unchanged = (
                self.added + new,
                self.updated + updated,
                self.unchanged + unchanged,
            )


@cache
def slow_leg(embedder: str) -> DenseLeg | None:
    """Return what embeds passages, loaded once for a process; None where builders embed.

    Args:
        embedder: its spelling in the settings of the index.
    """
    model = open_embedder(embedder) if is_slow(embedder) else None
    return None if model is None else DenseLeg(model)


def read_files(
    rows: Mapping[str, Any],
    *,
    builders: Sequence[Any],
    shards: int,
    settings: Mapping[str, Any],
    options: bytes,
) -> dict[str, list[Any]]:
    """Read some files and send their documents with their vectors.

    Args:
        rows: column "entry" holds encoded `FileEntry`s.
        options: an encoded `ReadOptions`.

    Returns:
        Columns of one row: counts, the encoded list of skipped files, and, encoded, the kind and the message of the
        error that ended the task, or None.
    """
    index, reading = IndexSettings.from_dict(settings), ReadOptions(**decode(options))
    entries = [FileEntry(*decode(data)) for data in rows["entry"]]
    skips: list[Skipped] = []
    refusal: tuple[str, str] | None = None
    sender = Sender(builders, shards, slow_leg(index.embedder))
    adder: Adder[AddReport] = Adder(sender, open_chunker(index), AddReport(), reading.language)  # type: ignore[arg-type]
    try:
        for entry in entries:
            for record in read_file(entry, reading):
                if isinstance(record, Document):
                    adder.add(record)
                elif isinstance(record, Skipped):
                    skips.append(record)
        adder.commit()
    except SleuthError as error:
        cause = getattr(error, "cause", error)  # the error that a builder raised
        refusal = type(cause).__name__, str(cause)
    return {
        "files": [len(entries)],
        "bytes": [sum(entry.size for entry in entries)],
        "added": [sender.added],
        "updated": [sender.updated],
        "unchanged": [sender.unchanged],
        "skipped": [encode([(each.path, each.reason, each.kind) for each in skips])],
        "refusal": [encode(refusal)],
    }
