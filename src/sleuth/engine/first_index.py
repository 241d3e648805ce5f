"""Indexes the code of a folder at the first call, in the background, if the folder is one to index unasked."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from shlex import quote
from threading import Event, Lock
from typing import TYPE_CHECKING

from sleuth.errors import SleuthError, amount
from sleuth.files.home import home_folder
from sleuth.remote import THREADS

if TYPE_CHECKING:
    from sleuth.code import CodeStorage
    from sleuth.code.snapshots.gradual import Coverage, FirstRun

WORK = 1.4
"""CPU seconds of this process that a call waits for the first part: on a busy machine they take longer."""

LONGEST = 20.0
"""Seconds that it waits at most: agents give up on a call after a minute."""

_POLL = 0.03  # seconds between two looks at the snapshot: a call returns late by at most this
_WORDS = 20
_FOLDERS = 5


class FirstIndex:
    """The first run over one folder. A run that failed is tried again by the next call.

    Args:
        open: opens or makes the storage; called in the thread that indexes.
        root: the folder.
        answers: returns whether a snapshot can answer by now.
    """

    def __init__(self, open: Callable[[], CodeStorage], root: Path, answers: Callable[[], bool]) -> None:
        self._open = open
        self._root = root
        self._answers = answers
        self._guard = Lock()
        self._done: Event | None = None
        self._run: FirstRun | None = None
        self._failure = ""
        self._vectors = ""
        self._words: tuple[str, ...] = ()
        self._is_closed = False

    def ask(self, texts: Iterable[str]) -> None:
        """Begin, also after a failure, or prefer the files that these texts are about, and wait for an answer."""
        deadline, work = time.monotonic() + LONGEST, time.process_time() + WORK
        words = (word for text in texts for word in re.findall(r"\w{3,}", text.lower()))
        self._words = tuple(dict.fromkeys(words))[:_WORDS]
        with self._guard:
            if self._done is None or (self._failure and self.is_over and not self._is_closed):
                self._done = THREADS.submit(self._index)
            end = self._done
        if self._run is not None:
            self._run.words = self._words
        while time.process_time() < work and time.monotonic() < deadline:
            if self._answers() or end.wait(_POLL):
                break

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, with or without a complete index."""
        return self._done is not None and self._done.is_set()

    @property
    def note(self) -> str:
        """How far the index is, or why it was not made; "" once it is complete."""
        if self._failure:
            return self._failure
        if self._done is None or self.is_over:
            return ""
        return self._vectors or _progress(self._run.coverage() if self._run is not None else None)

    def close(self, seconds: float = 10.0) -> None:
        """Stop, and wait until nothing is written any more."""
        self._is_closed = True
        if self._run is not None:
            self._run.stop()
        if self._done is not None:
            self._done.wait(seconds)

    def _index(self) -> None:
        from sleuth.code.snapshots.gradual import FirstRun, StoppedError, why_too_large
        from sleuth.engine.codebase import embed_code

        command = f"`sleuth code index {quote(str(self._root))}` indexes it"
        try:
            if reason := why_unfit(self._root) or why_too_large(self._root):
                self._failure = (
                    f"not started: {self._root} is not indexed unasked, because {reason}; {command}"
                )
                return
            self._failure = ""
            storage = self._open()
            run = FirstRun(storage, self._root)
            run.words = self._words
            self._run = run
            if not self._is_closed:
                embed_code(storage, run.run(), self._embedded)
        except StoppedError as error:
            self._failure = f"stopped at {run.coverage().percent} %, because {error}; {command}"
        except (SleuthError, OSError) as error:
            elsewhere = f"`sleuth mcp --root {quote(str(self._root))} --index FOLDER` keeps the index there"
            self._failure = f"not possible: {error}; {elsewhere}"

    def _embedded(self, count: int, files: int) -> None:
        """Note how many files have vectors.

        Raises:
            StoppedError: the run was stopped, or has used its time.
        """
        self._vectors = f"100 %, words alone answer until all files have vectors: {count:,} of {files:,}"
        if self._run is not None:
            self._run.check()


def preload_code_modules() -> None:
    """Import the slow modules that index and search code, so that the first call need not wait for them.

    A missing package is ignored: the first call names it.
    """
    with suppress(ImportError):
        import_module("sleuth.code.search.retriever")
        import_module("sleuth.code.snapshots.gradual")
        import_module("sleuth.engine.sources")


def _progress(coverage: Coverage | None) -> str:
    if coverage is None or coverage.files is None:
        return "0 %, not yet covered: everything"
    if not coverage.missing:
        return ""
    folders = [
        f"{name}/ ({count:,})" if name else f"files in the root ({count:,})"
        for name, count in coverage.missing.items()
    ]
    remainder = len(folders) - _FOLDERS
    first = ", ".join(folders[:_FOLDERS]) + (
        f" and {amount(remainder, 'more folder')}" if remainder > 0 else ""
    )
    return f"{coverage.percent} %, not yet covered: {first}; words alone answer until then, ask again soon"


def why_unfit(root: Path) -> str:
    """Return why a folder is no project, by its place alone; "" if it may be one."""
    home = home_folder().resolve()
    if root == home or root in home.parents:
        return "it is or holds a home folder"
    shared = (Path("/tmp"), Path("/var/tmp"), Path(tempfile.gettempdir()).resolve())  # noqa: S108 - not written to
    return "it is a folder for temporary files" if root in shared else ""
