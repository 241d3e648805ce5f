"""A retriever whose items say which source they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sleuth.filters import And, Compare, Filter, FilterForm, Not, as_filter, matches
from sleuth.remote import async_twin
from sleuth.types import Ranking

if TYPE_CHECKING:
    from sleuth.protocols import Retriever

KEY = "source_type"
"""The metadata key that holds the label."""


@dataclass(frozen=True)
class LabelledRetriever:
    """A retriever that puts a label into the metadata of each item, as `source_type`.

    Filters on `source_type` are evaluated here, so that they work over sources that do not know this key.

    Attributes:
        label: such as "docs" or "code"; it replaces a value that the item has under that key.
    """

    retriever: Retriever
    label: str

    def retrieve(self, query: str, k: int = 10, *, filter: FilterForm = None) -> Ranking:
        """Return the retriever's hits, labelled; nothing if the filter excludes the label."""
        tree = decided(as_filter(filter), {KEY: self.label})
        if tree is False:
            self.retriever.retrieve(query, 0)  # raises for a wrong query here too
            return Ranking(())
        ranking = self.retriever.retrieve(query, k, filter=None if tree is True else tree)
        items = [item.model_copy(update={"metadata": {**item.metadata, KEY: self.label}}) for item in ranking]
        return Ranking(items, ranking.parts, ranking.notes)

    aretrieve = async_twin(retrieve)


def decided(tree: Filter | None, facts: Mapping[str, Any]) -> Filter | bool:
    """Evaluate the parts of a filter that `facts` decide; return the rest, or True or False if nothing is left.

    Args:
        facts: metadata that every item has.
    """
    if tree is None:
        return True
    if isinstance(tree, Compare):
        return matches(tree, facts) if tree.key in facts else tree
    if isinstance(tree, Not):
        part = decided(tree.part, facts)
        return (not part) if isinstance(part, bool) else Not(part)
    neutral = isinstance(tree, And)  # true adds nothing to "all", false nothing to "any"
    parts = [decided(part, facts) for part in tree.parts]
    if any(part is (not neutral) for part in parts):
        return not neutral
    open_parts = tuple(part for part in parts if not isinstance(part, bool))
    if len(open_parts) < 2:
        return open_parts[0] if open_parts else neutral
    return type(tree)(open_parts)
