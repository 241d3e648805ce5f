"""Finds what an id or a path names, with its lines: passages, documents, and files of a snapshot of code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sleuth.answer.context import join_overlapping
from sleuth.errors import ArgumentError
from sleuth.filters import any_of, field
from sleuth.ingest import file_of, is_below
from sleuth.ingest.roots import printable

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.engine.engine import Engine
    from sleuth.filters import Filter
    from sleuth.types import RetrievedItem

_LINES: Final = re.compile(r"(?P<path>.+):(?P<first>\d+)(?:-(?P<last>\d+))?", re.DOTALL)


def passages_of(engine: Engine, name: str) -> list[RetrievedItem]:
    """Return the passages of the file at a path, of its rows or lines, or of the document of an id.

    Raises:
        ArgumentError: nothing has this name.
    """
    file = engine.files.name_of(name)
    items = engine.get(file) or engine.get(printable(name))
    if not items:
        rows = [document for document in engine.documents(under=file) if file_of(document) == file]
        rows.sort(key=lambda row: (len(row.source), row.source))  # by number
        items = [item for row in rows for item in engine.get(row.id)]
    if not items and (lines := _LINES.fullmatch(name)):
        start, end = int(lines["first"]), int(lines["last"] or lines["first"])
        items = [
            item
            for item in passages_of(engine, lines["path"])
            if item.metadata.get("start_line", end + 1) <= end and item.metadata.get("end_line", 0) >= start
        ]
    if not items:
        raise ArgumentError(
            f"id must name a passage or a document of this index, got {name!r}; `sleuth list` prints those of "
            "documents, `sleuth search --json` those of passages"
        )
    return items


def documents_at(engine: Engine, name: str) -> list[str]:
    """Return the ids of the documents from the file at a path or from the folder there, else its id."""
    root = engine.files.name_of(name)
    ids = [
        document.id
        for document in engine.documents(under=root or None)
        if "path" in document.metadata and is_below(file_of(document), root)
    ]
    return ids or [root if engine.get(root) else printable(name)]


def within(key: str, names: Iterable[str]) -> Filter | None:
    """Return a filter for files and folders, by the names that an index gives them; None for all, without names.

    Args:
        key: of the metadata with a name; the name "" means the folder of the index, whose files have relative names.
    """
    path = field(key)
    parts = [
        (path == name) | path.starts_with(f"{name}/") if name else path.exists() & ~path.starts_with("/")
        for name in names
    ]
    return any_of(*parts) if parts else None


def numbered_lines(passages: Sequence[RetrievedItem]) -> tuple[dict[int, str], dict[str, range]]:
    """Return the lines of a document by number, and the numbers of each passage's lines by its id.

    Passages may overlap. Those without lines of a file are numbered from 1 as they follow each other.
    """
    lines: dict[int, str] = {}
    numbers: dict[str, range] = {}
    start, tail = 1, ""
    for item in passages:
        union = join_overlapping(tail, item.text) if tail else item.text
        start += union.count("\n", 0, len(union) - len(item.text))
        start = int(item.metadata.get("start_line") or start + (len(union) > len(tail) + len(item.text)))
        tail = item.text
        texts = tail.split("\n")
        numbers[item.id] = range(start, start + len(texts))
        for number, line in enumerate(texts, start):
            earlier_line = lines.get(number)
            if earlier_line is None or earlier_line in line:
                lines[number] = line
            elif line not in earlier_line:
                lines[number] = join_overlapping(earlier_line, line).replace("\n", " ")
    return lines, numbers


def text_of(passages: Sequence[RetrievedItem]) -> str:
    """Return the text of a document from its passages, with blank lines where the file had some."""
    lines, _ = numbered_lines(passages)
    numbers = range(min(lines, default=1), max(lines, default=0) + 1)
    return "\n".join(lines.get(number, "") for number in numbers)


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
    passages = engine.get(id) if engine else []
    if not passages:
        return None
    metadata = dict(passages[0].metadata)
    begin = metadata.get("start_line")
    if len(passages) > 1:
        for key in ("end_line", "page", "heading"):
            metadata.pop(key, None)
    if first is None or last is None or begin is None:
        text = reduce(join_overlapping, (item.text for item in passages))
        return FetchedText(id, text, metadata, begin)
    lines, _ = numbered_lines(passages)
    text = "\n".join(lines.get(n, "") for n in range(first, min(last, max(lines, default=0)) + 1))
    return FetchedText(id, text, metadata | {"start_line": first, "end_line": last}, first)


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
