"""A process that owns some shards of a published index: fetches them into a local cache, and answers for them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from threading import Lock
from typing import NamedTuple

from sleuth.cluster import Cache, open_parts
from sleuth.cluster.shards import ShardIndex, decode, encode
from sleuth.cluster.storage import Address, ObjectFolder, find_version
from sleuth.engine import open_embedder
from sleuth.errors import SleuthError

ANSWERED, REFUSED, ABSENT = "answered", "refused", "absent"
"""How a searcher replies: with values; with an error that is the caller's; or it does not have that version open."""


class _Version(NamedTuple):
    """A version that is open: the shards, by number, and what closes them."""

    shards: dict[int, ShardIndex]
    stack: ExitStack


class Searcher:
    """Some shards of a published index, of one or more versions; a Ray actor. Safe to share between threads.

    It is made without touching the storage, so that a new process is there at once; `load` fills it.
    """

    def __init__(self, url: str, numbers: Sequence[int]) -> None:
        """Own shards of an index.

        Args:
            url: of the index, without a version.
            numbers: of the shards.
        """
        self._url = url
        self._numbers = tuple(numbers)
        self._versions: dict[int, _Version] = {}
        self._loading = Lock()

    def load(self, number: int) -> bytes:
        """Fetch and open the shards at a version, unless they are open.

        Returns:
            A reply: answered, with the bytes and the limit of the cache and the number of this process; or refused.
        """
        with self._loading:
            try:
                if number not in self._versions:
                    self._versions[number] = self._open(number)
                cache = Cache()
                return encode((ANSWERED, (cache.size(), cache.limit, os.getpid())))
            except SleuthError as error:
                return encode((REFUSED, type(error).__name__, str(error)))

    def _open(self, number: int) -> _Version:
        objects = ObjectFolder(self._url)
        manifest = find_version(Address(self._url, number), objects).of_parts(self._numbers)
        model = open_embedder(str(manifest.settings["embedder"]), path=self._url)
        with ExitStack() as stack:
            indexes = open_parts(manifest, objects, model, Cache(), stack)
            for index in indexes:
                with index.store.reader() as snapshot:
                    index.searchers_of(snapshot)  # before the first query
            shards = dict(zip(self._numbers, map(ShardIndex, indexes), strict=True))
            return _Version(shards, stack.pop_all())

    def drop(self, number: int) -> None:
        """Close the shards at a version that no query uses any more."""
        with self._loading:
            if version := self._versions.pop(number, None):
                version.stack.close()

    def ask(self, number: int, request: bytes) -> bytes:
        """Answer for shards at a version.

        Args:
            request: the question, its arguments by number of the shard, and the scope, encoded.

        Returns:
            A reply: values by number of the shard; or refused; or absent where the version is not open.
        """
        version = self._versions.get(number)
        if version is None:
            return encode((ABSENT,))
        question, arguments, scope = decode(request)
        values = {}
        try:
            for shard, of_shard in arguments.items():
                index = version.shards[shard]
                with index.store.reader() as snapshot:
                    values[shard] = index.at(snapshot, scope).answer(question, of_shard)
        except SleuthError as error:
            return encode((REFUSED, type(error).__name__, str(error)))
        return encode((ANSWERED, values))
