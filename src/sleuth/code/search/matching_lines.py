"""Finds every line that matches a pattern, in a snapshot and in the files that changed since: complete and counted.

The time that a pattern takes is linear in the text.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sleuth.arguments import check_count
from sleuth.code.parsing.labels import labels_of_path
from sleuth.code.parsing.limits import MAX_BYTES
from sleuth.code.search.filters import file_metadata, read_tree
from sleuth.code.snapshots.diff import changed_files
from sleuth.code.snapshots.record import FileRow
from sleuth.code.snapshots.snapshot import PlainValues, Snapshot
from sleuth.errors import ArgumentError, CodeError, requires
from sleuth.files import decode
from sleuth.files.encodings import is_binary
from sleuth.filters import matches
from sleuth.remote import async_twin, check_cancelled

if TYPE_CHECKING:
    from sleuth.filters import Filter

_MEMORY: Final = 8 << 20
"""Bytes that a compiled pattern may take."""
_SPECIAL: Final = frozenset("\\.+*?()[]{}|^$")
_CODES: Final = frozenset("xpPQC01234567")
"""Letters after a backslash that begin more than one letter."""
_WIDEST: Final = 300
"""Characters of a line that are shown: some four lines of a terminal."""


@dataclass(frozen=True, slots=True)
class LinePattern:
    """A pattern over the lines of a text.

    Attributes:
        literal: bytes that every match has; b"" if that is not known.
        starts: yields where matches start in a text, ascending; a match never leaves its line.
    """

    literal: bytes
    starts: Callable[[bytes], Iterator[int]]

    def lines(self, text: bytes) -> list[LinePlace]:
        """Return the lines of a text that match, each once."""
        places: list[LinePlace] = []
        if self.literal not in text:
            return places
        line, position, end = 1, 0, -1
        for start in self.starts(text):
            if start < end or (start == len(text) and text[-1:] in (b"", b"\n")):
                continue  # of the same line, or behind the last one
            line += text.count(b"\n", position, start)
            position = start
            places.append(LinePlace(line, start))
            end = text.find(b"\n", start) + 1 or len(text) + 1
        return places


class LinePlace(NamedTuple):
    """A line that matches.

    Attributes:
        line: 1-based.
        start: the byte of the text at which its first match starts.
    """

    line: int
    start: int

    def shown(self, text: bytes) -> str:
        """Return the line, or 300 characters of it around the first match."""
        begin = text.rfind(b"\n", 0, self.start) + 1
        end = text.find(b"\n", self.start)
        line = text[begin : end if end >= 0 else None].decode("utf-8", "surrogatepass")
        if len(line) <= _WIDEST:
            return line
        column = len(text[begin : self.start].decode("utf-8", "surrogatepass"))
        first = max(0, min(column - _WIDEST // 3, len(line) - _WIDEST))
        return line[first : first + _WIDEST]


def compile_pattern(pattern: str, *, fixed: bool = False, ignore_case: bool = False) -> LinePattern:
    """Compile a regular expression in the syntax of RE2.

    Args:
        fixed: take the pattern as plain text.

    Raises:
        ArgumentError: an empty pattern, or one that is not a regular expression of RE2, which has no lookaround and no
            back references.
        MissingPackageError: a regular expression, and google-re2 is not installed.
    """
    if not isinstance(pattern, str) or not pattern or "\n" in pattern:
        raise ArgumentError(f"pattern must be a text of one line that is not empty, got {pattern!r}")
    is_plain = fixed or _SPECIAL.isdisjoint(pattern)
    if is_plain and not ignore_case:
        literal = pattern.encode("utf-8", "surrogatepass")
        return LinePattern(literal, lambda text: _occurrences(text, literal))
    expression = re.escape(pattern) if fixed else pattern
    literal = b"" if ignore_case or fixed else required_literal(pattern).encode("utf-8", "surrogatepass")
    return LinePattern(literal, _regular(expression, pattern, ignore_case=ignore_case))


def required_literal(pattern: str) -> str:
    """Return the longest text that every match of a regular expression has; "" if that cannot be told simply.

    Only text outside of groups and classes counts, without a letter that a quantifier follows.
    """
    if "|" in pattern or "(?" in pattern:
        return ""
    runs, run = [], ""  # of letters that every match has one after the other
    depth, at = 0, 0  # how many groups are open at a place
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            if pattern[at + 1 : at + 2] in _CODES:
                return ""
            plain = pattern[at + 1 : at + 2] if not pattern[at + 1 : at + 2].isalnum() else ""
            width = 2
        elif letter == "[":
            end = pattern.find("]", at + (3 if pattern[at + 1 : at + 2] == "^" else 2))
            if end < 0 or "[" in pattern[at + 1 : end] or "\\" in pattern[at + 1 : end]:
                return ""
            plain, width = "", end + 1 - at
        else:
            depth += (letter == "(") - (letter == ")")
            plain, width = "" if letter in _SPECIAL else letter, 1
        at += width
        is_repeated = pattern[at : at + 1] in ("*", "?", "{", "+")
        if plain and depth == 0 and not is_repeated:
            run += plain
        else:
            runs.append(run)
            run = ""
        if pattern[at - 1] == "{" and letter == "{":
            at = pattern.find("}", at) + 1 or len(pattern)
    return max([*runs, run], key=len)


def _occurrences(text: bytes, literal: bytes) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + len(literal))


def _regular(expression: str, pattern: str, *, ignore_case: bool) -> Callable[[bytes], Iterator[int]]:
    with requires("google-re2", "grep", "a regular expression"):
        import re2
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    options.case_sensitive = not ignore_case
    options.max_mem = _MEMORY
    try:
        compiled = re2.compile(f"(?m){expression}".encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args else error
        raise ArgumentError(
            f"pattern must be a regular expression of RE2, got {pattern!r}: {reason}"
        ) from None
    return lambda text: (match.start() for match in compiled.finditer(text))


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
    changes: dict[str, None] = {}
    if worktree:
        with suppress(ArgumentError, CodeError, OSError):  # the repository may not be read
            changes = dict.fromkeys(changed_files(snapshot))
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
        text = text.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n")
        places = pattern.lines(text)
        if places and not is_changed and allowed.accepts is not None:
            at, chunks = snapshot.by_path[path], snapshot.detail(row).chunks
            pieces = [chunk for i, chunk in enumerate(chunks) if allowed.allows(at, i)]
            places = [place for place in places if any(p.start <= place.line <= p.end for p in pieces)]
        if not places:
            continue
        page = places[max(0, offset - lines) : max(0, offset + limit - lines)]
        symbols = snapshot.detail(row).symbols if page and not is_changed else []
        for place in page:
            around = [symbol for symbol in symbols if symbol.start <= place.line <= symbol.end]
            inside = max(around, key=lambda symbol: symbol.start).qualified if around else ""
            selected.append(LineMatch(path, place.line, place.shown(text), inside))
        lines += len(places)
        paths.append(path)
    return LineMatches(tuple(selected), lines, tuple(paths), len(changes))


agrep = async_twin(grep)


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
    text, encoding = decode(content)
    return content if encoding == "utf-8" else text.encode("utf-8", "surrogatepass")
