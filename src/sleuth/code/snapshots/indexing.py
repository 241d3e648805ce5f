"""Makes a snapshot of a version of a repository, and of the submodules that are checked out there.

Files whose path and content are known cost nothing. The rest are taken apart, in worker processes where they are many,
and committed in batches; then the snapshot is, in one transaction. After it come the commits that led to it.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sleuth import platform
from sleuth.arguments import check_count, check_kind
from sleuth.code.parsing.analyse import Analysed, Analyser, skipped
from sleuth.code.parsing.labels import labels_of_path
from sleuth.code.repository import git
from sleuth.code.repository.commits import commits_between
from sleuth.code.repository.listing import SUBMODULE, Listed, Past, Version
from sleuth.code.repository.process import run
from sleuth.code.repository.sources import Checkout, CommitSource, DiskSource, source_at
from sleuth.code.snapshots.lookup import newest_completed
from sleuth.code.snapshots.memory import keep_times, read_times
from sleuth.code.snapshots.record import Repository, SnapshotInfo
from sleuth.code.snapshots.recording import WHOLE, History, record_history
from sleuth.code.snapshots.shelf import Batch
from sleuth.code.snapshots.storage import CodeStorage
from sleuth.errors import ArgumentError, CodeError, UnknownSnapshotError
from sleuth.logs import logger_of
from sleuth.remote import async_twin

if TYPE_CHECKING:
    from sleuth.protocols import Embedder

_BATCH_BYTES = 400_000
_COMMIT_FILES = 4_000
"""Files that one transaction commits, or a few more. After a kill, the next run goes on from there."""
_COUNTED_AT_ONCE = 50
"""Files whose words are counted at a time; their texts are then let go."""
_MANY = 200
"""New files from which on starting processes costs less than they save."""
LEFT_OUT = f"{SUBMODULE}, not indexed: "
"""How the reason begins for which a submodule was not indexed."""
MOST_SUBMODULES = 200
"""Submodules of one run, those of submodules included."""
DEEPEST = 8
"""Submodules within submodules."""
logger = logger_of("code")


@dataclass(slots=True)
class CodeIndexReport:
    """What an indexing run did.

    Attributes:
        repository, snapshot: their ids; `names` are the branches and tags of the snapshot.
        files: listed by the snapshot; `added` of them were new to the index.
        chunks: of the new files.
        skipped: (path, reason) of files that are not searched; also of those that this run could not parse and that
            are searched as plain text.
        commits: of the history, recorded by this run; `commits_left` are for the next one.
        history_error: why no more of them could be read, "" otherwise.
        seconds: wall time.
        submodules: reports of those that were indexed as repositories of their own.
    """

    repository: str
    path: str
    snapshot: str
    names: tuple[str, ...] = ()
    files: int = 0
    added: int = 0
    chunks: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    commits: int = 0
    commits_left: int = 0
    history_error: str = ""
    seconds: float = 0.0
    submodules: list[CodeIndexReport] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return plain | {"names": list(self.names), "submodules": [part.to_dict() for part in self.submodules]}

    def all(self) -> Iterator[CodeIndexReport]:
        """Yield this report and those of all submodules, each before the ones inside it."""
        yield self
        for submodule in self.submodules:
            yield from submodule.all()


def index_path(
    storage: CodeStorage,
    path: str | Path,
    *,
    revision: str | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    history: History = WHOLE,
    timeout: float = 10.0,  # a run over few changes ends in it; a longer one is named in the error
    submodules: bool = True,
    vectors: bool | Embedder = True,
) -> CodeIndexReport:
    """Index what is at `path`: a git worktree as it is, a commit of it, or a plain folder.

    The newest snapshot answers where no name is given. An older commit than that of the newest snapshot, or one of
    another branch, does not become the newest one when it is named.

    Args:
        revision: a commit, branch or tag; read from git, the worktree is not touched.
        workers: processes that parse where many files are new; one per core where None.
        progress: called with (files done, files to do).
        history: how much of the history of the commit is recorded afterwards.
        timeout: seconds to wait for another run.
        submodules: index those that are checked out too, as repositories of their own.
        vectors: make those of the default embedder, if it is installed, or of this embedder; False leaves them to the
            first hybrid search.

    Raises:
        ArgumentError: a path that is no folder.
        CodeError: an unknown revision, or git failed.
        IndexLockedError: another run is at work; names it.
    """
    check_kind(storage, CodeStorage, "storage", "what open_code opens")
    if workers is not None:
        check_count(workers, "workers", least=1)
    index = partial(
        index_source, storage, workers=workers, progress=progress, history=history, timeout=timeout
    )
    report = index(source_at(path, revision))
    if submodules:
        index_submodules(report, index, revision=revision)
    if vectors and storage.embed is not None:
        for repository_report in report.all():
            storage.embed(storage, repository_report, embedder=None if vectors is True else vectors)
    return report


aindex_path = async_twin(index_path)


def index_source(
    storage: CodeStorage,
    source: Checkout,
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    history: History = WHOLE,
    timeout: float = 10.0,  # as of `index_path`
) -> CodeIndexReport:
    """`index_path` of any source."""
    began = time.perf_counter()
    with storage.writing(timeout):
        repository = storage.repository_of(source)
        past = past_of(storage, repository.id, source)
        version, entries, times = source.listing(past)
        report = CodeIndexReport(repository.id, repository.path, version.id, version.names, len(entries))
        newer = _newer(storage, repository, source, version)
        storage.begin(repository.id, version.id, version.commit, version.names)
        try:
            keys, batch = _analyse_new(storage, source, entries, report, workers=workers, progress=progress)
            with storage.transaction() as connection:
                keys += storage.add_files(repository.id, batch)
                storage.complete(repository.id, version.id, version.names, np.array(keys, np.int64))
                if newer is not None:
                    storage.make_newest(repository.id, newer.id)
                report.skipped += storage.skipped(repository.id, keys)
                if isinstance(source, DiskSource):
                    keep_times(connection, repository.id, past.times, times)
        except BaseException as error:
            storage.memory.forget()
            storage.fail(repository.id, version.id, f"{type(error).__name__}: {error}")
            raise
        storage.note()
        if version.commit:
            try:
                recorded = record_history(storage, repository, version.commit, history)
                report.commits, report.commits_left = recorded
            except CodeError as error:  # the snapshot answers without its history
                report.history_error = str(error)
                logger.warning("the history of %s was not recorded: %s", report.path, error)
        storage.merge()
    report.seconds = time.perf_counter() - began
    logger.info("indexed %d files of %s in %.1f s", report.files, report.path, report.seconds)
    return report


def _newer(
    storage: CodeStorage, repository: Repository, source: Checkout, version: Version
) -> SnapshotInfo | None:
    """Return the snapshot that stays the newest when a named commit is indexed: one that does not lead to it."""
    newest = newest_completed(storage.snapshots(repository.id))
    if newest is None or not newest.base or not isinstance(source, CommitSource) or not source.is_named:
        return None
    try:
        leads_to_it = not commits_between(source.root, newest.base, [version.commit], 1)
    except CodeError:  # git does not have that commit any more
        return None
    return None if leads_to_it and newest.base != version.commit else newest


def past_of(storage: CodeStorage, repository: str, source: Checkout) -> Past:
    """Return what earlier runs know of a source's repository."""
    recall, keys = storage.memory.recall(repository), storage.known_files(repository)
    if not isinstance(source, DiskSource):
        return Past(recall, keys)
    with storage.reading() as connection:
        times = read_times(connection, repository)
    return Past(recall, keys, times, storage.path.resolve())


