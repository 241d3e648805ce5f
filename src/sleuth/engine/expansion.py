"""Expands hits to their neighbours, their section or their document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from sleuth.errors import ArgumentError
from sleuth.remote import check_cancelled
from sleuth.types import RetrievedItem

if TYPE_CHECKING:
    from sleuth.store import IndexSnapshot
    from sleuth.store.record.values import Row

Expansion: TypeAlias = int | Literal["section", "document"] | None
"""How many passages on each side, or all of the section or the document; None for the passage alone."""

_REACH: Final = 16
"""Passages on each side among which most sections end: a book has thousands, which are read for a longer one."""
_BEGINNING: Final = 300
"""Characters of a passage among which the title stands that it begins with."""


def check_expansion(expand: Expansion) -> None:
    """Refuse what is not an expansion.

    Raises:
        ArgumentError: states the rule.
    """
    is_count = isinstance(expand, int) and not isinstance(expand, bool) and expand >= 1
    if not is_count and expand not in (None, "section", "document"):
        raise ArgumentError(f'expand must be 1 or more, "section", "document" or None, got {expand!r}')


def grow(
    snapshot: IndexSnapshot,
    keys: Mapping[str, int],
    items: Sequence[RetrievedItem],
    expand: Expansion,
    grown: dict[str, tuple[str, dict[str, int], list[str]]],
) -> list[RetrievedItem]:
    """Return the items with the text around them; one whose passage a better one holds already is left out.

    Each keeps its id, score and explanation; `start_line` and `end_line` are those of the grown text, and
    `extra["passages"]` holds the ids of all that it is made of.

    Args:
        keys: of the passages by id; only those are read that no better one holds.
        grown: by id, the text, the lines and the ids of what was grown before; gets those of the others.
    """
    passages, ids = [], set[str]()
    for item in items:
        if item.id in ids:
            continue
        if item.id not in grown:
            check_cancelled()
            (row,) = snapshot.rows([keys[item.id]])
            around = _around(snapshot, row, expand)
            first, end_line = around[0].start_line, around[-1].end_line
            lines = {"start_line": first, "end_line": end_line} if first else {}
            grown[item.id] = join(around), lines, [chunk.id for chunk in around]
        text, lines, held_ids = grown[item.id]
        ids.update(held_ids)
        passage = item.model_copy(update={"text": text, "metadata": {**item.metadata, **lines}})
        passages.append(passage.with_extra(passages=held_ids))
    return passages


def _around(snapshot: IndexSnapshot, row: Row, expand: Expansion) -> list[Row]:
    if expand == "document":
        return snapshot.chunks_of(row.document_id)
    heading, reach = row.fields.get("heading"), expand if isinstance(expand, int) else _REACH
    chunks = snapshot.neighbours(row.key, reach, reach)
    if expand != "section":
        return chunks
    if heading in (chunks[0].fields.get("heading"), chunks[-1].fields.get("heading")):
        chunks = snapshot.chunks_of(row.document_id)
    first = tail = [chunk.key for chunk in chunks].index(row.key)
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
