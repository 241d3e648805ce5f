"""What a build has done so far, kept in the storage so that it can be gone on with, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sleuth.cluster import Manifest
from sleuth.cluster.storage import BUILDS, PublishedPart, read_build
from sleuth.ingest import IndexReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sleuth.cluster.storage import ObjectFolder


class Build:
    """Records of a build: a manifest for each wave of its files, which says what all shards are after it.

    Wave 0 is what the build began with.
    """

    def __init__(self, objects: ObjectFolder, name: str) -> None:
        """Name a build, which need not have begun."""
        self._objects = objects
        self._folder = f"{BUILDS}/{name}"

    def waves(self) -> int:
        """Return how many waves are done."""
        return max((int(name.rpartition("/")[2]) for name in self._names()), default=0)

    def parts(self) -> tuple[PublishedPart, ...]:
        """Return the shards as the build has them; none where it began with nothing."""
        names = sorted(self._names())
        return read_build(self._objects, names[-1]).parts if names else ()

    def record(self, wave: int, settings: Mapping[str, Any], parts: tuple[PublishedPart, ...]) -> None:
        """Say what the shards are after a wave."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = Manifest(wave, now, len(parts), settings, parts)
        self._objects.put(f"{self._folder}/{wave:06d}", manifest.encode())

    def forget(self) -> None:
        """Delete the records."""
        self._objects.delete(list(self._names()))

    def _names(self) -> list[str]:
        return [name for name, _ in self._objects.list(self._folder)]


@dataclass(slots=True)
class BuildReport(IndexReport):
    """The result of a build; `version` is the one before where nothing changed.

    Attributes:
        resumed: files that an earlier attempt read.
    """

    resumed: int = 0