def _analyse_new(
    storage: CodeStorage,
    source: Checkout,
    entries: Sequence[Listed],
    report: CodeIndexReport,
    *,
    workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[int], Batch]:
    """Analyse the files that the index does not know, and commit them in batches of `_COMMIT_FILES` or a few more.

    Fills in `added`, `chunks` and `skipped` of the report.

    Returns:
        The keys of the files of the listing that are committed, known ones included; and the last batch, which the
        caller commits together with the snapshot.
    """
    key_by_pair = storage.known_files(report.repository)
    # A file that is not read may have no hash: the reason stands in its place, so that the file is known until the
    # reason changes.
    hashes = [file.hash or f"skip {file.skip}" for file in entries]
    keys, new_files = list[int](), list[tuple[Listed, str]]()
    for file, hash in zip(entries, hashes, strict=True):
        if (key := key_by_pair.get((file.path, hash))) is None:
            new_files.append((file, hash))
        else:
            keys.append(key)
    report.added = len(new_files)
    pending = [(file, hash) for file, hash in new_files if not file.skip]
    batch = storage.shelf.batch()
    for file, hash in new_files:
        if file.skip:
            language, category = labels_of_path(file.path)
            batch.add([(hash, skipped(file.path, file.skip, language=language, category=category))])
    waiting: list[tuple[str, Analysed]] = []
    total = 0
    count = workers or platform.cores()
    with (
        Analyser(count) if len(pending) >= _MANY else storage.analyser.lend() as analyser,
        closing(_analysed(source, pending, analyser, ahead=2 * count)) as taken_apart,
    ):
        for results in taken_apart:
            waiting += results
            total += len(results)
            report.skipped += [(file.path, file.failure) for _, file in results if file.failure]
            if len(waiting) >= _COUNTED_AT_ONCE or total == len(pending):
                batch.add(waiting)
                if total < len(pending):  # contents of the last round are committed soon, with their files
                    storage.add_contents(waiting)
                waiting = []
            if len(batch.files) >= _COMMIT_FILES:
                report.chunks += batch.chunks
                keys += storage.add_files(report.repository, batch)
                batch = storage.shelf.batch()
            if progress is not None:
                progress(total, len(pending))
    report.chunks += batch.chunks
    return keys, batch


