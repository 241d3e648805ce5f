"""Opens what a command answers from: an index, several sources as one, or a snapshot of code."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge

from sleuth.errors import ArgumentError
from sleuth.files import user_folder
from sleuth.surfaces.cli.common import remark
from sleuth.surfaces.cli.defaults import synonyms_file
from sleuth.surfaces.cli.options import Options, options_from
from sleuth.surfaces.cli.places import index_folder
from sleuth.text import clean_text

if TYPE_CHECKING:
    from sleuth.code import CodeStorage, Snapshot
    from sleuth.code.snapshots.record import Repository
    from sleuth.engine import Engine
    from sleuth.engine.sources import Sources

MOST_REFRESHED = 500


def open_index(index: Path | None = None, *, create: bool = False) -> Engine:
    """Open the index of a command.

    Args:
        create: make a missing one.
    """
    from sleuth.engine import Engine

    engine = Engine.open(index_folder(index), create=create, synonyms=synonyms_file())
    for repair in engine.repairs:
        remark(f"mended {repair.what}: {repair.why}")
    return engine


def _opened_index(*, index: Path | None = None) -> Any:
    return open_index(index)


Index = Annotated["Engine", options_from(_opened_index)]
"""The index of a command, open for as long as it runs."""


def open_sources(
    sources: list[str] | None, index: Path | None, *, deadline: float = 30.0
) -> Engine | Sources:  # 30 s for each source, as by default in `Sources`
    """Open the index of a command, or the sources of `--in` as one; code is that of the worktree as it is.

    Plugins that failed are named on standard error: the search goes on without them.
    """
    names = list(dict.fromkeys(sources or ["docs"]))
    opened: Engine | Sources
    if names == ["docs"]:
        opened = open_index(index)
    else:
        from sleuth.engine.sources import open_sources as open_named
        from sleuth.web import WebRetriever

        web = {"web": WebRetriever(cache=web_cache(), timeout=deadline)} if "web" in names else {}
        is_indexed = any(name.partition(":")[0] in ("docs", "code") for name in names)
        opened = open_named(
            index_folder(index) if is_indexed else "",
            [name for name in names if name != "web"],
            extra=web,
            deadline=deadline,
            refresh=True,
            synonyms=synonyms_file(),
        )
        for warning in opened.warnings:
            remark(f"stale: {warning}")
    for info in opened.morpheus.all_plugins().values():
        if info.status == "failed":
            remark(f"the plugin {clean_text(info.name)} failed: {clean_text(info.error)}")
    return opened


@contextmanager
def new_or_open_index(folder: Path, embedder: str | None = None) -> Iterator[Engine]:
    """Open or make the index in a folder; a new one that is still empty after a failure is deleted."""
    from shutil import rmtree

    from sleuth.engine import Engine

    is_new = not folder.exists() or not any(folder.iterdir())
    is_empty = False
    try:
        with Engine.open(folder, create=True, embedder=embedder) as engine:
            try:
                yield engine
            except BaseException:
                is_empty = not engine.count().documents
                raise
    except BaseException:
        if is_new and is_empty:
            rmtree(folder)
        raise


def web_cache() -> Path:
    """Return the folder that keeps answers of the web: `sleuth/web` in the user's cache folder."""
    return user_folder("XDG_CACHE_HOME", ".cache") / "web"


def repository_of(storage: CodeStorage, repo: str | None, paths: Iterable[str] = ()) -> Repository:
    """Return the repository of that name, or that of these paths, or of the current folder.

    Raises:
        ArgumentError: the paths are in several, or it is not known which one is meant.
    """
    from sleuth.code.snapshots.lookup import repository_around

    if repo is not None:
        return storage.repository(repo)
    repositories = storage.repositories()
    full_paths = [Path(os.path.normpath(Path.cwd() / path)) for path in paths]
    inside = [path for path in full_paths if any(path.is_relative_to(one.path) for one in repositories)]
    around = {repository_around(path, repositories) for path in inside or [Path.cwd().resolve()]}
    if len(around) > 1:
        names = ", ".join(sorted(one.path for one in around))
        raise ArgumentError(f"paths must be in one repository, got some in {names}: ask one after the other")
    return around.pop()


@dataclass(frozen=True, slots=True)
class OpenSnapshot:
    """An open index and the snapshot to answer from.

    Attributes:
        stale: number of files of the worktree that differ from the snapshot; None where nobody looked.
    """

    storage: CodeStorage
    snapshot: Snapshot
    stale: int | None

    def path_of(self, name: str) -> str:
        """Return a path inside the repository, as it is seen from the working folder, or else from the root.

        Args:
            name: a file, a folder or FILE:10-20; anything else is returned unchanged.
        """
        from sleuth.code.search.exact import places_named
        from sleuth.code.snapshots.places import is_below

        root = Path(self.snapshot.repository.path)
        for base in (Path.cwd(), root):
            full = Path(os.path.normpath(base / name))
            if full.is_relative_to(root):
                path = "" if full == root else full.relative_to(root).as_posix()
                is_there = os.path.lexists(full) or any(
                    is_below(file, path) for file in self.snapshot.by_path
                )
                if is_there or any(places_named(self.snapshot, path)):
                    return path
        return name


@contextmanager
def opened_snapshot(
    *paths: str,
    repo: str | None = None,
    at: str | None = None,
    max_refresh: Annotated[int, Ge(0)] = MOST_REFRESHED,
    no_refresh: bool = False,
    index: Path | None = None,
) -> Iterator[OpenSnapshot]:
    """Open the snapshot of a command, which may name paths in it; index it again first if few files changed."""
    from sleuth.code.snapshots.refreshing import Current, current_snapshot, snapshot_at
    from sleuth.engine import open_code

    with open_code(index_folder(index)) as storage:
        repository = repository_of(storage, repo, paths)
        if no_refresh:
            current = Current(storage.snapshot(repository, at))
        elif at is not None:
            current = Current(snapshot_at(storage, repository, at, most=max_refresh))
        else:
            current = current_snapshot(storage, repository, most=max_refresh)
        if warning := current.warning(repository):
            remark(f"stale: {warning}")
        stale = None if no_refresh and at is None else current.stale
        yield OpenSnapshot(storage, storage.open_snapshot(repository, current.snapshot), stale)


CodePlace = Annotated[OpenSnapshot, options_from(opened_snapshot)]
"""The snapshot of a command, open for as long as it runs, for the options that choose it."""
PlaceOptions = Annotated[dict[str, Any], Options(dict, options_from(opened_snapshot).parameters)]
"""The options of `opened_snapshot`, for a command that may need no snapshot."""
