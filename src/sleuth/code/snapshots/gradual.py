"""Indexes a folder for the first time in parts, so that the first part can answer after a second.

Each part is a snapshot of the files so far. The files that a question is about come first. The last run indexes the
folder like any other run, and then the parts are forgotten. After a kill, the next run starts from the files so far.
Before it, the folder is measured, as far as it takes to see that it is too large to be indexed unasked.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from sleuth.code.parsing.labels import CATEGORIES, labels_of_path
from sleuth.code.parsing.limits import MAX_BYTES
from sleuth.code.repository.listing import Listed, Listing, Past, Version
from sleuth.code.repository.sources import Checkout, DiskSource, content_id, is_passed_over, source_at
from sleuth.code.snapshots.indexing import CodeIndexReport, index_path, index_source, past_of
from sleuth.code.snapshots.lookup import newest_completed
from sleuth.code.snapshots.record import Repository, SnapshotInfo
from sleuth.code.snapshots.storage import CodeStorage
from sleuth.files.tree import files_below

SECONDS: Final = 600.0
"""A first run that nobody asked for ends after so long; the next one goes on."""

MOST_FILES: Final = 50_000
MOST_BYTES: Final = 500_000_000
"""Of a folder that is indexed unasked: of all files that are small enough to be read."""
MEASURING: Final = 5.0  # seconds of CPU time; a folder that takes longer to list is too large as well

_PARTIAL: Final = "partial-"
_FIRST: Final = 300_000
"""Bytes of the first part's new files; each further part has three times as many."""
_EACH: Final = 1_000
"""Bytes that an empty file counts as."""
_ORDERING: Final = 0.5
"""Seconds for which files are compared with the words of a question."""
_HEAD: Final = 100_000
"""Bytes of each file that are compared."""


class _TooSlowError(Exception):
    """The folder cannot be measured in time."""


def why_too_large(root: Path) -> str:
    """Return why a folder is too large to be indexed unasked; "" if it is not.

    Links are not followed, unreadable folders are skipped, and ignored files do not count.
    """
    deadline = time.thread_time() + MEASURING
    in_git = os.path.lexists(root / ".git")

    def passes_over(folder: str, name: str) -> bool:
        if time.thread_time() > deadline:
            raise _TooSlowError
        if in_git:
            return name == ".git" or os.path.lexists(f"{root}/{folder}{name}/.git")
        return is_passed_over(name)

    files = size = 0
    try:
        for path in files_below(root, passes_over):
            files += 1
            with suppress(OSError):  # a file that went away meanwhile
                length = os.lstat(os.fsencode(root) + b"/" + path).st_size
                size += length if length <= MAX_BYTES else 0
            if files > MOST_FILES:
                return f"it has more than {MOST_FILES:,} files"
            if size > MOST_BYTES:
                return f"its files have more than {MOST_BYTES // 1_000_000:,} MB"
    except _TooSlowError:
        return f"its files cannot be counted within {MEASURING:.0f} s of CPU time"
    return ""


class StoppedError(Exception):
    """A first run was stopped, or has used its time; says which."""


class Coverage(NamedTuple):
    """What the newest snapshot of a repository covers.

    Attributes:
        files: to cover; None while they are being listed.
        missing: how many files of each top folder are not covered yet, most first; "" for files in the root.
    """

    files: int | None
    missing: dict[str, int]

    @property
    def percent(self) -> int:
        """The covered share, rounded down; 0 while files are being listed."""
        return 100 * (self.files - sum(self.missing.values())) // self.files if self.files else 0


def is_partial(snapshot: SnapshotInfo) -> bool:
    """Return whether a snapshot is a part of a first run that is not over."""
    return snapshot.id.startswith(_PARTIAL)


