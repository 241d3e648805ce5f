"""Reads commits: their messages, parents, paths, and the lines that they changed; lists those of a file; reads diffs.

Git runs as everywhere: without hooks, filters, text converters, external diffs, and programs that settings name. What
settings say of the form of a diff is overridden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Final, NamedTuple

from sleuth.arguments import check_count
from sleuth.code.repository.git import common_folder, text_of
from sleuth.code.repository.process import filters_off, output, run
from sleuth.errors import ArgumentError, CodeError, UnknownCommitError

MOST_CHANGES: Final = 8_000
"""Bytes of changed lines that are kept of a commit."""
_MOST_OF_FILE: Final = 2_000
"""Of one file, so that a large one leaves room for others."""
_MOST_OF_LINE: Final = 200
MOST_FILES: Final = 100
"""A commit that touches more files is an import or a reformat: its lines are not read."""
_LAST_SECOND: Final = 1 << 62
_LARGE: Final = "core.bigFileThreshold=1m"
"""Git compares no lines of files above this size."""

_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HEAD: Final = re.compile(rb"\x01[0-9a-f]{40,64}\0")
_FIELDS: Final = ("%H", "%P", "%ct", "%aI", "%an", "%s", "%b")
_FORMAT: Final = "--format=%x01" + "".join(f"{field}%x00" for field in _FIELDS)
_PLAIN: Final = ("--no-ext-diff", "--no-textconv", "--no-color")
_LOG: Final = ("log", *_PLAIN, "--no-show-signature", "--encoding=UTF-8")
_FORM: Final = ("--no-renames", "--root", "-O/dev/null", "--submodule=short", "--ignore-submodules=none")
"""Options that make what git writes independent of settings."""
_PATHS: Final = ("--raw", "--no-abbrev")
_LINES: Final = ("--patch", "--unified=0", "--inter-hunk-context=0", "--diff-algorithm=myers")
_HUNK: Final = re.compile(r"^@@ -\d+(?:,(?P<old>\d+))? \+(?P<first>\d+)(?:,(?P<count>\d+))? @@", re.M)
_NAMES: Final = r"^--- (?P<old_name>[^\t\r\n]*+)[^\n]*+\n\+\+\+ (?P<name>[^\t\r\n]*+)[^\n]*+\n(?=@@ )"
_FILE_OR_HUNK: Final = re.compile(f"{_NAMES}|{_HUNK.pattern}", re.M)
"""Names of a file stand right before its first hunk: a line that a diff removes may begin with `--` itself."""
_ESCAPE: Final = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED: Final = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


class Commit(NamedTuple):
    """A commit that touched something.

    Attributes:
        id: in full.
        date: of its author, ISO 8601.
        subject, body: its message.
    """

    id: str
    date: str
    author: str
    subject: str
    body: str

    @property
    def message(self) -> str:
        """Its subject and body."""
        return f"{self.subject}\n\n{self.body}".rstrip()


@dataclass(slots=True)
class ReadCommit:
    """A commit as git has it.

    Attributes:
        parents: their ids.
        time: when it was committed, in seconds since the epoch.
        paths: that differ from its only parent; empty for a merge.
        changes: the first lines that it added and removed, and their enclosing definitions as git names them.
    """

    commit: Commit
    parents: tuple[str, ...]
    time: int
    paths: list[str] = field(default_factory=list)
    changes: str = ""


def is_commit_id(text: str) -> bool:
    """Return whether a text is the full id of an object."""
    return _ID.fullmatch(text) is not None


def commits_between(root: Path, tip: str, others: Iterable[str], most: int) -> list[str]:
    """Return the newest ancestors of a commit, itself included, that are not ancestors of others, newest first.

    Args:
        tip: the full id of a commit.
        others: full ids; those that git does not have count for nothing.
        most: how many.

    Raises:
        CodeError: git does not have the commit.
    """
    revisions = [tip, *(f"^{other_id}" for other_id in others)]
    output = run(root, "rev-list", "--ignore-missing", f"--max-count={most}", "--end-of-options", *revisions)
    return output.decode().split()


def cut_commits(root: Path) -> frozenset[str]:
    """Return the commits whose parents a shallow clone leaves out."""
    file = (common_folder(root) or root) / "shallow"
    try:
        return frozenset(file.read_text("ascii").split() if file.is_file() else ())
    except (OSError, UnicodeDecodeError):
        return frozenset()


def read_commits(root: Path, ids: Sequence[str], *, with_changes: bool) -> list[ReadCommit]:
    """Return commits, in the order asked for.

    Where git cannot list the paths of these commits, as in a partial clone, or takes too long, their paths are empty.
    The same goes for changed lines, also of a commit that touches over `MOST_FILES` files.

    Args:
        ids: in full, so few that git takes a second or two.
        with_changes: compare lines too, which takes git most of its time.

    Raises:
        CodeError: git does not have one of them, or failed.
    """
    try:
        commits = _named(root, ids, _PATHS)
    except CodeError:
        return _named(root, ids, ("--no-patch",))
    if with_changes:
        compared = [entry.commit.id for entry in commits if 0 < len(entry.paths) <= MOST_FILES]
        with suppress(CodeError):
            changes = {entry.commit.id: entry.changes for entry in _named(root, compared, _LINES)}
            for entry in commits:
                entry.changes = changes.get(entry.commit.id, "")
    return commits


def read_between(root: Path, tip: str, others: Iterable[str], most: int) -> list[ReadCommit]:
    """`commits_between`, read with their changed lines in one run of git, which is for few."""
    revisions = [tip, *(f"^{other_id}" for other_id in others)]
    options = ("--ignore-missing", f"--max-count={most}", *_PATHS, *_LINES, "--end-of-options", *revisions)
    return _read(root, options, b"")


def _named(root: Path, ids: Sequence[str], options: Sequence[str]) -> list[ReadCommit]:
    if not ids:
        return []
    return _read(root, ("--no-walk=unsorted", "--stdin", *options), "".join(f"{id}\n" for id in ids).encode())


def _read(root: Path, options: Sequence[str], text: bytes) -> list[ReadCommit]:
    settings = ("-c", "core.quotePath=false", "-c", _LARGE)
    with output(root, *settings, *_LOG, _FORMAT, *_FORM, *options, text=text) as lines:
        commits = list(_parsed(lines))
    borders = cut_commits(root)
    for entry in commits:
        if entry.commit.id in borders:  # git shows it as if it added everything
            entry.paths, entry.changes = [], ""
    return commits


def _parsed(lines: Iterable[bytes]) -> Iterator[ReadCommit]:
    """Yield the commits of a log. No line of a diff begins like a commit, and a message holds no NUL."""
    head: list[bytes] = []
    missing = 0
    diff = _Diff()
    for line in lines:
        if missing > 0:
            head.append(line)
            missing -= line.count(b"\0")
        elif _HEAD.match(line):
            if head:
                yield _commit(b"".join(head), diff)
            head, diff = [line], _Diff()
            missing = len(_FIELDS) - line.count(b"\0")
        else:
            diff.add(line)
    if head:
        yield _commit(b"".join(head), diff)


def _commit(head: bytes, diff: _Diff) -> ReadCommit:
    id, parents, time, *fields = text_of(head[1:]).split("\0")[: len(_FIELDS)]
    changes = text_of(b"\n".join(diff.lines))
    seconds = min(int(time), _LAST_SECOND) if time.isdecimal() else 0  # anything can be written into a commit
    return ReadCommit(Commit(id, *fields), tuple(parents.split()), seconds, diff.paths, changes)


class _Diff:
    """What is kept of a commit's diff.

    Attributes:
        paths: that it touches.
        lines: the first that it adds or removes, and the headings of their hunks.
    """

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.lines: list[bytes] = []
        self._left = MOST_CHANGES
        self._left_of_file = _MOST_OF_FILE
        self._is_in_hunk = False

    def add(self, line: bytes) -> None:
        """Take the next line, as git writes it."""
        kind = line[:1]
        if kind == b":":
            self.paths.append(text_of(_unquoted(line.rstrip(b"\n").partition(b"\t")[2])))
        elif kind == b"d":
            self._left_of_file, self._is_in_hunk = _MOST_OF_FILE, False
        elif kind == b"@":
            self._is_in_hunk = True
            self._keep(line.split(b"@@", 2)[-1])
        elif kind in (b"+", b"-") and self._is_in_hunk:
            self._keep(line[1:])

    def _keep(self, text: bytes) -> None:
        if self._left <= 0 or self._left_of_file <= 0:
            return
        if text := text[:_MOST_OF_LINE].strip():
            self.lines.append(text)
            self._left -= len(text)
            self._left_of_file -= len(text)


def _unquoted(path: bytes) -> bytes:
    """Return a path that git may have written in quotes, as one with control characters."""
    if not path.startswith(b'"'):
        return path
    return _ESCAPE.sub(_unescaped, path[1:-1])


def _unescaped(escape_match: re.Match[bytes]) -> bytes:
    code = escape_match[1]
    return bytes([_ESCAPED[code[0]] if len(code) == 1 else int(code, 8) & 0xFF])


def commits_of(
    root: Path,
    path: str,
    *,
    revision: str = "HEAD",
    lines: tuple[int, int] | None = None,
    text: str = "",
    most: int = 20,
) -> list[Commit]:
    """Return the newest commits that touched a file, newest first; renames are followed.

    Args:
        path: relative to `root`.
        revision: a commit, branch or tag; only its ancestors are listed.
        lines: the first and last line, 1-based, in `revision`; None for the whole file.
        text: only commits that added or removed this text; any where empty.
        most: how many.

    Raises:
        ArgumentError: `text` with `lines`, which git does not combine.
        UnknownCommitError: the repository does not have the revision.
        CodeError: lines that the file does not have, or git failed.
    """
    check_count(most, "most", least=1)
    if text and lines is not None:
        raise ArgumentError(f"text must be empty for some lines of a file, got {text!r}; leave out the lines")
    options = ["--no-patch", f"--max-count={most}", _FORMAT]
    if text:
        options.append(f"-S{text}")
    if lines is not None:
        first, last_line = lines
        options += [f"-L{first},{last_line}:{path}", "--end-of-options", revision]
    else:
        options += ["--follow", "--end-of-options", revision, "--", path]
    try:
        log = run(root, "--literal-pathspecs", *filters_off(root), *_LOG, *options)
    except CodeError as error:
        if run(root, *_LOG, "--max-count=1", "--format=%H", "--end-of-options", revision, check=False):
            raise
        raise UnknownCommitError(
            f"revision must be a commit, branch or tag of {root}, got {revision!r}; a commit of a snapshot is gone "
            f"after a force push and `git gc`: `sleuth code index {quote(str(root))}` takes the newest"
        ) from error
    return [entry.commit for entry in _parsed(log.splitlines(keepends=True))]


Lines = dict[str, list[range]]
"""Lines that a change touches in the new version of each file, by path."""


def lines_of_diff(diff: str) -> Lines:
    """Return the lines that a unified diff touches in the new files; where lines are removed, the line before."""
    lines: Lines = {}
    path = ""
    for match in _FILE_OR_HUNK.finditer(diff):
        if match["name"] is not None:
            names = (name.encode("utf-8", "surrogatepass") for name in match.group("old_name", "name"))
            old_name, name = map(text_of, map(_unquoted, names))
            # The prefix is `b/`, or `w/` or `i/` by `diff.mnemonicPrefix`, and none by `diff.noprefix`.
            path = name if name == old_name else re.sub("^[a-z]/", "", name)
        elif path not in ("", "/dev/null"):
            first, count = int(match["first"]), int(match["count"] or 1)
            lines.setdefault(path, []).append(range(max(first, 1), first + max(count, 1)))
    return lines


def lines_before(diff: str, lines: tuple[int, int]) -> tuple[int, int] | None:
    """Return where some lines are in the old file of a diff of one file, without context; None if all are new."""
    first, last_line = lines
    for hunk in reversed(list(_HUNK.finditer(diff))):  # upwards, so that the numbers above a hunk stay true
        count, old_count = int(hunk["count"] or 1), int(hunk["old"] or 1)
        start = int(hunk["first"]) + (not count)  # of removed lines the line before is written
        first = first + old_count - count if first >= start + count else min(first, start)
        last_old = start + old_count - 1
        last_line = last_line + old_count - count if last_line >= start + count else min(last_line, last_old)
    return (first, last_line) if first <= last_line else None


def diff_since(root: Path, revision: str, path: str = "") -> str:
    """Return the diff from a revision to the worktree, or between two as in `A..B`, without context.

    Args:
        path: of one file; all files where empty.

    Raises:
        CodeError: git does not know the revision.
    """
    settings = ("--literal-pathspecs", "-c", "core.quotePath=false", *filters_off(root))
    options = (*_PLAIN, *_LINES, "--src-prefix=a/", "--dst-prefix=b/", "--end-of-options", revision, "--")
    return text_of(run(root, *settings, "diff", *options, *([path] if path else [])))
