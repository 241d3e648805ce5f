"""The texts that `fetch` reads: documents and passages, files and lines of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sleuth.errors import ArgumentError
from sleuth.surfaces.hits import numbered_lines

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.engine import Engine


class FetchedText(NamedTuple):
    """A text and its place.

    Attributes:
        first_line: of `text` in its file, 1-based; None where it has no lines.
        changed: whether the id names other content than these lines have now.
    """

    id: str
    text: str
    metadata: Mapping[str, Any]
    first_line: int | None = None
    changed: bool = False


def document_text(engine: Engine | None, id: str, first: int | None, last: int | None) -> FetchedText | None:
    """Return a passage or a document, or some lines of it; None for an unknown id."""
    from sleuth.answer.context import join_overlapping

    passages = engine.get(id) if engine else []
    if not passages:
        return None
    metadata = dict(passages[0].metadata)
    text = passages[0].text
    for item in passages[1:]:
        text = join_overlapping(text, item.text)
    begin = metadata.get("start_line")
    if len(passages) > 1:
        for key in ("end_line", "page", "heading"):
            metadata.pop(key, None)
    if first is not None and last is not None and begin is not None:
        lines, _ = numbered_lines(passages)
        text = "\n".join(lines.get(n, "") for n in range(first, min(last, max(lines, default=0)) + 1))
        metadata |= {"start_line": first, "end_line": last}
        begin = first
    return FetchedText(id, text, metadata, begin)


def code_text(
    snapshots: Sequence[Snapshot],
    id: str,
    path: str,
    first: int | None,
    last: int | None,
    *,
    digest: str = "",
) -> FetchedText | None:
    """Return a file of a snapshot, or some lines of it; None for an unknown path.

    Args:
        path: absolute.
        digest: of the text that the id named; "" where it names none.

    Raises:
        ArgumentError: lines after the end of the file.
    """
    from sleuth.code.search.context import piece_id
    from sleuth.code.search.filters import file_metadata

    for snapshot in snapshots:
        root = f"{snapshot.repository.path}/"
        at = snapshot.by_path.get(path.removeprefix(root)) if path.startswith(root) else None
        if at is None:
            continue
        row = snapshot.files[at]
        metadata = file_metadata(snapshot, row)
        start, end = first or 1, min(last or row.lines, row.lines)
        if start > row.lines:
            raise ArgumentError(f"id must have lines up to {row.lines}, got {id!r}")
        text = snapshot.lines(row, start, end)
        fields = {key: metadata[key] for key in ("source", "path", "language", "snapshot", "source_type")}
        has_changed = not piece_id(metadata["source"], start, end, text).endswith(digest)
        return FetchedText(id, text, {**fields, "start_line": start, "end_line": end}, start, has_changed)
    return None
