"""What a filter lets through in all shards, counted: the counts of the shards, added."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sleuth.cluster.shards.layout import KEY_BITS
from sleuth.engine.selection import Count, Facet, MetadataKey, ordered_types

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sleuth.cluster.shards.snapshot import GatheredSnapshot
    from sleuth.filters import Filter
    from sleuth.filters.tree import Scalar

_ALL = 1 << 62


@dataclass(frozen=True)
class GatheredSelection:
    """What is selected of all shards; answers as a `Selection` of one index does. No document is in two shards.

    Attributes:
        tree: a filter; None for all.
        query: one of its words must be held; None for all.
    """

    snapshot: GatheredSnapshot
    tree: Filter | None
    query: str | None

    def _ask(self, question: str, *arguments: Any) -> list[Any]:
        """Return each shard's answer about its own selection, by number."""
        return self.snapshot.ask_all("selected", self.tree, self.query, question, *arguments)

    def count(self) -> Count:
        """Count what is selected."""
        counts = self._ask("count")
        return Count(sum(count.documents for count in counts), sum(count.passages for count in counts))

    def document_keys(self) -> NDArray[np.int64]:
        """Keys of the documents, ascending."""
        return np.concatenate(
            [keys | number << KEY_BITS for number, keys in enumerate(self._ask("document_keys"))]
        )

    def facets(self, key: str, limit: int) -> list[Facet]:
        """Return the values of a metadata key, the most frequent first, equal ones by value."""
        totals: Counter[tuple[type, Scalar]] = Counter()  # True and 1 are two values
        for facets_of_shard in self._ask("facets", key, _ALL):
            for facet in facets_of_shard:
                totals[type(facet.value), facet.value] += facet.documents
        facets = [Facet(value, documents) for (_, value), documents in totals.items()]
        facets.sort(key=lambda facet: (-facet.documents, str(facet.value)))
        return facets[:limit]

    def metadata_keys(self) -> list[MetadataKey]:
        """Return the metadata keys of the selection, by name."""
        keys_by_name: dict[str, MetadataKey] = {}
        for keys in self._ask("metadata_keys"):
            for key in keys:
                known_key = keys_by_name.get(key.name, MetadataKey(key.name, (), 0))
                types = ordered_types([*known_key.types, *key.types])
                keys_by_name[key.name] = MetadataKey(key.name, types, known_key.documents + key.documents)
        return [keys_by_name[name] for name in sorted(keys_by_name)]
