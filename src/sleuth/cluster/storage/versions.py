"""The versions of a published index, listed, read and pruned, and its address.

An address is `s3://bucket/name`, or `s3://bucket/name@7` for version 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from shlex import quote
from typing import NamedTuple

from sleuth.arguments import check_count
from sleuth.cluster.places import SCHEMES
from sleuth.cluster.storage.manifest import Manifest, object_name
from sleuth.cluster.storage.objects import ObjectFolder, ObjectMissingError
from sleuth.errors import ArgumentError, IndexNotFoundError

_FOLDER = "manifests"
BUILDS = "builds"
"""Folder of unfinished builds, each a manifest without a version."""
_NAME = re.compile(rf"{_FOLDER}/([0-9]{{10}})")

GRACE = timedelta(days=1)
"""Objects younger than this are never pruned: a version that is being published may need them."""


class Pruned(NamedTuple):
    """What pruning removed.

    Attributes:
        versions: their numbers.
        objects: how many.
    """

    versions: tuple[int, ...]
    objects: int


def manifest_name(number: int) -> str:
    """Return where the manifest of a version is."""
    return f"{_FOLDER}/{number:010d}"


def numbers(objects: ObjectFolder) -> list[int]:
    """Return the numbers of all versions, ascending."""
    return sorted(int(match[1]) for name, _ in objects.list(_FOLDER) if (match := _NAME.fullmatch(name)))


def read_build(objects: ObjectFolder, name: str) -> Manifest:
    """Return the manifest with a name: of a version, or of what a build has done so far.

    Raises:
        IndexDamagedError, FormatVersionError: as `Manifest.decode`.
        ObjectMissingError: there is no such version or build.
    """
    return Manifest.decode(objects.get(name), f"{objects.url}/{name}")


def find_version(address: Address, objects: ObjectFolder) -> Manifest:
    """Return the manifest of the version that an address means.

    Raises:
        IndexNotFoundError: there is no such version; lists the known ones.
    """
    if address.version is not None:
        try:
            return read_build(objects, manifest_name(address.version))
        except ObjectMissingError:
            names = ", ".join(map(str, numbers(objects))) or "none"
            raise IndexNotFoundError(
                f"{address.url} has no version {address.version}; versions: {names}", path=str(address)
            ) from None
    manifest = newest_version(objects)
    if manifest is None:
        raise IndexNotFoundError(
            f"no index is published at {address.url}: `sleuth cluster publish --index INDEX {quote(address.url)}`",
            path=address.url,
        )
    return manifest


def newest_version(objects: ObjectFolder) -> Manifest | None:
    """Return the manifest of the newest version; None where nothing is published."""
    # All that the first list names may be pruned before it is read.
    return next(manifests(objects), None) or next(manifests(objects), None)


def versions(address: str) -> list[Manifest]:
    """Return the manifests of all versions at an address, the newest first."""
    return list(manifests(ObjectFolder(Address.parse(address).url)))


def manifests(objects: ObjectFolder) -> Iterator[Manifest]:
    """Yield the manifests of all versions, the newest first, without those that are pruned meanwhile."""
    for number in reversed(numbers(objects)):
        with suppress(ObjectMissingError):
            yield read_build(objects, manifest_name(number))


def prune(address: str, *, keep: int, grace: timedelta = GRACE) -> Pruned:
    """Delete all but the newest versions, and the objects that no version needs any more.

    Args:
        keep: versions that stay, 1 or more.
        grace: objects younger than this stay.
    """
    check_count(keep, "keep", least=1)
    objects = ObjectFolder(Address.parse(address).url)
    versions = numbers(objects)
    old_versions, newest = versions[:-keep], versions[-keep:]
    objects.delete(map(manifest_name, old_versions))
    limit = datetime.now(UTC) - grace
    builds = dict(objects.list(BUILDS))
    objects.delete(name for name, facts in builds.items() if facts.modified < limit)
    names = [*map(manifest_name, newest), *(name for name in builds if builds[name].modified >= limit)]
    in_use = [read_build(objects, name) for name in names]
    references = {object_name(digest) for manifest in in_use for digest in manifest.objects()}
    stored = objects.list("objects")
    orphans = [name for name, facts in stored if name not in references and facts.modified < limit]
    objects.delete(orphans)
    return Pruned(tuple(old_versions), len(orphans))


_PARTS = re.compile(r"((?!file://[^/])[a-z0-9]+)://([^?#]*?)(?:@([0-9]+))?/?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a published index is.

    Attributes:
        url: of the folder that holds its versions, without a version.
        version: the one that is meant; None for the newest.
    """

    url: str
    version: int | None = None

    @classmethod
    def parse(cls, text: str, *, is_new: bool = False) -> Address:
        """Return the address that a text spells; of what is published there (`is_new`), it is without a version.

        Raises:
            ArgumentError: states the form.
        """
        match = _PARTS.fullmatch(text)
        if match is None or match[1].lower() not in SCHEMES or not match[2].strip("/"):
            raise ArgumentError(
                "address must be s3://BUCKET/NAME, gs://BUCKET/NAME, az://CONTAINER/NAME or file:///FOLDER, "
                f"with @VERSION after it for one version, got {text!r}"
            )
        if "@" in match[2]:
            raise ArgumentError(
                f"address must have a number after @, and no user or password, got {match[1]}://…"
            )
        if is_new and match[3]:
            raise ArgumentError(f"address must be without a version, which publishing names, got {text!r}")
        version = int(match[3]) if match[3] else None
        return cls(f"{match[1].lower()}://{match[2].rstrip('/')}", version)

    def __str__(self) -> str:
        return self.url if self.version is None else f"{self.url}@{self.version}"
