"""Files of a snapshot by the end of a path or of a module's name.

Positions are kept by the last part only, one list entry per file: what a longer end means is found among those.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sleuth.code.parsing.names import grouped

_REMEMBERED = 50_000
"""Names of modules whose files are remembered: most files import the same ones."""


class Endings:
    """Positions of paths by their last one to `most` parts."""

    def __init__(self, paths: Sequence[str], most: int) -> None:
        self._paths = paths
        self._most = most
        self._by_last = grouped(range(len(paths)), lambda i: paths[i].rpartition("/")[2])

    def get(self, end: str) -> list[int]:
        """Ascending; none where no path ends like this, or the end has too many parts."""
        inside = end.count("/")
        paths = self._by_last.get(end.rpartition("/")[2], [])
        if not inside:
            return paths
        suffix = f"/{end}"
        paths = [i for i in paths if self._paths[i].endswith(suffix) or self._paths[i] == end]
        return paths if inside < self._most else []


class Folders:
    """Positions of files by the last one to six parts of their folder's path."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._files = grouped(range(len(paths)), lambda i: paths[i].rpartition("/")[0])
        self._folders = list(self._files)
        self._endings = Endings(self._folders, 6)

    def get(self, end: str) -> list[int]:
        """Ascending; none where no file's folder ends like this."""
        folders = self._endings.get(end) if end else ()
        return sorted(i for folder in folders for i in self._files[self._folders[folder]])


class Modules:
    """Positions of files by the last one to eight parts of their path joined with dots, without extension."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._by_last = grouped(range(len(paths)), lambda i: module_steps(paths[i])[-1].rpartition(".")[2])
        self.get = lru_cache(maxsize=_REMEMBERED)(self._find)

    def _find(self, name: str) -> list[int]:
        """Ascending; none where no module's name ends like this."""
        positions = []
        for i in self._by_last.get(name.rpartition(".")[2], ()):
            steps = module_steps(self._paths[i])
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
