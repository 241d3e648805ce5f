"""The context of an answer: which passages it may use, and in what order.

Best first until the budget is spent; near-duplicates are left out, and neighbouring chunks of one document
become one passage. The best stand at the two ends, where models read best (Liu et al., "Lost in the Middle",
TACL 2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Literal

from sleuth.arguments import check_count
from sleuth.errors import ArgumentError
from sleuth.text.borders import split_sentences
from sleuth.text.budget import CountTokens, approximate_tokens, longest_prefix, pack
from sleuth.text.repeats import Repeats
from sleuth.types import RetrievedItem, document_of

Order = Literal["ends", "best-first"]

_OVERHEAD = 24
"""Tokens that the fence and the source line of a passage take, about."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A numbered passage of a context.

    Attributes:
        number: 1 for the best; what citations name.
        text: the passages' text, merged where there are several.
        items: what it was made of, in the order of the document.
    """

    number: int
    text: str
    items: tuple[RetrievedItem, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the items it was made of."""
        return tuple(item.id for item in self.items)

    @property
    def source(self) -> str:
        """Path, url or id, with page or lines where they are known."""
        return describe_source(self.items)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON: what a list of sources needs."""
        metadata = self.items[0].metadata
        values = {
            "number": self.number,
            "ids": list(self.ids),
            "source": self.source,
            "title": str(metadata.get("title") or ""),
            "heading": str(metadata.get("heading") or ""),
        }
        if "source_type" in metadata:
            values["source_type"] = str(metadata["source_type"])
        return values


def assemble(
    items: Sequence[RetrievedItem],
    *,
    budget: int = 3000,
    order: Order = "ends",
    count_tokens: CountTokens = approximate_tokens,
) -> list[Passage]:
    """Return the passages that fit into `budget` tokens, in the order to show them.

    Args:
        items: best first.
        budget: tokens for all passages together. A passage that does not fit is passed over for a shorter one
            after it; where none fits, the beginning of the best is taken.
        order: "ends" puts the best first, the second best last, and the rest between them; "best-first" as
            ranked.

    Raises:
        ArgumentError: a budget below 1, or an unknown order.
    """
    check_count(budget, "budget", least=1)
    if order not in ("ends", "best-first"):
        raise ArgumentError(f"order must be 'ends' or 'best-first', got {order!r}")
    candidates = drop_repeats(items)
    ranks = pack([count_tokens(item.text) + _OVERHEAD for item in candidates], budget)
    passages: list[Passage] = []
    next_id = ""
    for rank in sorted(ranks, key=lambda rank: _place_of(candidates[rank].id)):
        item = candidates[rank]
        if item.id == next_id:  # chunks that follow each other in a document are one passage
            neighbour = passages.pop()
            text = join_overlapping(neighbour.text, item.text)
            passages.append(Passage(min(neighbour.number, rank), text, (*neighbour.items, item)))
        else:
            passages.append(Passage(rank, item.text, (item,)))
        document, number = _place_of(item.id)
        next_id = f"{document}#{number + 1}" if number >= 0 else ""
    if not passages and items:
        text = cut_text(items[0].text, max(1, budget - _OVERHEAD), count_tokens)
        passages = [Passage(0, text, (items[0],))]
    passages.sort(key=attrgetter("number"))
    numbered = [replace(passage, number=number) for number, passage in enumerate(passages, 1)]
    return numbered if order == "best-first" else [*numbered[::2], *reversed(numbered[1::2])]


def drop_repeats(items: Sequence[RetrievedItem]) -> list[RetrievedItem]:
    """Return `items` without those whose text repeats that of a better one."""
    repeats = Repeats()
    return [item for item in items if repeats.add(item.text) is None]


def cut_text(text: str, budget: int, count_tokens: CountTokens) -> str:
    """Return the first sentences of a text that fit into `budget` tokens; part of the first if it does not fit."""
    end = 0
    for _, stop in split_sentences(text):
        if count_tokens(text[:stop]) > budget:
            break
        end = stop
    return text[:end] if end else longest_prefix(text, budget, count_tokens)


def _place_of(id: str) -> tuple[str, int]:
    """Return the document of a chunk and its number in it, from an id such as "guide.md#3"; -1 in other ids."""
    document = document_of(id)
    return document, -1 if document == id else int(id.removeprefix(f"{document}#"))


def join_overlapping(before: str, after: str) -> str:
    """Join two neighbouring chunks into one text; what ends the first and begins the second stands once."""
    longest = min(len(before), len(after))
    for size in range(longest, 7, -1):
        if before.endswith(after[:size]):
            return before + after[size:]
    return f"{before}\n{after}"


def describe_source(items: Sequence[RetrievedItem]) -> str:
    """Say in one line where a passage stands: path, url or id, then page, lines or, without these, the heading."""
    first, last_item = items[0], items[-1]
    metadata = first.metadata
    name = str(metadata.get("path") or metadata.get("source") or metadata.get("url") or first.id)
    pages = [item.metadata["page"] for item in (first, last_item) if item.metadata.get("page")]
    if pages:
        return f"{name} p.{pages[0]}" if pages[0] == pages[-1] else f"{name} p.{pages[0]}-{pages[-1]}"
    start, end = metadata.get("start_line"), last_item.metadata.get("end_line")
    if start and end:
        return f"{name}:{start}-{end}"
    heading = str(metadata.get("heading") or "").rpartition(" > ")[2]
    return f"{name} § {heading}" if heading else name


def time_of(metadata: Mapping[str, Any]) -> datetime | None:
    """Return when a source was changed: `modified` is a time in ISO 8601, as files have it, or seconds."""
    modified = metadata.get("modified")
    try:
        if isinstance(modified, str):
            time = datetime.fromisoformat(modified)
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        return datetime.fromtimestamp(modified, UTC) if isinstance(modified, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None
