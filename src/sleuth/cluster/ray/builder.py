"""A builder: fills some shards of an index that is being built, and uploads them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sleuth.cluster.ray.batches import decode_batch
from sleuth.cluster.ray.progress import Build
from sleuth.cluster.shards.layout import Layout
from sleuth.cluster.shards.wire import decode, encode
from sleuth.cluster.storage.fetching import fetch_part
from sleuth.cluster.storage.objects import ObjectFolder
from sleuth.cluster.storage.publishing import upload_parts
from sleuth.engine import Engine

if TYPE_CHECKING:
    from sleuth.store import DocumentBatch, Writer

_COMMIT_BYTES = 64_000_000
"""Characters of text between two commits of a shard."""


class PutCounts(NamedTuple):
    """What a batch changed.

    Attributes:
        added, updated, unchanged: documents.
    """

    added: int
    updated: int
    unchanged: int


@dataclass
class _Shard:
    """A shard that is being built, and its writer while documents are put."""

    engine: Engine
    folder: Path
    stack: ExitStack
    writer: Writer | None = None


class ShardBuilder:
    """Fills some shards; a Ray actor, which runs one call at a time.

    It begins with what the build has uploaded of its shards: a process that died goes on from there.
    """

    def __init__(
        self, url: str, build: str, numbers: Sequence[int], shards: int, settings: Mapping[str, Any]
    ) -> None:
        """Fill shards of an index.

        Args:
            url: of the index, without a version.
            build: name of the build.
            numbers: of the shards that are filled here.
            shards: how many there are in all.
            settings: of the index.
        """
        self._objects = ObjectFolder(url)
        self._build = Build(self._objects, build)
        self._names = Layout(shards).names()
        self._settings = dict(settings)
        self._home = Path(tempfile.mkdtemp(prefix="sleuth-build-"))
        self._numbers = tuple(numbers)
        self._shards = {number: self._open(number) for number in numbers}

    def _open(self, number: int) -> _Shard:
        folder = self._home / self._names[number]
        parts = self._build.parts()
        if parts:
            fetch_part(parts[number], folder, self._objects)
        stack = ExitStack()
        engine = stack.enter_context(Engine.open(folder, create=not parts, settings=self._settings))
        return _Shard(engine, folder, stack)

    def lacking(self, number: int, fingerprint: str, hashes: Sequence[str]) -> list[str]:
        """Return those of these texts, by hash, of which a shard keeps no vector of this embedder."""
        with self._shards[number].engine.store.reader() as snapshot:
            vectors = snapshot.embeddings(fingerprint, hashes)
        return [name for name in hashes if name not in vectors]

    def add(self, number: int, data: bytes, fingerprint: str, vectors: bytes) -> tuple[int, int, int]:
        """Put documents of a shard, with vectors; those whose content is there already are skipped.

        Args:
            data: an encoded batch.
            fingerprint: of the embedder that made the vectors.
            vectors: those that the shard lacks, by hash of the text embedded, encoded; passages without one are
                embedded by `upload`.

        Returns:
            `PutCounts`, as a plain tuple.
        """
        shard = self._shards[number]
        batch = decode_batch(data)
        if shard.writer is None:
            shard.writer = shard.stack.enter_context(shard.engine.store.writer())
        if by_hash := decode(vectors):
            shard.writer.put_embeddings(fingerprint, by_hash)
        changes = _changes_of(batch, shard.writer)
        shard.writer.put_batch(batch)
        if shard.writer.pending_bytes >= _COMMIT_BYTES:
            shard.writer.commit()
        return changes.added, changes.updated, changes.unchanged

    def upload(self) -> bytes:
        """Commit the shards, make the vectors that nobody handed over, and upload what the storage lacks.

        Returns:
            The part of each shard, by number, encoded.
        """
        parts = {}
        for number in self._numbers:
            shard = self._shards[number]
            shard.stack.close()
            with Engine.open(shard.folder) as engine:
                engine.embed()
                engine.wait()
            name = self._names[number]
            (parts[number],) = upload_parts({name: shard.folder}, self._objects, self._build.parts())
            stack = ExitStack()
            self._shards[number] = _Shard(stack.enter_context(Engine.open(shard.folder)), shard.folder, stack)
        return encode(parts)

    def close(self) -> None:
        """Delete the folders of the shards."""
        for shard in self._shards.values():
            shard.stack.close()
        shutil.rmtree(self._home, ignore_errors=True)


def _changes_of(batch: DocumentBatch, writer: Writer) -> PutCounts:
    """Count the new documents of a batch, and those that differ from the stored ones."""
    known_documents = writer.known(batch.ids)
    digests = {name: digest.hex() for name, digest in zip(batch.ids, batch.digests, strict=True)}
    unchanged = sum(
        known_documents[name].content_hash == digest
        for name, digest in digests.items()
        if name in known_documents
    )
    return PutCounts(len(batch) - len(known_documents), len(known_documents) - unchanged, unchanged)
