"""Finds every line that matches a pattern, in a snapshot and in the files that changed since: complete and counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sleuth.arguments import check_count
from sleuth.code.parsing.labels import labels_of_path
from sleuth.code.parsing.limits import MAX_BYTES
from sleuth.code.search.filters import CodeFilter, file_metadata, read_tree
from sleuth.code.search.patterns import LinePattern, LinePlace
from sleuth.code.snapshots.diff import changed_files
from sleuth.code.snapshots.record import FileRow
from sleuth.code.snapshots.snapshot import PlainValues, Snapshot
from sleuth.errors import ArgumentError, CodeError
from sleuth.files import decode
from sleuth.files.encodings import is_binary
from sleuth.filters import matches
from sleuth.remote import async_twin, check_cancelled

if TYPE_CHECKING:
    from sleuth.filters import Filter


@dataclass(frozen=True, slots=True)
class LineMatch(PlainValues):
    """A line that matches.

    Attributes:
        line: 1-based.
        text: the line, or 300 characters of it around the first match.
        inside: the qualified name of the definition around it; "" at the top of a file and in a changed file.
    """

    file_path: str
    line: int
    text: str
    inside: str = ""


@dataclass(frozen=True, slots=True)
class LineMatches:
    """Some of the lines that match, and how many there are.

    Attributes:
        matches: in order of path and line.
        lines: how many match in all.
        paths: of all files with a line that matches.
        changed: how many files were read from the disk, because they differ from the snapshot.
    """

    matches: tuple[LineMatch, ...]
    lines: int
    paths: tuple[str, ...]
    changed: int = 0

    @property
    def files(self) -> int:
        """How many files match in all."""
        return len(self.paths)


def grep(
    snapshot: Snapshot,
    pattern: LinePattern,
    *,
    limit: int = 100,
    offset: int = 0,
    filter: Filter | None = None,
    worktree: bool = True,
) -> LineMatches:
    """Find all lines that match, and return `limit` of them from `offset` on.

    Binary files, and files that are too large to be indexed, are not searched.

    Args:
        pattern: of `compile_pattern`.
        filter: over the metadata of pieces of code, as for a search. For files that differ from the snapshot,
            only the metadata of the file counts.
        worktree: read files that differ from the snapshot from the disk, if the repository may be read.

    Raises:
        ArgumentError: a limit or an offset below 0.
    """
    check_count(limit, "limit")
    check_count(offset, "offset")
    allowed = read_tree(snapshot, filter)
    changes = _changed(snapshot) if worktree else {}
    selected: list[LineMatch] = []
    lines, paths = 0, list[str]()
    rows = {row.path: row for row in snapshot.files}
    for path in changes.keys() - rows.keys():  # that only the disk has
        rows[path] = FileRow(-1, path, "", *labels_of_path(path), "", 0, 0, "", 0, 0)
    for path, row in sorted(rows.items()):
        check_cancelled()
        is_changed = path in changes
        if is_changed:
            if filter is not None and not matches(filter, file_metadata(snapshot, row)):
                continue
        elif allowed.files is not None and not allowed.files[snapshot.by_path[path]]:
            continue
        text = _on_disk(snapshot, row) if is_changed else snapshot.storage.content(row.hash)
        if text is None or pattern.literal not in text:
            continue
        text = text.replace(b"\r\n", b"\n")
        places = pattern.lines(text)
        if not is_changed:
            places = _allowed(snapshot, row, places, allowed)
        if not places:
            continue
        first = max(0, offset - lines)
        stop = max(0, offset + limit - lines)
        selected += _described(snapshot, row, text, places[first:stop], is_changed=is_changed)
        lines += len(places)
        paths.append(path)
    return LineMatches(tuple(selected), lines, tuple(paths), len(changes))


agrep = async_twin(grep)


def _changed(snapshot: Snapshot) -> dict[str, None]:
    """Return the paths that differ from the snapshot; nothing if the repository may not be read."""
    try:
        return dict.fromkeys(changed_files(snapshot))
    except (ArgumentError, CodeError, OSError):
        return {}


def _on_disk(snapshot: Snapshot, row: FileRow) -> bytes | None:
    """Return the text of a file on the disk as UTF-8; None if it is gone or not a text."""
    path = Path(snapshot.repository.path) / row.path
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    if is_binary(content):
        return None
    try:
        content.decode()
    except UnicodeDecodeError:
        return decode(content)[0].encode("utf-8", "surrogatepass")
    return content


def _allowed(
    snapshot: Snapshot, row: FileRow, places: list[LinePlace], allowed: CodeFilter
) -> list[LinePlace]:
    """Return the lines that stand in a piece of code that may answer."""
    if allowed.accepts is None or not places:
        return places
    at = snapshot.by_path[row.path]
    pieces = [chunk for i, chunk in enumerate(snapshot.detail(row).chunks) if allowed.allows(at, i)]
    return [place for place in places if any(piece.start <= place.line <= piece.end for piece in pieces)]


def _described(
    snapshot: Snapshot, row: FileRow, text: bytes, places: Sequence[LinePlace], *, is_changed: bool
) -> Iterator[LineMatch]:
    if not places:
        return
    symbols = [] if is_changed else snapshot.detail(row).symbols
    for place in places:
        around = [symbol for symbol in symbols if symbol.start <= place.line <= symbol.end]
        inside = max(around, key=lambda symbol: symbol.start).qualified if around else ""
        yield LineMatch(row.path, place.line, place.shown(text), inside)
