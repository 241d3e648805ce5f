"""A query with more words than its author wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sleuth.types import Explanation


@dataclass(frozen=True, slots=True)
class WiderQuery:
    """A query with more words, in the form of the leg that knows words.

    Attributes:
        origins: by added token, the word that it was added for, and why.
        alternatives: by word of the query, the tokens that a passage may hold in its place.
        notes: for the author of the query.
    """

    leg: str
    form: Any
    origins: Mapping[str, str]
    alternatives: Mapping[str, Sequence[str]]
    notes: Sequence[str]

    def marked(self, explanation: Explanation) -> Explanation:
        """Return an explanation whose terms say which word they were added for."""
        _, _, token = explanation.name.rpartition(":")
        parts = tuple(map(self.marked, explanation.parts))
        facts = explanation.facts
        if "df" in facts and token in self.origins:
            facts = {**facts, "added for": self.origins[token]}
        return replace(explanation, facts=facts, parts=parts)
