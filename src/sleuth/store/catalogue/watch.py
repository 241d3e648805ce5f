"""Proves the segments and rows of an index that stays open, a little at a time and once for all processes."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, Protocol

from sleuth.errors import IndexDamagedError, StoreError
from sleuth.logs import logger_of
from sleuth.store.catalogue.proof_notes import ProofNotes

logger = logger_of("damage")

RATE: Final = 64 << 20
"""Bytes of segments a second, which takes a twentieth of a core."""
SHARE: Final = 0.05
"""Of a core, that looking at rows may take; of the time for which an index was open, that a glance may take."""
PATIENCE: Final = 5.0
"""Seconds for which a store must have been open; of one that is closed sooner, a part is proven then."""


class Prove(Protocol):
    """Reads every byte of a segment, and notes it where it is damaged; see `Views.prove`."""

    def __call__(self, name: str, pause: Callable[[int], object], /) -> bool: ...


class _StoppedError(Exception):
    """The store is being closed."""


class Watch:
    """Proves each segment that readers see once, and all rows once, in a thread that ends when all are proven.

    Usable in a forked child, which looks for itself.

    Attributes:
        proven: names of the segments that were looked at.
        bad_rows: what is wrong with the rows; "" as far as is known.
    """

    def __init__(
        self,
        prove: Prove,
        prove_rows: Callable[[Callable[[float], object]], str],
        damage: Mapping[str, str],
        notes: ProofNotes,
    ) -> None:
        """Creates a watch that is due after `PATIENCE` seconds.

        Args:
            prove_rows: looks at all rows and returns what is wrong with them; calls its argument with the seconds of
                CPU time that a part took.
            damage: what `prove` has noted, by name.
            notes: what other processes have proven.
        """
        self.proven: set[str] = set()
        self.bad_rows = ""
        self._prove = prove
        self._prove_rows = prove_rows
        self._damage = damage
        self._notes = notes
        self._rows_are_proven = False
        self._opened = time.monotonic()
        self._due = self._opened + PATIENCE
        self._names: Callable[[], set[str]] = set
        self._seen: object = None
        self._stopping = threading.Event()
        self._at_leisure = threading.Event()
        self._at_leisure.set()
        self._busy = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        _WATCHES.add(self)

    def forget(self) -> None:
        """Forget damaged rows, which were repaired."""
        self.bad_rows = ""

    @contextmanager
    def postponed(self) -> Iterator[None]:
        """Prove nothing for the length of a block, and do not count its time: a writer needs the memory.

        Blocks of several threads may overlap.
        """
        began = time.monotonic()
        with self._lock:
            self._busy += 1
            self._at_leisure.clear()
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1
                if not self._busy:
                    self._opened += time.monotonic() - began
                    self._due += time.monotonic() - began
                    self._at_leisure.set()

    def see(self, views: object, names: Callable[[], set[str]]) -> None:
        """Begin to prove what a reader sees, if it was not proven yet. Takes no time.

        Args:
            views: the same object as long as the segments are the same.
            names: returns theirs.
        """
        self._names = names
        if views is self._seen or time.monotonic() < self._due or not self._at_leisure.is_set():
            return
        with self._lock:
            if self._thread is not None or self._stopping.is_set():
                return
            self._seen = views
            unproven = names() - self.proven
            if unproven or not self._rows_are_proven:
                self._thread = threading.Thread(
                    target=self._run, args=(sorted(unproven),), name="sleuth-watch", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """End the thread, in the middle of a segment; where none was due yet, take a glance at the segments."""
        is_first = not self._stopping.is_set()
        self._stopping.set()
        self._at_leisure.set()
        if thread := self._thread:
            thread.join()
        if is_first and self._seen is None:
            self._glance()

    def _glance(self) -> None:
        """Prove segments for a twentieth of the time for which the index was open, beginning with any; log damage."""
        now = time.monotonic()
        end = now + SHARE * (now - self._opened)

        def pause(_: int) -> None:
            if time.monotonic() >= end:
                raise _StoppedError

        names = sorted(self._names())
        first = time.monotonic_ns() // 1000 % len(names) if names else 0
        with suppress(_StoppedError):
            for name in names[first:] + names[:first]:
                if not self._prove(name, pause):
                    logger.warning("%s; `sleuth doctor --repair` makes it anew", self._damage[name])

    def after_fork(self) -> None:
        """Run in a forked child: forget the parent's thread."""
        self._lock, self._thread, self._seen, self._busy = threading.Lock(), None, None, 0
        self._at_leisure = threading.Event()
        self._at_leisure.set()
        self._notes.after_fork()

    def _run(self, names: Sequence[str]) -> None:
        try:
            with self._notes.turn(self._wait):
                for name in names:
                    self._notes.segment(name, partial(self._prove, name, self._pause))
                    self.proven.add(name)
                if not self._rows_are_proven:
                    self._notes.record(self._are_rows_whole)
                    self._rows_are_proven = True
        except _StoppedError:
            pass
        except IndexDamagedError as error:
            self.bad_rows, self._rows_are_proven = str(error), True
        except StoreError:  # busy or closed: nothing is proven
            self._rows_are_proven = True
        finally:
            self._thread = None

    def _are_rows_whole(self) -> bool:
        self.bad_rows = self._prove_rows(self._rest)
        return not self.bad_rows

    def _pause(self, size: int) -> None:
        self._wait(size / RATE)

    def _rest(self, seconds: float) -> None:
        self._wait(seconds / SHARE)

    def _wait(self, seconds: float) -> None:
        self._at_leisure.wait()
        if self._stopping.wait(seconds):
            raise _StoppedError


_WATCHES: weakref.WeakSet[Watch] = weakref.WeakSet()


def _after_fork() -> None:
    for watch in list(_WATCHES):
        watch.after_fork()


os.register_at_fork(after_in_child=_after_fork)
