"""What a build has done so far, kept in the storage so that it can be gone on with, and how far it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sleuth.cluster import Manifest
from sleuth.cluster.storage import BUILDS, PublishedPart, read_build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sleuth.cluster.storage import ObjectFolder
    from sleuth.ingest import Skipped


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


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build is.

    Attributes:
        files, bytes: read so far, those of earlier attempts included.
        documents: that were read.
        seconds: of this attempt.
        own_bytes: read in this attempt.
    """

    files: int
    total_files: int
    bytes: int
    total_bytes: int
    documents: int
    seconds: float
    own_bytes: int

    @property
    def rate(self) -> float:
        """Bytes a second."""
        return self.own_bytes / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all is read, at the same rate; None before the first file."""
        return (self.total_bytes - self.bytes) / self.rate if self.rate else None


@dataclass(slots=True)
class BuildReport:
    """The result of a build.

    Attributes:
        version: that was published; the one before where nothing changed.
        added, updated, unchanged: documents.
        deleted: documents that their file no longer holds.
        pruned: documents whose file is gone.
        gone: files that are gone and whose documents are still in the index.
        read: files that were read; `resumed` were read by an earlier attempt.
        documents, passages: of the version.
    """

    version: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    pruned: int = 0
    gone: int = 0
    read: int = 0
    resumed: int = 0
    bytes: int = 0
    documents: int = 0
    passages: int = 0
    seconds: float = 0.0
    skipped: list[Skipped] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return asdict(self)
