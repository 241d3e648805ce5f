"""Ignore rules of folders: `.gitignore` as git reads it, and `.sleuthignore` in the same syntax.

The rules are those of `git help ignore`: the last pattern that matches decides; an ignored folder excludes everything
in it; a pattern is matched with an entry itself, not with the folders above it. Like git, rules and paths are compared
byte by byte: both are stored as Latin-1 text, one character a byte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sleuth import platform

SLEUTH_IGNORE: Final = ".sleuthignore"
IGNORE_FILES: Final = (".gitignore", SLEUTH_IGNORE)
VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn", ".bzr", "CVS", "_darcs", ".jj"})
MAX_BYTES: Final = 256 << 10
"""Only this much of an ignore file is read: each pattern costs time for each file that it is compared with."""
_escaped_slash = re.compile(r"(?<!\\)((?:\\\\)*)\\/")
_wild = re.compile(r"[*?\[\\]")
_class_name = re.compile(r":([^\]]{0,30}):\]")
_SHORTEST: Final = r"(?:[^/]+/)*?"
_POSIX: Final = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r" \t-\r", "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}  # fmt: skip


class IgnorePattern(NamedTuple):
    """One line of an ignore file.

    Attributes:
        matches: tests a name, or a whole path relative to the file's folder.
        negated: whether a match includes the entry again.
        folders_only: whether only folders match.
        by_path: whether `matches` takes the path rather than the name.
    """

    matches: Callable[[str], object]
    negated: bool
    folders_only: bool
    by_path: bool


class Rules(NamedTuple):
    """The patterns of one file, or of one list of globs."""

    patterns: tuple[IgnorePattern, ...]

    @classmethod
    def of(cls, lines: Iterable[str]) -> Rules:
        """Return the rules in these lines; comments and lines that cannot match any path are dropped."""
        patterns = (parse(line) for line in lines)
        return cls(tuple(pattern for pattern in patterns if pattern is not None))

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return True if the last matching pattern excludes `path`, False if it includes it, None without a match."""
        name = path[path.rfind("/") + 1 :]
        for pattern in reversed(self.patterns):
            if pattern.folders_only and not is_folder:
                continue
            if pattern.matches(path if pattern.by_path else name):
                return not pattern.negated
        return None

    def chooses(self, path: str) -> bool:
        """Return whether the file at `path`, or a folder above it, matches."""
        verdict = self.verdict(path, is_folder=False)
        while verdict is None and "/" in path:
            path = path[: path.rfind("/")]
            verdict = self.verdict(path, is_folder=True)
        return bool(verdict)


def parse(line: str) -> IgnorePattern | None:
    """Return the pattern on a line; None for a blank line, a comment, or a pattern that cannot match."""
    line = line.removesuffix("\r")
    stripped = line.rstrip(" ")  # of trailing blanks, except one that a backslash protects
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    line = stripped + " " if backslashes % 2 and len(stripped) < len(line) else stripped
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    glob = line[negated:]
    folders_only = glob.endswith("/")
    glob = glob.removesuffix("/")
    is_rooted = glob.startswith("/")  # an escaped slash is one that a path would have to begin with
    glob = _escaped_slash.sub(r"\1/", glob)
    by_path = "/" in glob
    matches = _matcher(glob[is_rooted:], by_path=by_path) if glob else None
    return IgnorePattern(matches, negated, folders_only, by_path) if matches else None


def _matcher(glob: str, *, by_path: bool) -> Callable[[str], object] | None:
    """Return a function that tests a glob, or None if the glob cannot match. The commonest globs need no regex."""
    if _wild.search(glob) is None:
        return glob.__eq__
    if glob[0] == "*" and not by_path and _wild.search(glob, 1) is None:
        suffix = glob[1:]
        return lambda name: name.endswith(suffix)
    source = _path_regex(_parts(glob)) if by_path else _name_regex(glob)
    return None if source is None else re.compile(source + r"\Z", re.DOTALL).match


def _parts(glob: str) -> list[str]:
    """Split a glob at its slashes, except those inside brackets."""
    parts = []
    start = position = 0
    while position < len(glob):
        sign = glob[position]
        position += 1
        if sign == "\\":
            position += 1
        elif sign == "[":
            _, position = _bracket(glob, position) or ("", len(glob))  # without an end, it matches nothing
        elif sign == "/":
            parts.append(glob[start : position - 1])
            start = position
    return [*parts, glob[start:]]


def _path_regex(parts: Sequence[str]) -> str | None:
    """Return a regex of globs between slashes, where `**` stands for any number of folders.

    Globs between two `**` are matched at the first possible place. This loses no match and needs no backtracking:
    hostile patterns cost no more than others.
    """
    groups: list[list[str]] = [[]]
    for part in parts:
        if len(part) >= 2 and not part.strip("*"):
            groups.append([])
            continue
        regex = _name_regex(part)
        if regex is None:
            return None
        groups[-1].append(regex)
    first, *further_parts = ["/".join(group) for group in groups]
    if not further_parts:
        return first
    middle = "".join(f"(?>{_SHORTEST}{group}/)" for group in further_parts[:-1] if group)
    last_part = f"(?:[^/]+/)*{further_parts[-1]}" if further_parts[-1] else ".+"
    return (first + "/" if first else "") + middle + last_part


