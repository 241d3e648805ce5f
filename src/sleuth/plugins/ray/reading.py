"""Reads files, cuts and embeds passages, and sends them to the builders of their shards: a task of Ray Data."""

from __future__ import annotations

import uuid
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from sleuth.cluster import shard_of
from sleuth.cluster.shards import by_shard, decode, encode
from sleuth.dense import DenseLeg
from sleuth.engine import is_slow, open_embedder
from sleuth.errors import SleuthError
from sleuth.ingest import (
    Adder,
    Diff,
    FileEntry,
    FileNames,
    IndexReport,
    ReadOptions,
    Run,
    is_below,
    open_chunker,
    open_source,
    read_fetched,
    read_file,
)
from sleuth.plugins.ray.encoding import encode_batch
from sleuth.settings import IndexSettings
from sleuth.store import KnownFile, rows_of, text_hash

if TYPE_CHECKING:
    from sleuth.plugins.ray.builders import Builders
    from sleuth.store import DocumentBatch, FileFacts, Known

_WAITING = 8
"""Batches that a reader has sent and that no builder has put yet."""


class PlannedFile(NamedTuple):
    """A file that a build reads, or whose documents it deletes.

    Attributes:
        entry: what reading takes; its `file` is "" for a file that is gone.
        row: what the index knows of it.
    """

    entry: FileEntry
    row: KnownFile | None


class ListedFiles(dict[str, KnownFile]):
    """A table of files in memory: rows by name."""

    def files(self, names: Sequence[str]) -> dict[str, KnownFile]:
        """Return what is known of these files, by name; absent where nothing is."""
        return {name: self[name] for name in names if name in self}

    def file_names(self, root: str | None) -> Iterator[str]:
        """Names of the files at this name or below it; all with None."""
        return (name for name in self if root is None or is_below(name, root))


