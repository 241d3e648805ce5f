"""The writer of all shards: sends each document to the shard that its id belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from sleuth.cluster.shards.layout import shard_of
from sleuth.store import DocumentBatch, Known

if TYPE_CHECKING:
    from sleuth.store import FileFacts, Writer
    from sleuth.types import Chunk


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

    def put(self, document_id: str, content_hash: str, chunks: Sequence[Chunk], **options: Any) -> bool:
        """Add a document, or replace the one with this id; see `Writer.put`."""
        return self._writers[self._number(document_id)].put(document_id, content_hash, chunks, **options)

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
