"""One version of all shards, read as one: rows and documents by key, each asked of the shard that holds it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from sleuth.cluster.shards.layout import KEY_BITS, LOCAL, shard_of
from sleuth.cluster.shards.shard import ShardAnswers, ShardsMissingError
from sleuth.store import Counts, KnownFile
from sleuth.store.passages.blocks import items_of
from sleuth.store.record.values import Row
from sleuth.types import StoredDocument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sleuth.cluster.shards.shard import Shards
    from sleuth.filters import Filter
    from sleuth.remote import Deadline
    from sleuth.types import Chunk, RetrievedItem

_PAGE = 1000
"""Ids that a shard is asked for at a time."""


@dataclass(frozen=True)
class GatheredSnapshot:
    """One version of every shard, for the length of a block; reads as a `Snapshot` of one index does.

    A key holds the number of its shard and the key there.

    Attributes:
        shards: what answers for them.
        deadline: until which shards may answer; None for as long as `shards` waits by itself.
    """

    shards: Shards
    deadline: Deadline | None = None
    _order: dict[int, tuple[str, int]] = field(default_factory=dict, repr=False)

    @property
    def version(self) -> int:
        """Grows with every commit of a shard."""
        return sum(self.shards.versions)

    @property
    def generation(self) -> Hashable:
        """Equal ones are of equal versions and have equal segments too."""
        return self.shards.generation

    @property
    def scope(self) -> Filter | None:
        """What it is limited to; None for all of the index."""
        return self.shards.scope

    def until(self, deadline: Deadline) -> GatheredSnapshot:
        """Return it with a deadline for the shards."""
        return replace(self, deadline=deadline)

    # --- asking

    def try_all(self, question: str, *arguments: Any, without: Collection[int] = ()) -> ShardAnswers:
        """Ask all shards, save some, the same; those that do not answer are reported."""
        numbers = set(range(len(self.shards.names))).difference(without)
        return self.try_some(question, dict.fromkeys(sorted(numbers), arguments))

    def try_some(self, question: str, arguments: Mapping[int, Sequence[Any]]) -> ShardAnswers:
        """Ask some shards; those that do not answer are reported. Values are in order of shard number."""
        answers = self.shards.ask(question, arguments, self.deadline)
        return ShardAnswers(dict(sorted(answers.values.items())), answers.failures)

    def ask_all(self, question: str, *arguments: Any) -> list[Any]:
        """Return what each shard answers to the same question, by number.

        Raises:
            ShardsMissingError: one does not answer.
        """
        return list(_complete(self.try_all(question, *arguments)).values())

    def _ask(self, number: int, question: str, *arguments: Any) -> Any:
        return _complete(self.try_some(question, {number: arguments}))[number]

    def _gathered(self, question: str, keys: Sequence[int], *before: Any) -> list[Any]:
        """Return a value for each key, in order; each shard is asked for its own, after the arguments `before`."""
        arguments: dict[int, tuple[Any, ...]] = {}
        local_keys: dict[int, list[int]] = {}
        places: dict[int, list[int]] = {}
        for place, key in enumerate(keys):
            number = key >> KEY_BITS
            if number not in arguments:
                local_keys[number], places[number] = [], []
                arguments[number] = (*before, local_keys[number])
            local_keys[number].append(key & LOCAL)
            places[number].append(place)
        values: list[Any] = [None] * len(keys)
        for number, values_of_shard in _complete(self.try_some(question, arguments)).items():
            for place, value in zip(places[number], values_of_shard, strict=True):
                values[place] = value
        return values

    # --- rows by key

    def order(self, keys: Iterable[int]) -> list[tuple[str, int]]:
        """Return the tie-break rank of each key (document id, n)."""
        numbers = list(map(int, keys))
        if unknown_keys := sorted(set(numbers).difference(self._order)):
            self._order.update(zip(unknown_keys, self._gathered("order", unknown_keys), strict=True))
        return list(map(self._order.__getitem__, numbers))

    def rows(self, keys: Iterable[int]) -> list[Row]:
        """Return the chunks with these keys, in this order."""
        numbers = list(map(int, keys))
        rows = self._gathered("rows", numbers)
        return [row._replace(key=key) for key, row in zip(numbers, rows, strict=True)]

    def items(self, keys: list[int], scores: list[float]) -> list[RetrievedItem]:
        """Return the chunks as hits with these scores."""
        return items_of(self._gathered("passages", keys), scores)

    def match(self, leg: str, query: str, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how well rows match a query, as the matcher of a leg says, shape (len(keys),)."""
        return np.array(self._gathered("match", keys.tolist(), leg, query), np.float64)

    def neighbours(self, key: int, before: int, after: int) -> list[Row]:
        """Return the chunk and up to `before` and `after` chunks around it, of the same document, in order."""
        number = key >> KEY_BITS
        return _global(number, self._ask(number, "neighbours", key & LOCAL, before, after))

    # --- documents

    def _shard_of(self, document_id: str) -> int:
        return shard_of(document_id, len(self.shards.names))

    def key_of(self, chunk_id: str) -> int | None:
        """Return the key of the chunk `document_id#n`, or None if there is no such chunk."""
        number = self._shard_of(chunk_id.rpartition("#")[0])
        key: int | None = self._ask(number, "key_of", chunk_id)
        return None if key is None else number << KEY_BITS | key

    def chunks_of(self, document_id: str) -> list[Row]:
        """Return all chunks of a document, in order; empty where there is no such document."""
        number = self._shard_of(document_id)
        return _global(number, self._ask(number, "chunks_of", document_id))

    def documents(self, under: str | None = None) -> Iterator[StoredDocument]:
        """Documents, shard by shard; with `under`, those whose source is this path or lies below it."""
        numbers = range(len(self.shards.names))
        return chain.from_iterable(self._ask(number, "documents", under) for number in numbers)

    def chunk_values(self, document_id: str) -> list[Chunk]:
        """Return all chunks of a document as they were put."""
        values: list[Chunk] = self._ask(self._shard_of(document_id), "chunk_values", document_id)
        return values

    def document(self, document_id: str) -> StoredDocument | None:
        """Return a document without its text, or None if there is no such document."""
        document: StoredDocument | None = self._ask(self._shard_of(document_id), "document", document_id)
        return document

    def documents_at(self, keys: Iterable[int]) -> list[StoredDocument]:
        """Return the documents with these keys, in this order."""
        return self._gathered("documents_at", list(map(int, keys)))

    def by_id(self, after: str = "") -> Iterator[tuple[int, str]]:
        """Keys and ids of documents whose id comes after this one, in order of id."""
        streams = [self._ids(number, after) for number in range(len(self.shards.names))]
        return merge(*streams, key=itemgetter(1))

    def _ids(self, number: int, after: str) -> Iterator[tuple[int, str]]:
        last_id = after
        while page := self._ask(number, "by_id", last_id, _PAGE):
            yield from ((number << KEY_BITS | key, name) for key, name in page)
            _, last_id = page[-1]

    def files(self, names: Sequence[str]) -> dict[str, KnownFile]:
        """Return what `Writer.note_file` noted of these files, by name; absent where nothing is.

        The shard that a name belongs to has the row of its file. The first shard has rows of files of other shards,
        too, where a commit was broken off (see `ShardedWriter`): such a file is to be read again.
        """
        names_by_shard: dict[int, list[str]] = {0: list(names)}
        for name in names:
            if number := self._shard_of(name):
                names_by_shard.setdefault(number, []).append(name)
        answers = _complete(
            self.try_some("files", {number: (part,) for number, part in names_by_shard.items()})
        )
        rows_of_first_shard = answers.pop(0)
        files = {name: row for rows in answers.values() for name, row in rows.items()}
        for name, row in rows_of_first_shard.items():
            if (file := files.get(name)) is None:
                files[name] = row
            else:
                documents, own_ids = max(row.documents, file.documents), max(row.own_ids, file.own_ids)
                files[name] = file._replace(documents=documents, own_ids=own_ids, version=None)
        return files

    def noted_files(self) -> list[KnownFile]:
        """Return the files and folders with options or skips, by name."""
        return sorted(chain.from_iterable(self.ask_all("noted_files")))

    def file_names(self, root: str | None) -> Iterator[str]:
        """Names of the files at this name or below it, shard by shard; with "", all relative names."""
        return iter(dict.fromkeys(chain.from_iterable(self.ask_all("file_names", root))))

    def embeddings(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return cached vectors by content hash, whichever shard keeps them."""
        parts = self.ask_all("embeddings", fingerprint, list(hashes))
        return {name: vector for part in parts for name, vector in part.items()}

    def counts(self) -> Counts:
        """Count documents and chunks."""
        return Counts(*map(sum, zip(*self.ask_all("counts"), strict=True)))

    def uncovered(self, leg: str) -> int:
        """Count the chunks that no segment of this leg holds."""
        return sum(self.ask_all("uncovered", leg))


def _complete(answers: ShardAnswers) -> dict[int, Any]:
    """Return the values of all shards that were asked."""
    if answers.failures:
        raise ShardsMissingError(answers.failures)
    return answers.values


def _global(number: int, rows: Sequence[Row]) -> list[Row]:
    return [row._replace(key=number << KEY_BITS | row.key) for row in rows]
