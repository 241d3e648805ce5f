"""Ranked passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, overload

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from sleuth.types.explanations import Explanation, PartReport


def documents_of(ids: Iterable[str]) -> list[str]:
    """Return the id of the document of each passage: its id without "#3"."""
    documents = []
    for id in ids:
        document, _, number = id.rpartition("#")
        documents.append(document if document and number.isdecimal() else id)
    return documents


def document_of(id: str) -> str:
    """Return the id of the document of a passage."""
    return documents_of((id,))[0]


class RetrievedItem(BaseModel):
    """A ranked passage.

    Attributes:
        id: names the chunk, or the document where a source has no chunks; `document_id` names the document.
        text: the passage.
        metadata: what loaders and users wrote.
        score: higher is better; None where a source ranks without scores.
        extra: for plugins; `explanation` holds an `Explanation` where one was asked for, `copies` the ids of passages
            that are left out of the ranking because they repeat this one, `folded` how many hits with the same value
            of a key it stands for. An explained hit of an index, or of several sources, has `share`: how much it has in
            common with the query, 0 to 1, which is what `min_score` limits.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    id: str
    text: str
    metadata: Mapping[str, Any] = Field(default_factory=dict)
    score: FiniteFloat | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    def with_extra(self, **extra: Any) -> Self:
        """Return a copy with more values in `extra`."""
        return self.model_copy(update={"extra": {**self.extra, **extra}})

    @property
    def document_id(self) -> str:
        """The id of the document that holds the passage, as `Engine.get` and `delete` take it: `id` without "#3"."""
        return document_of(self.id)

    @property
    def copies(self) -> tuple[str, ...]:
        """The ids of passages that are left out of the ranking because they repeat this one."""
        return tuple(self.extra.get("copies", ()))

    @property
    def folded(self) -> int:
        """How many more hits it stands for: those with the same value of the key that a search collapses by."""
        return int(self.extra.get("folded", 0))

    @property
    def explanation(self) -> Explanation | None:
        """Why this item has its score, where the caller asked for explanations."""
        return self.extra.get("explanation")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        extra = {k: v.to_dict() if isinstance(v, Explanation) else v for k, v in self.extra.items()}
        return vars(self) | {"metadata": dict(self.metadata), "extra": extra}


class Ranking(Sequence[RetrievedItem]):
    """Items best first, equal scores by id, with a report of the parts that made it. Immutable.

    Attributes:
        items: the hits.
        parts: one report per leg or slice, in a stable order; empty where there was one part and it answered.
        notes: sentences for the author of the query, such as that no document has a key of the filter.
    """

    __slots__ = ("items", "notes", "parts")

    def __init__(
        self, items: Sequence[RetrievedItem], parts: Sequence[PartReport] = (), notes: Sequence[str] = ()
    ) -> None:
        self.items = tuple(items)
        self.parts = tuple(parts)
        self.notes = tuple(notes)

    @property
    def failures(self) -> tuple[PartReport, ...]:
        """The parts that did not answer: non-empty means that this ranking is degraded."""
        return tuple(part for part in self.parts if part.status in ("failed", "abandoned"))

    def without_details(self) -> Ranking:
        """Return the ranking with reports of its parts that tell nothing of servers and files."""
        return Ranking(self.items, [part.without_details() for part in self.parts], self.notes)

    @overload
    def __getitem__(self, index: int) -> RetrievedItem: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RetrievedItem]: ...
    def __getitem__(self, index: int | slice) -> RetrievedItem | Sequence[RetrievedItem]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[RetrievedItem]:
        return iter(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranking) and self.items == other.items

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        best = ", ".join(
            item.id if item.score is None else f"{item.id} {item.score:.3g}" for item in self[:3]
        )
        state = ", degraded" if self.failures else ""
        return (
            f"Ranking({len(self)} items{state}{f': {best}' if best else ''}{', …' if len(self) > 3 else ''})"
        )
