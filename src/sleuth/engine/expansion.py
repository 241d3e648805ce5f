"""Expands hits to their neighbours, their section or their document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from sleuth.errors import ArgumentError
from sleuth.remote import check_cancelled
from sleuth.types import RetrievedItem

if TYPE_CHECKING:
    from sleuth.store import IndexSnapshot
    from sleuth.store.record.values import Row

Expansion: TypeAlias = int | Literal["section", "document"] | None
"""How many passages on each side, or all of the section or the document; None for the passage alone."""

_BEGINNING: Final = 300
"""Characters of a passage among which the title stands that it begins with."""


def check_expansion(expand: Expansion) -> None:
    """Refuse what is not an expansion.

    Raises:
        ArgumentError: states the rule.
    """
    if expand in (None, "section", "document"):
        return
    if isinstance(expand, bool) or not isinstance(expand, int) or expand < 1:
        raise ArgumentError(f'expand must be 1 or more, "section", "document" or None, got {expand!r}')


def grow(
    snapshot: IndexSnapshot, rows: Sequence[Row], items: Sequence[RetrievedItem], expand: Expansion
) -> list[RetrievedItem]:
    """Return the items with the text around them; one whose passage a better one holds already is left out.

    Each keeps its id, score and explanation; `start_line` and `end_line` are those of the grown text, and
    `extra["passages"]` holds the ids of all that it is made of.
    """
    passages, ids = [], set[int]()
    for row, item in zip(rows, items, strict=True):
        if row.key in ids:
            continue
        check_cancelled()
        around = _around(snapshot, row, expand)
        ids.update(chunk.key for chunk in around)
        first, end_line = around[0].start_line, around[-1].end_line
        lines = {"start_line": first, "end_line": end_line} if first else {}
        passage = item.model_copy(update={"text": join(around), "metadata": {**item.metadata, **lines}})
        passages.append(passage.with_extra(passages=[chunk.id for chunk in around]))
    return passages


def _around(snapshot: IndexSnapshot, row: Row, expand: Expansion) -> list[Row]:
    if isinstance(expand, int):
        return snapshot.neighbours(row.key, expand, expand)
    chunks = snapshot.chunks_of(row.document_id)
    if expand == "document":
        return chunks
    first = tail = [chunk.key for chunk in chunks].index(row.key)
    heading = row.fields.get("heading")
    while first > 0 and chunks[first - 1].fields.get("heading") == heading:
        first -= 1
    if first > 0 and heading:
        # Passages overlap only within a section, and its title stands where it begins: else it began in the one before.
        parts = heading.rpartition(" > ")[2], chunks[first].text[:_BEGINNING]
        title, text = (" ".join(re.findall(r"\w+", part)) for part in parts)
        first -= chunks[first].start < chunks[first - 1].end or title not in text
    while tail + 1 < len(chunks) and chunks[tail + 1].fields.get("heading") == heading:
        tail += 1
    return chunks[first : tail + 1]


def join(rows: Iterable[Row]) -> str:
    """Join the texts of chunks of one document in order: drops overlaps, restores blank lines."""
    return "".join(parts_of(rows))


def parts_of(rows: Iterable[Row]) -> Iterator[str]:
    """Yield what each chunk adds to the text of those before it; together it is what `join` returns."""
    is_first, end, line = True, 0, 0
    for row in rows:
        if is_first:
            yield row.text
        elif row.start <= end:
            yield row.text[end - row.start :]
        else:
            breaks = row.start_line - line if row.start_line else 2 * (row.start - end > 1)
            yield ("\n" * breaks or " ") + row.text
        is_first = is_first and not row.text
        end, line = max(end, row.end), max(line, row.end_line)
