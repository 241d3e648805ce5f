"""A builder fills some shards of an index and uploads them; the storage has records of the build's waves."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.cluster import Manifest
from sleuth.cluster.shards import Layout, decode, encode
from sleuth.cluster.storage import BUILDS, ObjectFolder, digest_of, fetch_part, read_build, upload_parts
from sleuth.engine import Engine
from sleuth.ingest import COMMIT_BYTES, IndexReport, file_of, is_file, rows_below
from sleuth.plugins.ray.encoding import decode_batch, encode_listing

if TYPE_CHECKING:
    from sleuth.cluster.storage import PublishedPart
    from sleuth.store import FileFacts, Writer


class Build:
    """Records of a build: a manifest for each wave of its files, which says what all shards are after it.

    Wave 0 is what the build began with.
    """

    def __init__(self, objects: ObjectFolder, name: str) -> None:
        """Name a build, which need not have begun."""
        self._objects = objects
        self._folder = f"{BUILDS}/{name}"

    def waves(self) -> int:
        """Return how many waves are done."""
        return max((int(name.rpartition("/")[2]) for name in self._names()), default=0)

    def parts(self) -> tuple[PublishedPart, ...]:
        """Return the shards as the build has them; none where it began with nothing."""
        names = sorted(self._names())
        return read_build(self._objects, names[-1]).parts if names else ()

    def record(self, wave: int, settings: Mapping[str, Any], parts: tuple[PublishedPart, ...]) -> None:
        """Say what the shards are after a wave."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = Manifest(wave, now, len(parts), settings, parts)
        self._objects.put(f"{self._folder}/{wave:06d}", manifest.encode())

    def forget(self) -> None:
        """Delete the records."""
        self._objects.delete(list(self._names()))

    def _names(self) -> list[str]:
        return [name for name, _ in self._objects.list(self._folder)]


@dataclass(slots=True)
class BuildReport(IndexReport):
    """The result of a build; `version` is the one before where nothing changed.

    Attributes:
        resumed: files that an earlier attempt read.
    """

    resumed: int = 0


@dataclass
class _Shard:
    """A shard that is open, its writer while documents are put, and the documents of its files once asked for."""

    engine: Engine
    folder: Path
    stack: ExitStack
    writer: Writer | None = None
    ids: dict[str, list[str]] | None = None


class ShardBuilder:
    """Fills some shards; a Ray actor, which runs one call at a time.

    A shard is fetched, opened and uploaded when something of it changes. It begins with what the build has uploaded of
    it: a process that died goes on from there.
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
        self._names = Layout(shards).names()
        self._settings = dict(settings)
        self._home = Path(tempfile.mkdtemp(prefix="sleuth-build-"))
        self._parts = dict(enumerate(Build(self._objects, build).parts()))
        self._new = () if self._parts else tuple(numbers)
        self._shards: dict[int, _Shard] = {}
        self._owners: dict[str, str] = {}

    def _open(self, number: int) -> _Shard:
        """Return a shard; open it first, and fetch it if it is not here."""
        if number not in self._shards:
            folder = self._home / self._names[number]
            if number in self._parts and not folder.exists():
                fetch_part(self._parts[number], folder, self._objects, durable=False)
            stack = ExitStack()
            engine = stack.enter_context(Engine.open(folder, create=True, settings=self._settings))
            self._shards[number] = _Shard(engine, folder, stack)
        return self._shards[number]

    def _writer(self, number: int) -> Writer:
        shard = self._open(number)
        if shard.writer is None:
            shard.writer = shard.stack.enter_context(shard.engine.store.writer())
        return shard.writer

    # --- what readers ask

    def documents_of(self, number: int, sources: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the documents that a shard holds of some files, by file."""
        shard = self._open(number)
        if shard.ids is None:
            shard.ids = {}
            with shard.engine.store.reader() as snapshot:
                for document in snapshot.documents():
                    if is_file(document):
                        shard.ids.setdefault(file_of(document), []).append(document.id)
        return {source: shard.ids[source] for source in sources if source in shard.ids}

    def lacking(self, number: int, fingerprint: str, hashes: Sequence[str]) -> list[str]:
        """Return those of these texts, by hash, of which a shard keeps no vector of this embedder."""
        with self._open(number).engine.store.reader() as snapshot:
            vectors = snapshot.embeddings(fingerprint, hashes)
        return [name for name in hashes if name not in vectors]

    # --- what they change

    def add(
        self, number: int, data: bytes, fingerprint: str, vectors: bytes, reader: str
    ) -> tuple[int, int, int]:
        """Put documents of a shard, with vectors; those whose content is there already are skipped.

        Args:
            data: an encoded batch.
            fingerprint: of the embedder that made the vectors.
            vectors: those that the shard lacks, by hash of the text embedded, encoded; passages without one are
                embedded by `upload`.
            reader: names the one who read the documents.

        Returns:
            How many were new, differed from the stored ones, and did not.
        """
        writer, batch = self._writer(number), decode_batch(data)
        if by_hash := decode(vectors):
            writer.put_embeddings(fingerprint, by_hash)
        for row, name in enumerate(batch.ids):
            source = batch.sources.at(row)
            if source is not None and not name.startswith(source.rpartition("#")[0] or source):
                self._owners[name] = reader  # not named after its file: another file may hold it later
        facts, count = writer.known(batch.ids), len(batch)
        unchanged_count = sum(
            facts[name].content_hash == batch.known(row).content_hash
            for row, name in enumerate(batch.ids)
            if name in facts
        )
        writer.put_batch(batch)
        if writer.pending_bytes >= COMMIT_BYTES:
            writer.commit()
        return count - len(facts), len(facts) - unchanged_count, unchanged_count

    def delete(self, number: int, ids: Sequence[str], reader: str) -> list[str]:
        """Delete documents of files that no longer hold them; the ids that were there.

        A document that another reader has put since the last upload stays: it has moved to another file.
        """
        return self._writer(number).delete(name for name in ids if self._owners.get(name, reader) == reader)

    def note_file(self, number: int, name: str, facts: FileFacts) -> None:
        """Note facts of a file; see `Writer.note_file`."""
        self._writer(number).note_file(name, **facts)

    def upload(self) -> bytes:
        """Commit the shards that changed, make the vectors that they lack, and upload what the storage lacks.

        Returns:
            The part of each of these shards, by number, encoded.
        """
        for number in self._new:
            self._open(number)
        self._new = ()
        parts = {number: self._uploaded(number, shard) for number, shard in self._shards.items()}
        self._parts |= parts
        self._shards = {}
        self._owners = {}
        return encode(parts)

    def _uploaded(self, number: int, shard: _Shard) -> PublishedPart:
        shard.stack.close()
        former_part = self._parts.get(number)
        with Engine.open(shard.folder) as engine:
            engine.embed()
            engine.wait()
            with engine.store.reader() as snapshot:
                rows = rows_below(snapshot, None)
                listing = list(encode_listing(rows))
                # Files are noted without a new version; the listing holds them.
                state = snapshot.version, tuple(map(digest_of, listing))
                if former_part is not None and (former_part.version, former_part.listing) == state:
                    return former_part
        name = self._names[number]
        base = () if former_part is None else (former_part,)
        (part,) = upload_parts({name: shard.folder}, self._objects, base, listings={name: listing})
        return part

    def close(self) -> None:
        """Delete the folders of the shards."""
        for shard in self._shards.values():
            shard.stack.close()
        shutil.rmtree(self._home, ignore_errors=True)
