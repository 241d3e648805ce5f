"""Opens a published index read-only: fetches a version into the cache, and serves it from there."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from sleuth.cluster.places import address_of
from sleuth.cluster.sharded import ShardedBackend
from sleuth.cluster.shards.store import ShardedStore
from sleuth.cluster.storage import versions
from sleuth.cluster.storage.cache import Cache
from sleuth.cluster.storage.manifest import Manifest
from sleuth.cluster.storage.objects import ObjectFolder
from sleuth.cluster.storage.versions import Address
from sleuth.engine import check_settings, open_embedder
from sleuth.engine.index import Backend, IndexBackend
from sleuth.engine.opening import OpenOptions, named_settings
from sleuth.errors import StoreError
from sleuth.ingest import FileNames
from sleuth.protocols import Embedder
from sleuth.store.store import Store

_READ_ONLY = "{} is read-only: change the index that was published, then `sleuth cluster publish` it again"


def published_backend(address: str | Path, options: OpenOptions, *, cache: Cache | None = None) -> Backend:
    """Open a version of a published index, read-only.

    Args:
        address: `s3://bucket/name`, the newest version, or `s3://bucket/name@7`.
        options: without `create` and `re_embed`. The chunker is not used, since no documents are added.
        cache: where its files come to; the user's own where None.

    Raises:
        ArgumentError: an invalid address, or an option that would change the index.
        IndexNotFoundError: no such version; lists those there are.
        IndexDamagedError: an object is missing or damaged; names it.
        StoreError: the storage cannot be reached, or the version does not fit the cache.
    """
    source = Address.parse(address_of(address) or str(address))
    if options.create or options.re_embed:
        raise StoreError(_READ_ONLY.format(source), path=str(source))
    objects = ObjectFolder(source.url)
    manifest = versions.find_version(source, objects)
    check_settings(named_settings(replace(options, chunker=None)), manifest.settings, source)
    with ExitStack() as stack:
        model = open_embedder(str(manifest.settings["embedder"]), options.embedder, path=str(source))
        indexes = open_parts(manifest, objects, model, cache or Cache(), stack)
        backend: Backend = indexes[0]
        if manifest.shards:
            names = [part.folder for part in manifest.parts]
            backend = ShardedBackend(ShardedStore(indexes[0].path.parent, indexes, names))
        backend.files = FileNames()  # what it was published from is elsewhere
        backend.on_close(stack.pop_all().close)
    return backend


def open_parts(
    manifest: Manifest, objects: ObjectFolder, embedder: Embedder | None, cache: Cache, stack: ExitStack
) -> list[IndexBackend]:
    """Fetch the parts of a version and open each read-only; `stack` closes them.

    Raises:
        IndexDamagedError: an object is missing or damaged; names it.
        StoreError: the storage cannot be reached, or the parts do not fit the cache.
    """
    view = stack.enter_context(cache.view(manifest, objects))
    indexes = []
    for part in manifest.parts:
        store = Store.open(view / part.folder, read_only=_READ_ONLY.format(objects.url))
        stack.callback(store.close)
        indexes.append(IndexBackend(store, embedder))
    return indexes
