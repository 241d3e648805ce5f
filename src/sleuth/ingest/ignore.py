"""Which files does a folder ask to be left out? `.gitignore` as git reads it, and `.sleuthignore` in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

IGNORE_FILES: Final = (".gitignore", ".sleuthignore")
VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn", ".bzr", "CVS", "_darcs", ".jj"})
_MAX_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Rules:
    prefix: str
    spec: GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class Ignores:
    """The rules in force inside one folder: its own after those of the folders above, so that the nearest decides."""

    rules: tuple[_Rules, ...] = ()

    def entering(self, folder: str, names: Sequence[str] = IGNORE_FILES) -> Ignores:
        """The rules inside `folder`, an absolute path, given those of the folder above it."""
        own = tuple(_Rules(folder.rstrip("/") + "/", spec) for name in names if (spec := _read(folder, name)))
        return Ignores(self.rules + own) if own else self

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether the file or folder at this absolute path is left out, its folder being in."""
        for rule in reversed(self.rules):
            inside = path[len(rule.prefix) :] + ("/" if is_folder else "")
            verdict = rule.spec.check_file(inside).include
            if verdict is not None:
                return verdict
        return False


def _read(folder: str, name: str) -> GitIgnoreSpec | None:
    try:
        with Path(folder, name).open("rb") as file:
            lines = file.read(_MAX_BYTES).decode("utf-8", "surrogateescape").splitlines()
    except OSError:  # absent, or not readable: git ignores it likewise
        return None
    return _spec(lines)


def _spec(lines: list[str]) -> GitIgnoreSpec | None:
    try:
        spec = GitIgnoreSpec.from_lines(lines)
    except ValueError:
        spec = GitIgnoreSpec.from_lines([line for line in lines if _is_pattern(line)])
    return spec if any(pattern.include is not None for pattern in spec.patterns) else None


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


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
