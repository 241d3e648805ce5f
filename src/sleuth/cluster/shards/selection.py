"""What a filter lets through in all shards, counted: the counts of the shards, added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sleuth.cluster.shards.keys import KEY_BITS
from sleuth.engine import Count, Facet, MetadataKey

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sleuth.engine import Selection
    from sleuth.filters import Scalar

_ALL = 1 << 62


@dataclass(frozen=True)
class GatheredSelection:
    """Selections of all shards, by number; answers as a `Selection` of one index does. No document is in two."""

    selections: Sequence[Selection]

    def count(self) -> Count:
        """Count what is selected."""
        counts = [selection.count() for selection in self.selections]
        return Count(sum(count.documents for count in counts), sum(count.passages for count in counts))

    def document_keys(self) -> NDArray[np.int64]:
        """Keys of the documents, ascending."""
        return np.concatenate(
            [
                selection.document_keys() | number << KEY_BITS
                for number, selection in enumerate(self.selections)
            ]
        )

    def facets(self, key: str, limit: int) -> list[Facet]:
        """The values of a metadata key, the most frequent first, equal ones by value."""
        totals: Counter[tuple[type, Scalar]] = Counter()  # True and 1 are two values
        for selection in self.selections:
            for facet in selection.facets(key, _ALL):
                totals[type(facet.value), facet.value] += facet.documents
        facets = [Facet(value, documents) for (_, value), documents in totals.items()]
        facets.sort(key=lambda facet: (-facet.documents, str(facet.value)))
        return facets[:limit]

    def metadata_keys(self) -> list[MetadataKey]:
        """The metadata keys of what is selected, by name."""
        merged: dict[str, MetadataKey] = {}
        for selection in self.selections:
            for key in selection.metadata_keys():
                before = merged.get(key.name, MetadataKey(key.name, (), 0))
                types = tuple(dict.fromkeys([*before.types, *key.types]))
                merged[key.name] = MetadataKey(key.name, types, before.documents + key.documents)
        return [merged[name] for name in sorted(merged)]
