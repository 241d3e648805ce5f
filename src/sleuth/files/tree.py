"""Files below a folder, without what ignore files leave out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sleuth.files.ignore import IGNORE_FILES, Ignores


def files_below(root: Path, passes_over: Callable[[str, str], bool]) -> Iterator[bytes]:
    """Yield the paths of all files below a folder, relative to it, in no order.

    Links are yielded and not followed. Folders that cannot be read are left out.

    Args:
        passes_over: called with the relative path of a folder (that ends with a slash, or is empty) and a name in it;
            where it is true, the name is not looked at.
    """
    folders = [("", Ignores())]
    while folders:
        prefix, above = folders.pop()
        folder = f"{root}/{prefix}".rstrip("/") or "/"
        try:
            with os.scandir(folder) as entries:
                found = [entry for entry in entries if not passes_over(prefix, entry.name)]
        except OSError:
            continue
        rules = above.entering(folder)
        for entry in found:
            is_folder = entry.is_dir(follow_symlinks=False)
            if rules.rules and rules.ignores(f"{folder}/{entry.name}", is_folder=is_folder):
                continue
            if is_folder:
                folders.append((f"{prefix}{entry.name}/", rules))
            else:
                yield os.fsencode(prefix + entry.name)


def files_of_worktree(root: Path) -> Iterator[bytes]:
    """Yield the files of a worktree that its ignore files do not leave out; repositories inside it are not entered."""

    def passes_over(folder: str, name: str) -> bool:
        return name == ".git" or os.path.lexists(f"{root}/{folder}{name}/.git")  # for every file

    return files_below(root, passes_over)


class IgnoredPaths:
    """Tells which paths below a folder its ignore files leave out. The files of a folder are read once."""

    def __init__(self, root: Path, names: Sequence[str] = IGNORE_FILES) -> None:
        self._root = str(root).rstrip("/")
        self._inside: dict[str, Ignores | None] = {"": Ignores(names=names).entering(self._root)}

    def __contains__(self, path: bytes) -> bool:
        """Whether a file at this relative path is left out, or a folder above it."""
        text = os.fsdecode(path)
        rules = self._rules_in(text[: max(0, text.rfind("/"))])
        return rules is None or rules.ignores(f"{self._root}/{text}", is_folder=False)

    def _rules_in(self, folder: str) -> Ignores | None:
        """The rules inside a folder; None where it is left out itself."""
        at = 0 if folder else -1
        rules = self._inside[""]
        while at >= 0 and rules is not None:
            at = folder.find("/", at + 1)
            inside = folder if at < 0 else folder[:at]
            if inside not in self._inside:
                full = f"{self._root}/{inside}"
                self._inside[inside] = None if rules.ignores(full, is_folder=True) else rules.entering(full)
            rules = self._inside[inside]
        return rules
