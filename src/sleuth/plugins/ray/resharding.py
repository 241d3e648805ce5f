"""Divides a published index into another number of shards, in this process, without Ray."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from sleuth.cluster import Manifest, shard_of
from sleuth.cluster.shards import Layout, by_shard, decode, encode
from sleuth.cluster.storage import Address, ObjectFolder, commit_version, fetch_part, find_version
from sleuth.engine import Engine
from sleuth.ingest import rows_below
from sleuth.plugins.ray.builder import ShardBuilder
from sleuth.plugins.ray.encoding import encode_batch
from sleuth.plugins.ray.reading import slow_leg, texts_by_hash


def reshard(address: str, shards: int, *, progress: Callable[[int, int], None] | None = None) -> Manifest:
    """Publish the newest version of an index once more, divided into another number of shards.

    Documents, ids and rankings stay. The new version is visible whole or not at all; where this is broken off, nothing
    has changed. Texts are not read or embedded again, save for the embedders that a build runs by itself.

    Args:
        address: `s3://bucket/name`, without a version; of an index with shards or without.
        shards: how many.
        progress: called with the documents moved, and with all.

    Returns:
        The manifest of the new version; of the newest one where it has so many shards already.

    Raises:
        ArgumentError: an address with a version, or an invalid number.
        IndexNotFoundError: nothing is published there.
        StoreError: the storage cannot be reached, or another version was published meanwhile.
    """
    source = Address.parse(address, is_new=True)
    count = Layout(shards).shards
    objects = ObjectFolder(source.url)
    base = find_version(source, objects)
    if base.shards == count:
        return base
    objects.check_create_only()
    builder = ShardBuilder(source.url, f"reshard-{base.number}", range(count), count, base.settings)
    documents = 0
    with closing(builder):
        for published in base.parts:
            with tempfile.TemporaryDirectory(prefix="sleuth-reshard-") as folder:
                fetch_part(published, Path(folder) / "shard", objects, durable=False)
                with Engine.open(Path(folder) / "shard") as engine:
                    for moved in _move(engine, builder, count):
                        documents += moved
                        if progress:
                            progress(documents, base.documents)
        parts = decode(builder.upload())
    ordered = tuple(parts[number] for number in range(count))
    return commit_version(objects, base.settings, count, ordered, after=base)


def _move(engine: Engine, builder: ShardBuilder, count: int) -> Iterator[int]:
    """Hand a builder of `count` shards what an index holds, and yield how many documents were moved at a time."""
    leg = slow_leg(str(engine.store.settings["embedder"]))
    with engine.store.reader() as snapshot:
        for batch in snapshot.batches():
            for number, part in by_shard(batch, count).items():
                fingerprint = "" if leg is None else leg.embedder.fingerprint
                hashes = [] if leg is None else sorted(texts_by_hash(leg, part))
                vectors = encode(dict(snapshot.embeddings(fingerprint, hashes)))
                builder.add(number, encode_batch(part), fingerprint, vectors, "reshard")
            yield len(batch)
        for row in rows_below(snapshot, None):
            builder.note_file(shard_of(row.name, count), row.name, row.facts)
