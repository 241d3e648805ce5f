"""sleuth code index, snapshots, push and pull: what the index knows of a repository, here and for its other clones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from sleuth.errors import ArgumentError, amount
from sleuth.surfaces.cli.app import code_commands
from sleuth.surfaces.cli.common import Output, human_bytes, print_json, say
from sleuth.surfaces.cli.opening import repository_of
from sleuth.surfaces.cli.options import command
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.progress import changes_seen, progress_bar
from sleuth.text import clean_text

if TYPE_CHECKING:
    from sleuth.code import CodeStorage
    from sleuth.code.snapshots.indexing import CodeIndexReport


@command(code_commands, "index", "sleuth code index . --rev v1.2")
def index(
    path: Annotated[
        Path | None, "A git worktree, a bare repository or a plain folder; this folder without."
    ] = None,
    *,
    rev: Annotated[str | None, "A commit, branch or tag."] = None,
    watch: Annotated[bool, "Index again after every save, until Ctrl-C."] = False,
    vectors: Annotated[bool, "Make the vectors now, or at the first hybrid search."] = True,
    workers: Annotated[int | None, "Processes that parse.", Ge(1)] = None,
    again: Annotated[
        bool,
        "Forget all snapshots of the repository first, so that every file is parsed again, as after installing "
        "grammars.",
    ] = False,
    rebuild: Annotated[
        bool,
        "Make the index again in its place, from all repositories that it holds, as where another version made it.",
    ] = False,
    submodules: Annotated[
        bool, "Index the submodules that are checked out too, as repositories of their own."
    ] = True,
    timeout: Annotated[float, Ge(0)] = 10.0,  # as by default in `index_path`
    json: bool = False,
    index: Path | None = None,
) -> None:
    """Take a snapshot of a repository; unchanged files cost nothing."""
    from sleuth.code import index_path
    from sleuth.code.repository.sources import source_at
    from sleuth.code.snapshots.indexing import indexed_submodules
    from sleuth.engine import open_code

    folder, path_or_here = index_folder(index), path or Path()
    # Vectors have a progress bar of their own, or a search makes them.
    run = partial(index_path, workers=workers, timeout=timeout, submodules=submodules, vectors=False)
    if rebuild:
        if path or rev or watch or again:
            raise ArgumentError("--rebuild must stand without PATH, --rev, --watch and --again")
        _rebuild(run, folder, timeout=timeout, vectors=vectors, json=json)
        return
    with open_code(folder, create=True) as storage:
        if again:
            root = source_at(path_or_here).root
            repositories = {Path(repository.path): repository for repository in storage.repositories()}
            for place in [root, *(indexed_submodules(root, repositories) if submodules else ())]:
                if place in repositories:
                    storage.prune(repositories[place].id, ())
        report = _index_visibly(run, storage, path_or_here, revision=rev, vectors=vectors, json=json)
        if watch:
            snapshots = {part.path: part.snapshot for part in report.all()}
            for _ in changes_seen([report.path]):
                newer = run(storage, path_or_here)
                news = {part.path: part.snapshot for part in newer.all()}
                if any(snapshots.get(place) != snapshot for place, snapshot in news.items()):
                    print_report(newer, json=json)
                snapshots |= news


def _rebuild(
    run: Callable[..., CodeIndexReport], folder: Path, *, timeout: float, vectors: bool, json: bool
) -> None:
    """Make an index again in its place, from all repositories that it holds; refuse where one would be lost."""
    from sleuth.engine.codebase import rebuilt_code

    with rebuilt_code(folder, timeout=timeout) as (storage, paths):
        if gone := [str(place) for place in paths if not place.exists()]:
            raise ArgumentError(
                f"--rebuild must find every repository of the index, and would lose {', '.join(gone)}: bring it "
                "back, or index the others into another folder, with --index FOLDER"
            )
        for place in paths:
            _index_visibly(run, storage, place, vectors=vectors, json=json)


def _index_visibly(
    run: Callable[..., CodeIndexReport],
    storage: CodeStorage,
    path: Path,
    *,
    revision: str | None = None,
    vectors: bool,
    json: bool,
) -> CodeIndexReport:
    """Index a repository, its history and its vectors behind a progress bar, and print what was indexed."""
    from sleuth.code.snapshots.recording import History
    from sleuth.engine.codebase import embed_code

    with progress_bar(json=json) as show:
        history = History(progress=partial(show, "commits"))
        report = run(storage, path, revision=revision, progress=partial(show, "parsing"), history=history)
        for part in report.all() if vectors else ():
            embed_code(storage, part, partial(show, "vectors"))
    print_report(report, json=json)
    return report


def print_report(full_report: CodeIndexReport, *, json: bool) -> None:
    """Print what was indexed of a repository and of its submodules."""
    from sleuth.code.parsing.limits import UNPARSED
    from sleuth.code.snapshots.indexing import LEFT_OUT
    from sleuth.ingest import Skipped, grouped

    if json:
        print_json(full_report)
        return
    for report in full_report.all():
        names = f" ({', '.join(report.names)})" if report.names else ""
        say(
            f"{clean_text(Path(report.path).name)} at {report.snapshot[:20]}{names}: {amount(report.files, 'file')}, "
            f"{report.added} new, {amount(report.chunks, 'chunk')}, {len(report.skipped)} skipped, "
            f"{amount(report.commits, 'commit')}, {report.seconds:.2f} s"
        )
        lines = grouped(
            Skipped(path, reason) for path, reason in report.skipped if reason.startswith(UNPARSED)
        )
        lines += [f"{path}: {reason}" for path, reason in report.skipped if reason.startswith(LEFT_OUT)]
        if report.history_error:
            lines.insert(0, f"its history was not read: {report.history_error}")
        if report.commits_left:
            lines.insert(
                0, f"{amount(report.commits_left, 'older commit')} left: `sleuth code index` reads on"
            )
        for line in lines:
            say(f"  {clean_text(line)}", err=True)


@command(code_commands, "snapshots", "sleuth code snapshots --prune 5")
def snapshots(
    *,
    diff: Annotated[tuple[str, str] | None, "Two snapshots: list what changed from one to the other."] = None,
    prune: Annotated[int | None, "Forget all but this many of the newest completed ones.", Ge(1)] = None,
    repo: str | None = None,
    index: Path | None = None,
) -> Output:
    """List the snapshots of a repository, newest first."""
    from sleuth.code.snapshots.diff import compare
    from sleuth.engine import open_code

    with open_code(index_folder(index)) as storage:
        repository = repository_of(storage, repo)
        if diff is not None:
            base, target = (
                storage.open_snapshot(repository, storage.snapshot(repository, name)) for name in diff
            )
            changes = compare(base, target).to_dict()
            rows = (
                (kind, path if isinstance(path, str) else " -> ".join(path))
                for kind in ("added", "removed", "changed", "renamed")
                for path in changes[kind]
            )
            return Output(changes, rows)
        if prune is not None:
            completed = [s.id for s in storage.snapshots(repository.id) if s.status == "completed"]
            storage.prune(repository.id, completed[:prune])
        entries = storage.snapshots(repository.id)
    lines = []
    for s in entries:
        when = datetime.fromtimestamp(s.finished or s.started, UTC).strftime("%Y-%m-%d %H:%M:%S")
        lines.append((s.id[:20], s.status, when, amount(s.files, "file"), " ".join(s.names) + s.error))
    return Output({"repository": asdict(repository), "snapshots": list(map(asdict, entries))}, lines)


AddressArgument = Annotated[str, "A folder, a file ending with .tar, s3://BUCKET/NAME, gs://… or az://…."]


@command(code_commands, "push", "sleuth code index --rev HEAD && sleuth code push s3://bucket/app")
def push(
    address: AddressArgument,
    path: Annotated[Path, "The repository."] = Path(),
    *,
    keep: Annotated[int | None, "Delete all but this many of the newest commits.", Ge(1)] = None,
    index: Path | None = None,
) -> Output:
    """Upload the index of the commit that is checked out. Bytes that are already stored are not uploaded again."""
    from sleuth.cluster.storage.code import push_code
    from sleuth.code.snapshots.clones import indexed_commit
    from sleuth.engine import open_code

    folder = index_folder(index)
    with open_code(folder) as storage:
        commit = indexed_commit(storage, path)
    manifest = push_code(folder, address, commit, keep=keep)
    size = f"{amount(manifest.documents, 'file')}, {human_bytes(manifest.size)}"
    line = f"Pushed the index of commit {commit[:12]}: {size}."
    return Output({"commit": commit, "files": manifest.documents, "bytes": manifest.size}, [line])


@command(code_commands, "pull", "sleuth code pull s3://bucket/app")
def pull(
    address: AddressArgument, path: Annotated[Path, "The repository."] = Path(), *, index: Path | None = None
) -> Output:
    """Start this clone with the index of its commit, or of the newest ancestor that was pushed."""
    from sleuth.cluster.storage.code import pull_code
    from sleuth.code.repository.sources import source_at
    from sleuth.code.snapshots.clones import ancestors, relocate
    from sleuth.engine import open_code

    commits = ancestors(path)

    def prepare(folder: Path) -> None:
        with open_code(folder) as storage:
            relocate(storage, source_at(path).root)

    commit = pull_code(address, index_folder(index), commits, prepare)
    behind = commits.index(commit)
    ago = f", {amount(behind, 'commit')} ago" if behind else ""
    return Output({"commit": commit, "behind": behind}, [f"Pulled the index of commit {commit[:12]}{ago}."])