def _analysed(
    source: Checkout, pending: Sequence[tuple[Listed, str]], analyser: Analyser, ahead: int
) -> Generator[list[tuple[str, Analysed]], None, None]:
    """Yield files taken apart, in order, in batches that are bounded in bytes and in files.

    At most `ahead` batches are begun before the first is done.
    """
    batch_files = max(1, len(pending) // (2 * ahead))
    begun: deque[tuple[list[str], Callable[[], list[Analysed]]]] = deque()
    hashes, files, size = list[str](), list[tuple[str, bytes]](), 0
    contents = source.read([file for file, _ in pending])
    for count, ((file, hash), content) in enumerate(zip(pending, contents, strict=True), 1):
        hashes.append(hash)
        files.append((file.path, content))
        size += len(content)
        if size >= _BATCH_BYTES or len(files) >= batch_files or count == len(pending):
            begun.append((hashes, analyser.begin(files)))
            hashes, files, size = [], [], 0
        if len(begun) > ahead:
            first, finish = begun.popleft()
            yield list(zip(first, finish(), strict=True))
    for first, finish in begun:
        yield list(zip(first, finish(), strict=True))


def index_submodules(
    report: CodeIndexReport, index: Callable[[Checkout], CodeIndexReport], *, revision: str | None = None
) -> None:
    """Index the submodules that a report lists and that are checked out, and theirs, and add their reports to it.

    One that is not indexed is in `report.skipped` with the reason.

    Args:
        index: makes a snapshot of a source.
        revision: what the report is of; submodules are then indexed at the commit that it names. The worktree if None.
    """
    home = git.common_folder(Path(report.path))
    waiting, count = deque([(report, 0)]), 0
    while waiting and home is not None:
        parent, depth = waiting.popleft()
        for position, (name, reason) in enumerate(parent.skipped):
            if reason != SUBMODULE:
                continue
            if count >= MOST_SUBMODULES or depth >= DEEPEST:
                bounds = f"one run indexes at most {MOST_SUBMODULES} submodules, {DEEPEST} within one another"
                parent.skipped[position] = (name, f"{LEFT_OUT}{bounds}")
                continue
            try:
                submodule = index(_source(parent, name, home, of_commit=revision is not None))
            except (ArgumentError, CodeError, OSError) as error:
                parent.skipped[position] = (name, f"{LEFT_OUT}{error}")
            else:
                count += 1
                parent.submodules.append(submodule)
                waiting.append((submodule, depth + 1))


def _source(above: CodeIndexReport, name: str, home: Path, *, of_commit: bool) -> Checkout:
    """Return the source of a submodule: its worktree, or the commit that the indexed one names.

    Raises:
        ArgumentError, CodeError: why it is not to be indexed.
    """
    folder = submodule_at(Path(above.path), name, home)
    if not of_commit:
        return source_at(folder)
    commit = run(Path(above.path), "rev-parse", "--verify", f"{above.snapshot}:{name}").decode().strip()
    try:
        return source_at(folder, commit)
    except UnknownSnapshotError:
        raise CodeError(f"it does not have commit {commit}; `git submodule update` brings it") from None


def submodule_at(root: Path, name: str, home: Path) -> Path:
    """Return the folder of a submodule that is checked out.

    Args:
        home: where git keeps what it knows of the repository that the user named, submodules included.

    Raises:
        CodeError: it is not checked out, or a link, its `.git` or its settings lead elsewhere.
    """
    folder = root / name
    if not os.path.lexists(folder / ".git"):
        raise CodeError("it is not checked out (`git submodule update --init`)")
    places = git.folders_of(folder)
    if places is None or not all(
        place.is_relative_to(home) or place.is_relative_to(folder) for place in places
    ):
        raise CodeError("its .git leads out of the repository")
    if git.root_of(folder) != folder:
        raise CodeError("its worktree is elsewhere, by a link or `core.worktree`")
    return folder


def indexed_submodules(root: Path, paths: Collection[Path]) -> Iterator[Path]:
    """Yield those of these folders that are submodules below a worktree."""
    home = git.common_folder(root)
    for path in paths:
        if home is not None and path != root and path.is_relative_to(root):
            with suppress(CodeError):
                yield submodule_at(root, path.relative_to(root).as_posix(), home)
