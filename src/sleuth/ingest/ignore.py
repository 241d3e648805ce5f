"""Which files does a folder ask to be left out? `.gitignore` as git reads it, and `.sleuthignore` in the same words.

The rules are those of `git help ignore`: the last pattern that matches decides, a folder that is left out takes all
that lies in it along, a pattern matches an entry itself and never by one of the folders above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

IGNORE_FILES: Final = (".gitignore", ".sleuthignore")
VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn", ".bzr", "CVS", "_darcs", ".jj"})
_MAX_BYTES: Final = 1 << 20
_escaped_slash = re.compile(r"(?<!\\)((?:\\\\)*)\\/")
_SHORTEST: Final = r"(?:[^/]+/)*?"
_POSIX: Final = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r" \t-\r", "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file.

    Attributes:
        regex: matches a whole path, relative to the file's folder, or a name.
        negated: whether what matches is taken back in.
        folders_only: whether only folders match.
        by_path: whether it is matched with the path rather than with the name.
    """

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool
    by_path: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """The patterns of one file, or of one list of globs."""

    patterns: tuple[Pattern, ...]

    @classmethod
    def of(cls, lines: Iterable[str]) -> Rules:
        """The rules that these lines state; comments and lines that no path can match are left out."""
        found = (parse(line) for line in lines)
        return cls(tuple(pattern for pattern in found if pattern is not None))

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """True where the last pattern that matches leaves `path` out, False where it takes it in, None for none."""
        name = path[path.rfind("/") + 1 :]
        for pattern in reversed(self.patterns):
            if pattern.folders_only and not is_folder:
                continue
            if pattern.regex.match(path if pattern.by_path else name):
                return not pattern.negated
        return None

    def chooses(self, path: str) -> bool:
        """Whether the file at `path`, or a folder above it, matches."""
        verdict = self.verdict(path, is_folder=False)
        while verdict is None and "/" in path:
            path = path[: path.rfind("/")]
            verdict = self.verdict(path, is_folder=True)
        return bool(verdict)


def parse(line: str) -> Pattern | None:
    """The pattern that a line states; None for a blank one, a comment, and one that nothing can match."""
    line = _strip_end(line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    glob = line[negated:]
    folders_only = glob.endswith("/")
    glob = _escaped_slash.sub(r"\1/", glob.removesuffix("/"))
    by_path = "/" in glob
    parts = glob.removeprefix("/").split("/")
    source = _path_regex(parts) if by_path else _name_regex(parts[0])
    if not glob or source is None:
        return None
    try:
        return Pattern(re.compile(source + r"\Z", re.DOTALL), negated, folders_only, by_path)
    except re.error:  # a range such as [z-a], which matches nothing
        return None


def _strip_end(line: str) -> str:
    """Without the blanks at its end, save one that a backslash keeps."""
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if backslashes % 2 and len(stripped) < len(line) else stripped


def _path_regex(parts: Sequence[str]) -> str | None:
    """A regex of globs between slashes, where `**` stands for any number of folders.

    What lies between two `**` is matched at the first place where it can be, which loses no match and leaves
    nothing to go back to: hostile patterns cost no more than others.
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
    first, *rest = ["/".join(group) for group in groups]
    if not rest:
        return first
    middle = "".join(f"(?>{_SHORTEST}{group}/)" for group in rest[:-1] if group)
    last = f"(?:[^/]+/)*{rest[-1]}" if rest[-1] else ".+"
    return (first + "/" if first else "") + middle + last


def _name_regex(glob: str) -> str | None:
    """A regex of one name's glob; None where it can match nothing: an open bracket, a backslash at the end."""
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
            found = _bracket(glob, position)
            if found is None:
                return None
            regex, position = found
            segments[-1] += regex
        elif sign == "\\":
            if position == len(glob):
                return None
            segments[-1] += re.escape(glob[position])
            position += 1
        else:
            segments[-1] += re.escape(sign)
    first, *rest = segments
    if not rest:
        return first
    middle = "".join(f"(?>[^/]*?{segment})" for segment in rest[:-1] if segment)
    return f"{first}{middle}[^/]*{rest[-1]}(?![^/])"


def _bracket(glob: str, position: int) -> tuple[str, int] | None:
    """The class of signs that starts after the bracket before `position`, and where it ends; None if it does not."""
    negated = glob[position : position + 1] in ("!", "^")
    position += negated
    signs = ""
    start = position
    while position < len(glob) and (glob[position] != "]" or position == start):
        if glob.startswith("[:", position) and (end := glob.find(":]", position)) > 0:
            name = glob[position + 2 : end]
            if name not in _POSIX:
                return None
            signs += _POSIX[name]
            position = end + 2
            continue
        if glob[position] == "\\":
            position += 1
            if position == len(glob):
                return None
            signs += re.escape(glob[position])
        elif glob[position] == "-" and position > start and glob[position + 1 : position + 2] != "]":
            signs += "-"
        else:
            signs += re.escape(glob[position])
        position += 1
    if position >= len(glob):
        return None
    return f"(?!/)[{'^' if negated else ''}{signs}]", position + 1


@dataclass(frozen=True, slots=True)
class Ignores:
    """The rules in force inside one folder: its own after those of the folders above, so that the nearest decides.

    Attributes:
        rules: (prefix of the paths that they are relative to, rules), outermost first.
    """

    rules: tuple[tuple[str, Rules], ...] = ()

    def entering(self, folder: str, names: Sequence[str] = IGNORE_FILES) -> Ignores:
        """The rules inside `folder`, an absolute path, given those of the folder above it."""
        prefix = folder.rstrip("/") + "/"
        own = [(prefix, _read(folder, name)) for name in names]
        kept = tuple(rule for rule in own if rule[1].patterns)
        return Ignores(self.rules + kept) if kept else self

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether the file or folder at this absolute path is left out, its folder being in."""
        for prefix, rules in reversed(self.rules):
            verdict = rules.verdict(path[len(prefix) :], is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


def _read(folder: str, name: str) -> Rules:
    try:
        with Path(folder, name).open("rb") as file:
            text = file.read(_MAX_BYTES).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    except OSError:  # absent, or not readable: git goes on likewise
        return Rules(())
    return Rules.of(text.split("\n"))


def above(root: str) -> Ignores:
    """The rules that hold in `root` from the folders above it, up to the top of its repository.

    None where `root` lies in no repository: a `.gitignore` somewhere above is then nobody's rule.
    """
    folder = Path(root)
    chain = [folder, *folder.parents]
    top = next((i for i, parent in enumerate(chain) if (parent / ".git").exists()), None)
    rules = Ignores()
    if top is None:
        return rules
    for parent in reversed(chain[1 : top + 1]):
        rules = rules.entering(str(parent))
    return rules
