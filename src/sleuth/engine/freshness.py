"""Brings an index up to date in the background when files have changed, within limits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from sleuth.errors import IndexLockedError, SleuthError
from sleuth.remote import THREADS

if TYPE_CHECKING:
    from sleuth.code import Snapshot
    from sleuth.engine import Engine

MAX_CHANGED = 2_000
"""Changed files from which on indexing is left to `sleuth index` and `sleuth code index`."""

WAIT = 0.3
"""Seconds that an answer waits for the index to be brought up to date."""

SHARE = 20
"""A look that took a second is followed by this many seconds of rest."""

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Stale:
    """What differs between files and index.

    Attributes:
        files: how many; None if the files were not compared since the call began.
        paths: the first few of them.
        error: why the last refresh failed; "" where it did not.
    """

    files: int | None = None
    paths: tuple[str, ...] = ()
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        optional = {"paths": list(self.paths), "error": self.error}
        return {"files": self.files, **{name: value for name, value in optional.items() if value}}


class Refresher:
    """Compares files with the index and indexes what changed, in one thread at a time.

    Args:
        engine, snapshots: return what is open now, each time they are called.
        write: whether to index changes; else they are only counted.

    Attributes:
        rest: seconds that must pass after the last look.
    """

    def __init__(
        self,
        engine: Callable[[], Engine | None],
        snapshots: Callable[[], Sequence[Snapshot]],
        *,
        write: bool = True,
    ) -> None:
        self._engine = engine
        self._snapshots = snapshots
        self._write = write
        self._guard = threading.Lock()
        self._running: threading.Event | None = None
        self._ended = self._looked = float("-inf")
        self.rest = 0.0
        self.stale = Stale()

    def check(self, wait: float = WAIT) -> Stale:
        """Start comparing the files with the index if a comparison is due, and return the newest result.

        `files` is 0 only if the comparison began after this call: an older result that nothing changed is returned as
        None, for unknown.

        Args:
            wait: seconds to wait for the comparison, at most.
        """
        with self._guard:
            called = time.monotonic()
            job = self._running
            if job is None and time.monotonic() >= self._ended + self.rest:
                job = self._running = THREADS.submit(self._run)
        if job is not None and wait:
            job.wait(wait)
        stale = self.stale
        return stale if stale.files or self._looked >= called else replace(stale, files=None)

    def finish(self, seconds: float = 10.0) -> None:
        """Wait for the look that is under way."""
        if (job := self._running) is not None:
            job.wait(seconds)

    def _run(self) -> None:
        """Compare the files with the index, index what changed if that is allowed and not much, and compare again."""
        began = time.monotonic()
        try:
            looked, (documents, code) = began, self._changes()
            self.stale, error = _stale(documents, code), ""
            if self.stale.files and self._write and self.stale.files <= MAX_CHANGED:
                try:
                    self._index(documents, code)
                except IndexLockedError:
                    pass  # another process indexes them now
                except SleuthError as failure:
                    error = str(failure)
                looked, (documents, code) = time.monotonic(), self._changes()
            self.stale, self._looked = _stale(documents, code, error), looked
        except Exception as error:  # noqa: BLE001 - an answer that may be stale is better than none
            self.stale = Stale(self.stale.files, self.stale.paths, str(error))
        finally:
            took = time.monotonic() - began
            with self._guard:
                self._ended, self.rest = time.monotonic(), SHARE * took
                self._running = None

    def _changes(self) -> tuple[list[str], dict[str, list[str]]]:
        """Return the absolute paths of changed documents, and the paths of changed code by repository.

        Files that are new in a folder of documents are not noticed.
        """
        from sleuth.code.snapshots.diff import changed_files as changed_code
        from sleuth.ingest.diff import changed_files as changed_documents

        documents: list[str] = []
        if (engine := self._engine()) is not None:
            with engine.store.reader() as snapshot:
                documents = [path for paths in changed_documents(snapshot, engine.files) for path in paths]
        return documents, {one.repository.path: changed_code(one) for one in self._snapshots()}

    def _index(self, documents: list[str], code: dict[str, list[str]]) -> None:
        """Index what changed, without waiting for another writer. Files are read with the options of their root."""
        from sleuth.code import CodeStorage, index_path

        if documents and (engine := self._engine()) is not None:
            engine.index(documents, prune=True, timeout=0.0)
        for snapshot in self._snapshots():
            storage, path = snapshot.storage, snapshot.repository.path
            if code.get(path) and isinstance(storage, CodeStorage):
                index_path(storage, path, timeout=0.0, vectors=False)


def _stale(documents: list[str], code: dict[str, list[str]], error: str = "") -> Stale:
    code_paths = (f"{root}/{path}" for root, paths in code.items() for path in paths)
    paths = tuple(dict.fromkeys(chain(documents, code_paths)))
    return Stale(len(paths), paths[:_NAMED], error)