class Sender:
    """Takes batches as a writer does, embeds them, and sends each document to the builder of its shard.

    Attributes:
        counts: documents that builders have put: "added", "updated" and "unchanged".
    """

    pending_bytes = 0

    def __init__(self, builders: Builders, shards: int, leg: DenseLeg | None) -> None:
        """Send to builders.

        Args:
            leg: embeds passages; None where builders make the vectors.
        """
        self._builders = builders
        self._shards = shards
        self._leg = leg
        self._reader = uuid.uuid4().hex
        self._waiting: deque[Any] = deque()
        self.counts = Counter(added=0, updated=0, unchanged=0)

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Return nothing: builders know."""
        return {}

    def documents_of(self, files: Sequence[PlannedFile]) -> dict[str, list[str]]:
        """Return the ids of the documents that the index holds of these files, by name.

        Most files are one document, whose id is their name: only its shard is asked.
        """
        rows = [file.row for file in files if file.row is not None and file.row.documents]
        ids = self._ask({row.name: [shard_of(row.name, self._shards)] for row in rows if row.documents == 1})
        shards = range(self._shards)
        return ids | self._ask({row.name: shards for row in rows if row.name not in ids})

    def _ask(self, shards: Mapping[str, Iterable[int]]) -> dict[str, list[str]]:
        """Return the ids of the documents that these shards hold of files."""
        sources: dict[int, list[str]] = {}
        for source, numbers in shards.items():
            for number in numbers:
                sources.setdefault(number, []).append(source)
        calls = [self._builders.begin(number, "documents_of", names) for number, names in sources.items()]
        ids: dict[str, list[str]] = {}
        for answer in self._builders.results(calls):
            for source, ids_in_shard in answer.items():
                ids.setdefault(source, []).extend(ids_in_shard)
        return ids

    def put_batch(self, batch: DocumentBatch) -> int:
        """Send the documents of a batch, with the vectors that their shards lack."""
        parts = by_shard(batch, self._shards)
        vectors = {} if self._leg is None else self._vectors(self._leg, parts)
        fingerprint = "" if self._leg is None else self._leg.embedder.fingerprint
        for number, part in parts.items():
            values = encode(vectors.get(number, {}))
            self._waiting.append(
                self._builders.begin(number, "add", encode_batch(part), fingerprint, values, self._reader)
            )
        self._take(_WAITING)
        return len(batch)

    def _vectors(self, leg: DenseLeg, parts: Mapping[int, DocumentBatch]) -> dict[int, dict[str, bytes]]:
        """Embed the texts of all shards together, save those whose vectors their shards keep.

        Returns:
            By number of the shard and hash of the text, a vector as bytes of float32.
        """
        fingerprint = leg.embedder.fingerprint
        text_by_hash: dict[str, str] = {}
        calls = {}
        for number, part in parts.items():
            texts_of_shard = texts_by_hash(leg, part)
            text_by_hash |= texts_of_shard
            calls[number] = self._builders.begin(number, "lacking", fingerprint, list(texts_of_shard))
        lacking = dict(zip(calls, self._builders.results(list(calls.values())), strict=True))
        missing = list(dict.fromkeys(hash for hashes in lacking.values() for hash in hashes))
        vectors = leg.embed([text_by_hash[hash] for hash in missing])
        vector_by_hash = {hash: vector.tobytes() for hash, vector in zip(missing, vectors, strict=True)}
        return {number: {hash: vector_by_hash[hash] for hash in hashes} for number, hashes in lacking.items()}

    def delete(self, document_ids: Iterable[str]) -> list[str]:
        """Delete documents; the ids that were there."""
        ids: dict[int, list[str]] = {}
        for name in document_ids:
            ids.setdefault(shard_of(name, self._shards), []).append(name)
        calls = [self._builders.begin(number, "delete", names, self._reader) for number, names in ids.items()]
        return [name for names in self._builders.results(calls) for name in names]

    def note_file(self, name: str, **facts: Unpack[FileFacts]) -> None:
        """Note facts of a file in the shard that its name belongs to."""
        number = shard_of(name, self._shards)
        self._builders.results([self._builders.begin(number, "note_file", name, facts)])

    def commit(self) -> int:
        """Wait until builders have put everything."""
        self._take(0)
        return 0

    def _take(self, most: int) -> None:
        """Wait until so many batches are on their way."""
        while len(self._waiting) > most:
            (counts,) = self._builders.results([self._waiting.popleft()])
            self.counts.update(dict(zip(("added", "updated", "unchanged"), counts, strict=True)))


@cache
def slow_leg(embedder: str) -> DenseLeg | None:
    """Return the embedder of passages that settings spell, loaded once for a process; None where builders embed."""
    model = open_embedder(embedder) if is_slow(embedder) else None
    return None if model is None else DenseLeg(model)


def texts_by_hash(leg: DenseLeg, batch: DocumentBatch) -> dict[str, str]:
    """Return the texts of a batch that are embedded, by their hash."""
    return {text_hash(text): text for text in leg.texts(rows_of(batch, batch.keys(1)))}


def read_files(
    rows: Mapping[str, Any],
    *,
    builders: Builders,
    shards: int,
    settings: Mapping[str, Any],
    options: bytes,
    prune: bool = False,
) -> dict[str, list[bytes]]:
    """Read some files and send their documents with their vectors; delete those that the files no longer hold.

    Args:
        rows: column "file" holds encoded `PlannedFile`s.
        options: an encoded `ReadOptions`.
        prune: whether these files are gone, or hold no text: they are not read, and their documents are deleted.

    Returns:
        One row: column "report" has, encoded, counts by the names of an `IndexReport`, what was skipped, and the kind
        and the message of the error that ended the task, or None.
    """
    reading = ReadOptions(**decode(options))
    files = [PlannedFile(*decode(data)) for data in rows["file"]]
    refusal: tuple[str, str] | None = None
    sender = Sender(builders, shards, slow_leg(str(settings["embedder"])))
    report = IndexReport()
    try:
        ids = sender.documents_of(files)
        chunker = open_chunker(IndexSettings.from_dict(settings))
        adder: Adder[IndexReport] = Adder(sender, chunker, report)  # type: ignore[arg-type]
        adder.loaders = reading.loaders
        diff = Diff(lambda: nullcontext(ListedFiles()), (), FileNames())
        diff.read_with(reading)
        # Compared by the plan.
        diff.rows = {file.row.name: file.row for file in files if file.row is not None}
        run = Run(adder, diff, lambda row: ids.get(row.name, ()))
        for entry, row in files:
            if prune and row is not None:
                kind = "deleted" if entry.file else "pruned"
                setattr(report, kind, getattr(report, kind) + run.forget(row))
            else:
                if entry.file:
                    records = read_file(entry, reading)
                else:
                    records = read_fetched(open_source(entry.source), entry, reading)
                for record in records:
                    run.take(record)
        run.finish(prune=False)
        run.commit()
    except SleuthError as error:
        cause = getattr(error, "cause", error)  # the error that a builder raised
        refusal = type(cause).__name__, str(cause)
    counts = {**sender.counts, "deleted": report.deleted, "pruned": report.pruned}
    if not prune:
        counts |= {"read": len(files), "bytes": sum(file.entry.size for file in files)}
    skips = [(skip.path, skip.reason, skip.kind) for skip in report.skipped]
    return {"report": [encode((counts, skips, refusal))]}
