"""Lists the files below a folder that its ignore files do not exclude."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from sleuth.files.ignore import IGNORE_FILES, Ignores


def files_below(root: Path, passes_over: Callable[[str, str], bool]) -> Iterator[bytes]:
    """Yield the paths of all files below a folder, relative to it, in any order.

    Links are yielded and not followed. Unreadable folders are skipped.

    Args:
        passes_over: called with the relative path of a folder (ending with a slash, or empty) and a name in it; if it
            returns True, the name is skipped.
    """
    folders = [("", Ignores())]
    while folders:
        prefix, above = folders.pop()
        folder = f"{root}/{prefix}".rstrip("/") or "/"
        try:
            with os.scandir(folder) as entries:
                candidates = [entry for entry in entries if not passes_over(prefix, entry.name)]
        except OSError:
            continue
        rules = above.for_subfolder(folder)
        for entry in candidates:
            is_folder = entry.is_dir(follow_symlinks=False)
            if rules.rules and rules.ignores(f"{folder}/{entry.name}", is_folder=is_folder):
                continue
            if is_folder:
                folders.append((f"{prefix}{entry.name}/", rules))
            else:
                yield os.fsencode(prefix + entry.name)


def files_of_worktree(root: Path) -> Iterator[bytes]:
    """Yield the files of a worktree that its ignore files do not exclude; nested repositories are not entered."""

    def passes_over(folder: str, name: str) -> bool:
        return name == ".git" or os.path.lexists(f"{root}/{folder}{name}/.git")  # for every file

    return files_below(root, passes_over)


class IgnoredPaths:
    """The set of paths below a folder that its ignore files exclude. Each ignore file is read once.

    Args:
        names: of the ignore files to obey.
        contents: of the ignore files by relative path, where they are not on disk.
    """

    def __init__(
        self, root: Path, names: Sequence[str] = IGNORE_FILES, contents: Mapping[str, bytes] | None = None
    ) -> None:
        self._root = str(root).rstrip("/")
        by_absolute_path = (
            None if contents is None else {f"{self._root}/{path}": text for path, text in contents.items()}
        )
        self._rules_by_folder: dict[str, Ignores | None] = {  # by relative path; None for an ignored folder
            "": Ignores(names=names, contents=by_absolute_path).for_subfolder(self._root)
        }

    def __contains__(self, path: bytes) -> bool:
        """Return whether a file at this relative path, or a folder above it, is ignored."""
        text = os.fsdecode(path)
        folder = text[: max(0, text.rfind("/"))]
        at = 0 if folder else -1
        rules = self._rules_by_folder[""]
        while at >= 0 and rules is not None:
            at = folder.find("/", at + 1)
            inside = folder if at < 0 else folder[:at]
            if inside not in self._rules_by_folder:
                full = f"{self._root}/{inside}"
                self._rules_by_folder[inside] = (
                    None if rules.ignores(full, is_folder=True) else rules.for_subfolder(full)
                )
            rules = self._rules_by_folder[inside]
        return rules is None or rules.ignores(f"{self._root}/{text}", is_folder=False)
