"""Where do documents live, and how do searchers get at them?

`Store` is an index folder: the record, which is one SQLite database; segments, which legs derive from it and which
can always be rebuilt; and the lock of the one writer.

    store = Store.open("index", create=True, settings={"analyzer": "english"})
    store.attach([LexicalLeg(...)])
    with store.writer() as writer:
        writer.put("a.txt", content_hash("words"), [Chunk("words", 0, 5, 1, 1)])
    with store.reader() as snapshot:
        views = snapshot.segments("lexical")
    store.close()
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from sleuth.store.legs import Leg
from sleuth.store.reading import Snapshot
from sleuth.store.values import Finding, Repair, Status
from sleuth.store.writing import Writer

FORMAT = 1
"""The version of the format of the index folder."""


def content_hash(text: str) -> str:
    """A hash of a text, 32 hex digits (BLAKE2b of its UTF-8)."""
    raise NotImplementedError


class Store:
    """An open index folder. Safe to share between threads; usable in a forked child.

    Attributes:
        path: the folder.
        settings: what was given when the index was made.
        writable: whether this process may write; readers of a read-only folder may not.
    """

    path: Path
    settings: Mapping[str, Any]
    writable: bool

    @classmethod
    def open(
        cls, path: str | Path, *, create: bool = False, settings: Mapping[str, Any] | None = None
    ) -> Store:
        """Open the index at `path`.

        Args:
            create: make it where there is none; an index that is there is opened as it is.
            settings: JSON values kept with a new index; not compared with those of an old one.

        Raises:
            IndexNotFoundError: no index there, and not asked to make one.
            FormatVersionError: made by another version of the format.
            IndexDamagedError: the record does not open; the message says what remains.
        """
        raise NotImplementedError

    def attach(self, legs: Sequence[Leg], *, deferred: Collection[str] = ()) -> list[Repair]:
        """Serve these legs from now on, and mend what they lack.

        Segments that are missing, damaged or of another fingerprint are rebuilt from the record and rows that no
        segment covers are indexed: on disk where this process may write and nobody else does, else in memory.

        Args:
            deferred: names of legs whose rows are expensive: commits leave them uncovered until `build`.

        Returns:
            What was mended; empty for a healthy index.
        """
        raise NotImplementedError

    def build(self, leg: str, progress: Callable[[int, int], None] | None = None, *, timeout: float = 10.0) -> int:
        """Index the rows that this leg does not cover; each batch is committed, so it can be broken off and resumed.

        Args:
            progress: called with rows done and rows to do.
            timeout: seconds to wait for the writer's lock.

        Returns:
            Rows indexed.
        """
        raise NotImplementedError

    def writer(self, *, timeout: float = 10.0) -> AbstractContextManager[Writer]:
        """Become the one writer, over all threads and processes, for the length of a block.

        Args:
            timeout: seconds to wait for the writer before.

        Raises:
            IndexLockedError: another writer holds the index; names it.
            StoreError: this process may not write here.
        """
        raise NotImplementedError

    def reader(self) -> AbstractContextManager[Snapshot]:
        """The newest committed version, unchanging for the length of a block. Never waits for a writer."""
        raise NotImplementedError

    @property
    def version(self) -> int:
        """The newest committed version."""
        raise NotImplementedError

    def compact(self, *, timeout: float = 10.0) -> None:
        """Merge every leg into one segment, without deleted rows, and give free space back to the disk."""
        raise NotImplementedError

    def wait(self) -> None:
        """Wait until the merges in the background are done; raises what they raised."""
        raise NotImplementedError

    def status(self) -> Status:
        """Counts, sizes, versions, per leg; costs milliseconds."""
        raise NotImplementedError

    def check(self, *, full: bool = False) -> list[Finding]:
        """Prove that every chunk is covered exactly once by every leg and that files are as they were written.

        Args:
            full: read every byte: checksums of all segments and rows, SQLite's integrity check.

        Returns:
            Findings, the worst first; only "ok" ones for a healthy index.
        """
        raise NotImplementedError

    def repair(self, *, timeout: float = 10.0) -> list[Repair]:
        """Check fully, and mend what can be mended: segments from the record, then what is left of the record itself.

        Documents of which the record has lost a part are removed, and named, so that adding them again restores them.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of everything; merges that run are abandoned, to be done after a later commit. Closing twice is fine."""
        raise NotImplementedError

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
