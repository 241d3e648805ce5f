"""A cache on disk of the answers of a web search.

The folder holds one JSON file per request. An entry is *fresh* up to `max_age`: it is served without a request.
Then it is *stale* up to `max_stale`: it is served, marked as stale, only if the service does not answer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from time import time
from typing import Any

from sleuth.arguments import check_count
from sleuth.errors import ArgumentError
from sleuth.files import whole_file
from sleuth.web.service import Hit

FORMAT = 1
DAY = 86_400.0  # in seconds
_PRUNE_EVERY = 256


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A cached answer and its age.

    Attributes:
        age: seconds.
        fresh: whether it may be served without a request.
    """

    hits: tuple[Hit, ...]
    age: float
    fresh: bool


class WebCache:
    """Answers cached on disk. Safe to share between threads and processes: files are replaced whole.

    Args:
        folder: created by the first write, readable by its owner only.
        max_age: seconds that an answer is served without asking again.
        max_stale: seconds that it is served while the service is down.
        max_entries: the oldest entries beyond this number are deleted.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        max_age: float = DAY,
        max_stale: float = 30 * DAY,
        max_entries: int = 10_000,
    ) -> None:
        for name, seconds in (("max_age", max_age), ("max_stale", max_stale)):
            if not seconds >= 0:
                raise ArgumentError(f"{name} must be 0 seconds or more, got {seconds!r}")
        check_count(max_entries, "max_entries", least=1)
        self.folder = Path(folder)
        self.max_age = max_age
        self.max_stale = max(max_stale, max_age)
        self.max_entries = max_entries
        self._writes = 0

    def __repr__(self) -> str:
        return f"WebCache({str(self.folder)!r})"

    def get(self, request: Mapping[str, Any]) -> CachedAnswer | None:
        """Return the entry of a request, or None if it is missing, too old or unreadable."""
        try:
            value = json.loads(self._path(request).read_bytes())
            if value["format"] != FORMAT or value["request"] != dict(request):
                return None
            hits = tuple(Hit(**hit) for hit in value["hits"])
            age = max(0.0, time() - float(value["saved"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None  # an unreadable entry counts as missing, and the next answer replaces it
        return CachedAnswer(hits, age, age <= self.max_age) if age <= self.max_stale else None

    def put(self, request: Mapping[str, Any], hits: Sequence[Hit]) -> None:
        """Store the answer to a request, unless it is empty.

        Raises:
            OSError: the folder cannot be written.
        """
        if not hits:
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        value = {
            "format": FORMAT,
            "saved": time(),
            "request": dict(request),
            "hits": [asdict(hit) for hit in hits],
        }
        with whole_file(self._path(request), durable=False) as file:
            file.write(json.dumps(value).encode())
        if self._writes % _PRUNE_EVERY == 0:
            self.prune()
        self._writes += 1

    def prune(self) -> None:
        """Delete entries that are too old to be served, and the oldest above `max_entries`."""
        files = []
        with os.scandir(self.folder) as listing:
            for entry in listing:
                with suppress(FileNotFoundError):  # another writer was faster
                    files.append((entry.stat().st_mtime, entry.path))
        files.sort(reverse=True)
        oldest = time() - self.max_stale
        for rank, (moment, path) in enumerate(files):
            if rank >= self.max_entries or moment < oldest:
                Path(path).unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete every entry."""
        if self.folder.is_dir():
            for path in self.folder.glob("*.json"):
                path.unlink(missing_ok=True)

    def _path(self, request: Mapping[str, Any]) -> Path:
        name = sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{name}.json"