class FirstRun:
    """Indexes a folder in parts. One thread runs it; others may ask and stop it.

    Attributes:
        words: lower-case words of the last question; files with them are indexed next.
    """

    def __init__(self, storage: CodeStorage, root: Path) -> None:
        """Start nothing yet."""
        self.words: Sequence[str] = ()
        self._storage = storage
        self._root = root
        self._repository: Repository | None = None
        self._paths: list[str] | None = None
        self._is_stopped = False
        self._deadline = math.inf

    def stop(self) -> None:
        """End the run soon, with what is committed so far."""
        self._is_stopped = True

    def run(self) -> CodeIndexReport:
        """Index growing parts of the folder, then all of it as an ordinary run, and delete the snapshots of the parts.

        Returns:
            What the ordinary run did.

        Raises:
            StoppedError: stopped, or out of time.
            SleuthError: as `index_path`.
        """
        self._deadline = time.monotonic() + SECONDS
        source = source_at(self._root)
        storage, root = self._storage, str(source.root)
        with storage.writing(SECONDS):
            repository = storage.repository_of(source)
        self._repository = repository
        self._index_parts(source, repository)
        del source  # with the contents that it holds
        report = index_path(storage, root, progress=self.check, timeout=SECONDS, vectors=False)
        snapshots = storage.snapshots(repository.id)
        if any(map(is_partial, snapshots)):
            storage.prune(repository.id, keep=[s.id for s in snapshots if not is_partial(s)])
        return report

    def coverage(self) -> Coverage:
        """Return what the newest snapshot covers of the files that were listed."""
        storage, repository = self._storage, self._repository
        if self._paths is None or repository is None:
            return Coverage(None, {})
        newest = newest_completed(storage.snapshots(repository.id))
        covered_paths: set[str] = set()
        if newest is not None:
            snapshot = storage.open_snapshot(repository, newest)
            covered_paths = {row.path for row in (*snapshot.files, *snapshot.skipped)}
        missing_paths = (path for path in self._paths if path not in covered_paths)
        missing_by_folder = Counter(path.partition("/")[0] if "/" in path else "" for path in missing_paths)
        return Coverage(len(self._paths), dict(missing_by_folder.most_common()))

    def check(self, *_: int) -> None:
        """Raise `StoppedError` if the run was stopped or has used its time."""
        if self._is_stopped:
            raise StoppedError("it was stopped")
        if time.monotonic() > self._deadline:
            raise StoppedError(f"it took more than {SECONDS:.0f} s")

    def _index_parts(self, source: Checkout, repository: Repository) -> None:
        storage = self._storage
        files = source.listing(past_of(storage, repository.id, source)).files
        keys = storage.known_files(repository.id)
        waiting_files = [file for file in files if not file.skip and (file.path, file.hash) not in keys]
        unindexed_files = set(waiting_files)
        self._paths = [file.path for file in files if not file.skip]
        covered_files = [file for file in files if file not in unindexed_files]
        size = _FIRST
        while True:
            self.check()
            waiting_files = _ordered(source, waiting_files, self.words)
            sizes = accumulate(_EACH + _length(source, file) for file in waiting_files)
            count = max(1, sum(so_far <= size for so_far in sizes))
            if count >= len(waiting_files):
                return
            covered_files, waiting_files = covered_files + waiting_files[:count], waiting_files[count:]
            part = _PartialSource(source, sorted(covered_files))
            index_source(storage, part, progress=self.check, timeout=SECONDS)
            size *= 3


class _PartialSource:
    """Some files of a source, as a source."""

    def __init__(self, whole: Checkout, files: list[Listed]) -> None:
        self.root = whole.root
        self._whole = whole
        self._files = files

    def listing(self, past: Past | None = None) -> Listing:
        """Return the files, named as a part."""
        return Listing(Version(f"{_PARTIAL}{content_id(self._files)}"), self._files, {})

    def read(self, files: Sequence[Listed]) -> Iterator[bytes]:
        """Contents, in order."""
        return self._whole.read(files)


def _length(source: Checkout, file: Listed) -> int:
    return len(source.content_of(file.path)) if isinstance(source, DiskSource) else 0


def _ordered(source: Checkout, files: Sequence[Listed], words: Sequence[str]) -> list[Listed]:
    """Return files in the order in which they are indexed: by BM25 of the question's words, code before the rest."""
    counts = _counts(source, files, words) if isinstance(source, DiskSource) and words else {}
    holders = Counter(word for word_counts in counts.values() for word, count in word_counts.items() if count)
    weights = {word: math.log(1 + len(counts) / holders[word]) for word in holders}
    mean = sum(_length(source, file) for file in files) / max(len(files), 1) + 1

    def rank(file: Listed) -> tuple[float, int, str]:
        """Return what is compared, the lower the earlier: BM25 with k1 1.2 and b .75, the category, the path."""
        _, category_name = labels_of_path(file.path)
        category = CATEGORIES.index(category_name)
        saturation = 1.2 * (0.25 + 0.75 * _length(source, file) / mean)  # k1 and b
        score = sum(
            weights[word] * count / (count + saturation)
            for word, count in counts.get(file.path, {}).items()
            if count
        )
        return -score / (1 + category), category, file.path

    return sorted(files, key=rank)


def _counts(source: DiskSource, files: Sequence[Listed], words: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return how often each word occurs in each file's path and text, for as many files as there is time."""
    deadline = time.monotonic() + _ORDERING
    encoded = [(word, word.encode()) for word in words]
    counts: dict[str, dict[str, int]] = {}
    for file in files:
        if time.monotonic() > deadline:
            break
        text = file.path.lower().encode() + b"\n" + source.content_of(file.path)[:_HEAD].lower()
        counts[file.path] = {word: text.count(form) for word, form in encoded}
    return counts
