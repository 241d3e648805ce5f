"""Code indexes in object storage, a version for each commit: pushed by one machine, pulled into clones on others."""

from __future__ import annotations

import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sleuth.cluster.places import address_of
from sleuth.cluster.storage import versions
from sleuth.cluster.storage.cache import fetch_part
from sleuth.cluster.storage.manifest import Manifest
from sleuth.cluster.storage.objects import ObjectFolder
from sleuth.cluster.storage.publishing import BLOCK, commit_version, upload_parts
from sleuth.cluster.storage.versions import Address
from sleuth.errors import ArgumentError, IndexNotFoundError
from sleuth.files import whole_file
from sleuth.store.catalogue.schema import folder_at
from sleuth.store.disk.files import CODE, make_index

_COMMIT: Final = "commit"
_PACKED: Final = ".tar"
_MEMBER: Final = re.compile(r"objects/[0-9a-f]{2}/[0-9a-f]{40}|manifests/[0-9]{10}")


def push_code(path: str | Path, address: str, commit: str, *, keep: int | None = None) -> Manifest:
    """Upload the code index of a folder as the version of a commit; stored bytes are not uploaded again.

    Args:
        path: an index folder with a code index.
        address: `s3://bucket/name`, a folder, or a file that ends with `.tar`.
        commit: whose snapshot the index has; one that was pushed before is not pushed again.
        keep: versions that stay, the newest ones; None for all.

    Raises:
        ArgumentError: an address with a version.
        StoreError: the storage cannot be reached, or ignores put-if-absent.
    """
    with _opened(address, write=True) as objects:
        for manifest in _manifests(objects):
            if manifest.settings[_COMMIT] == commit:
                return manifest
        objects.check_create_only()
        parts = upload_parts({"": folder_at(path)}, objects, names=CODE)
        manifest = commit_version(objects, {_COMMIT: commit}, 0, parts)
        if keep:
            versions.prune(objects.url, keep=keep)
    return manifest


def pull_code(address: str, path: str | Path, commits: Sequence[str], prepare: Callable[[Path], None]) -> str:
    """Fetch the code index of the first of some commits that was pushed into an index folder without a code index.

    Args:
        address: as of `push_code`.
        path: the index folder; it is made where it is missing.
        commits: full ids, the best one first.
        prepare: called with the folder in which the index is before it is in its place.

    Returns:
        The commit.

    Raises:
        ArgumentError: the folder has a code index.
        IndexNotFoundError: no index of these commits was pushed.
        IndexDamagedError: an object is missing or damaged; names it. The folder stays as it was.
    """
    folder = folder_at(path)
    if (folder / CODE.record).exists():
        raise ArgumentError(
            f"path must be a folder without a code index, got {str(folder)!r}: `sleuth code index` brings it up to date"
        )
    with _opened(address, write=False) as objects:
        manifests = {manifest.settings[_COMMIT]: manifest for manifest in _manifests(objects)}
        commit = next((commit_hash for commit_hash in commits if commit_hash in manifests), None)
        if commit is None:
            raise IndexNotFoundError(
                f"{address} has no index of this commit or of its ancestors, but of {len(manifests)} others: "
                "`sleuth code index`, then `sleuth code push`",
                path=address,
            )
        make_index(folder)
        with tempfile.TemporaryDirectory(prefix="pull-", dir=folder) as scratch:
            (part,) = manifests[commit].parts
            fetch_part(part, Path(scratch), objects, names=CODE)
            prepare(Path(scratch))
            shutil.rmtree(folder / CODE.segments, ignore_errors=True)
            (folder / CODE.mark).unlink(missing_ok=True)  # of an index that was removed
            for name in (CODE.segments, CODE.record):
                (Path(scratch) / name).rename(folder / name)
    return commit


def _manifests(objects: ObjectFolder) -> Iterator[Manifest]:
    """Yield the versions of code indexes, the newest first."""
    for manifest in versions.manifests(objects):
        if _COMMIT in manifest.settings and len(manifest.parts) == 1:
            yield manifest


@contextmanager
def _opened(address: str, *, write: bool) -> Iterator[ObjectFolder]:
    """Yield the storage of code indexes at an address; a file is unpacked first, and packed after writing."""
    if address_of(address) is not None:
        yield ObjectFolder(f"{Address.parse(address, is_new=True).url}/code")
    elif not address.endswith(_PACKED):
        yield ObjectFolder(f"file://{Path(address).absolute()}/code")
    else:
        with tempfile.TemporaryDirectory(prefix="sleuth-code-") as scratch:
            _unpack(Path(address), Path(scratch))
            yield ObjectFolder(f"file://{scratch}")
            if write:
                _pack(Path(scratch), Path(address))


def _pack(folder: Path, file: Path) -> None:
    """Write the objects of a folder to a file, whole or not at all."""
    file.absolute().parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file, mode=0o644) as tar_file, tarfile.open(fileobj=tar_file, mode="w") as out:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            out.add(path, path.relative_to(folder).as_posix())


def _unpack(file: Path, folder: Path) -> None:
    """Write the objects of a file to a folder, nothing for a file that is not there; other members are left out."""
    if not file.exists():
        return
    with tarfile.open(file, "r:") as packed:
        for member in packed:
            content = packed.extractfile(member) if member.isreg() and member.size <= BLOCK else None
            if content is not None and _MEMBER.fullmatch(member.name):
                path = folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
