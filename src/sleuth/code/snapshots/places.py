"""Files of a snapshot by the end of a path or of a module's name.

Positions are kept by the last part only, one list entry per file: what a longer end means is found among those.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

_REMEMBERED = 50_000
"""Names of modules whose files are remembered: most files import the same ones."""


class Placed(Protocol):
    """Something with a path."""

    @property
    def path(self) -> str:
        """Parts joined with slashes."""


class Endings:
    """Positions of paths by their last one to `most` parts."""

    def __init__(self, paths: Sequence[str], most: int) -> None:
        self._paths = paths
        self._most = most
        self._by_last: dict[str, list[int]] = {}
        for i, path in enumerate(paths):
            self._by_last.setdefault(path.rpartition("/")[2], []).append(i)

    def get(self, end: str, default: Sequence[int] = ()) -> list[int]:
        """Ascending; the default where no path ends like this, or the end has too many parts."""
        inside = end.count("/")
        paths = self._by_last.get(end.rpartition("/")[2])
        if paths is None or inside >= self._most:
            return list(default)
        if not inside:
            return paths
        suffix = f"/{end}"
        return [i for i in paths if self._paths[i].endswith(suffix) or self._paths[i] == end] or list(default)


class Folders:
    """Positions of files by the last one to six parts of their folder's path."""

    def __init__(self, files: Sequence[Placed]) -> None:
        self._files: dict[str, list[int]] = {}
        for i, file in enumerate(files):
            self._files.setdefault(file.path.rpartition("/")[0], []).append(i)
        self._folders = list(self._files)
        self._endings = Endings(self._folders, 6)

    def get(self, end: str, default: Sequence[int] = ()) -> list[int]:
        """Ascending; the default where no file's folder ends like this."""
        if not end:
            return list(default)
        files = [i for f in self._endings.get(end) for i in self._files[self._folders[f]]]
        return sorted(files) or list(default)


class Modules:
    """Positions of files by the last one to eight parts of their path joined with dots, without extension."""

    def __init__(self, files: Sequence[Placed]) -> None:
        self._files = files
        self._by_last: dict[str, list[int]] = {}
        for i, file in enumerate(files):
            last_step = module_steps(file.path)[-1]
            self._by_last.setdefault(last_step.rpartition(".")[2], []).append(i)
        self._known = lru_cache(maxsize=_REMEMBERED)(self._find)

    def get(self, name: str, default: Sequence[int] = ()) -> list[int]:
        """Ascending; the default where no module's name ends like this."""
        return list(self._known(name) or default)

    def _find(self, name: str) -> list[int]:
        modules = self._by_last.get(name.rpartition(".")[2], ())
        positions = []
        for i in modules:
            steps = module_steps(self._files[i].path)
            max_steps = min(len(steps), 8, name.count(".") + 1)  # a step may contain dots
            if any(".".join(steps[-size:]) == name for size in range(max_steps, 0, -1)):
                positions.append(i)
        return positions


def module_steps(path: str) -> list[str]:
    """Return the parts of a path that name a module: no extension, and none for the file that stands for its folder."""
    *folders, name = path.split("/")
    stem = name.rpartition(".")[0] or name
    return folders if stem in ("__init__", "index", "mod") and folders else [*folders, stem]


def is_below(path: str, prefix: str) -> bool:
    """Return whether a path is `prefix` or below it: "src/api" contains "src/api/x.py" and not "src/api_v2/x.py"."""
    return not prefix or prefix in (".", path) or path.startswith(f"{prefix}/")