def _name_regex(glob: str) -> str | None:
    """Return a regex of one name's glob; None if it cannot match: an open bracket, or a backslash at the end."""
    segments = [""]
    position = 0
    while position < len(glob):
        sign = glob[position]
        position += 1
        if sign == "*":
            segments.append("")
        elif sign == "?":
            segments[-1] += "[^/]"
        elif sign == "[":
            bracket = _bracket(glob, position)
            if bracket is None:
                return None
            regex, position = bracket
            segments[-1] += regex
        elif sign == "\\":
            if position == len(glob):
                return None
            segments[-1] += re.escape(glob[position])
            position += 1
        else:
            segments[-1] += re.escape(sign)
    first, *further_segments = segments
    if not further_segments:
        return first
    middle = "".join(f"(?>[^/]*?{segment})" for segment in further_segments[:-1] if segment)
    return f"{first}{middle}[^/]*{further_segments[-1]}(?![^/])"


def _bracket(glob: str, position: int) -> tuple[str, int] | None:
    """Return the character class after the bracket before `position`, and where it ends; None if it does not end."""
    negated = glob[position : position + 1] in ("!", "^")
    position += negated
    signs = ""
    start = position
    range_start = ""  # the sign that a range may begin with
    while glob[position : position + 1] != "]" or position == start:
        sign = glob[position : position + 1]
        position += 1
        if sign == "[" and (name := _class_name.match(glob, position)):
            if name.group(1) not in _POSIX:
                return None
            signs += _POSIX[name.group(1)]
            position, range_start = name.end(), ""
            continue
        is_range = sign == "-" and range_start and glob[position : position + 1] not in ("", "]")
        if is_range:
            sign = glob[position]
            position += 1
        if sign == "\\":
            sign = glob[position : position + 1]
            position += 1
        if not sign:
            return None
        if not is_range:
            signs += re.escape(sign)
        elif range_start <= sign:  # else an empty range, as in [z-a]
            signs += f"{re.escape(range_start)}-{re.escape(sign)}"
        range_start = "" if is_range else sign
    if not signs:
        return "[^/]" if negated else "(?!)", position + 1
    return f"(?!/)[{'^' if negated else ''}{signs}]", position + 1


class Ignores(NamedTuple):
    """The rules in force inside one folder: its own after those of the folders above, so that the nearest wins.

    Attributes:
        rules: (prefix of the paths that they are relative to, rules), outermost first.
        names: of the ignore files.
        truncated: whether an ignore file of the last folder entered is larger than `MAX_BYTES`.
        contents: of the ignore files by absolute path; None reads them from the disk.
    """

    rules: tuple[tuple[str, Rules], ...] = ()
    names: Sequence[str] = IGNORE_FILES
    truncated: bool = False
    contents: Mapping[str, bytes] | None = None

    def for_subfolder(self, folder: str, present: Container[str] | None = None) -> Ignores:
        """Return these rules with those of a direct subfolder added; `self` where it adds none.

        Args:
            folder: an absolute path.
            present: names of the entries in the folder; other files are not opened. None opens each file by name.
        """
        files = [f"{folder}/{name}" for name in self.names if present is None or name in present]
        if ".gitignore" in self.names and (present is None or ".git" in present):
            files[:0] = _exclude_file(folder)  # ranks below `.gitignore`: the last rule that matches wins
        prefix = byte_text(folder).rstrip("/") + "/"
        rules_of_files = [
            _read(file) if self.contents is None else _rules(self.contents.get(file, b"")) for file in files
        ]
        truncated = any(is_complete is False for _, is_complete in rules_of_files)
        rules = tuple((prefix, rules) for rules, _ in rules_of_files if rules.patterns)
        if not rules and truncated == self.truncated:
            return self
        return Ignores(self.rules + rules, self.names, truncated, self.contents)

    def ignores(self, path: str | bytes, *, is_folder: bool) -> bool:
        """Return whether the file or folder at this absolute path is ignored, given that its folder is not."""
        path = byte_text(path)
        for prefix, rules in reversed(self.rules):
            verdict = rules.verdict(path[len(prefix) :], is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


def byte_text(path: str | bytes) -> str:
    """Return a path as text of one character a byte."""
    if isinstance(path, str):
        if path.isascii():
            return path
        path = os.fsencode(path)
    return path.decode("latin-1")


def _read(file: str) -> tuple[Rules, bool]:
    """Return the rules of a file, and whether it was read to its end. Links are not followed, as in git."""
    try:
        handle = platform.open_plain(file)
    except (OSError, ValueError):  # absent or unreadable: git ignores this too
        return Rules(()), True
    try:
        return _rules(os.read(handle, MAX_BYTES + 1))
    finally:
        os.close(handle)


def _rules(data: bytes) -> tuple[Rules, bool]:
    """Return the rules in the content of an ignore file, and whether they are all."""
    lines = data[: MAX_BYTES + 1].removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")
    is_complete = len(data) <= MAX_BYTES
    return Rules.of(lines if is_complete else lines[:-1]), is_complete


def _exclude_file(folder: str) -> list[str]:
    """Return the path of `info/exclude` in the repository at this folder; nothing if there is no repository."""
    git = Path(folder, ".git")
    try:
        if git.is_file():  # of a linked worktree
            git = Path(folder, git.read_bytes()[:4096].decode().partition("gitdir:")[2].strip())
            if (common := git / "commondir").is_file():
                git /= common.read_bytes()[:4096].decode().strip()
        return [str(git / "info" / "exclude")]
    except (OSError, ValueError):
        return []


def above(root: str) -> Ignores:
    """Return the rules that the folders above `root` state for it, up to the top of its repository.

    Outside a repository there are no such rules: no `.gitignore` above `root` applies to it.
    """
    folder = Path(root)
    chain = [folder, *folder.parents]
    top = next((i for i, parent in enumerate(chain) if (parent / ".git").exists()), 0)
    rules = Ignores()
    for parent in reversed(chain[1 : top + 1]):
        rules = rules.for_subfolder(str(parent))
    return rules
