"""Looks for damage in a code index that stays open, in the background."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable

from sleuth.code.snapshots.damage import prove
from sleuth.code.snapshots.shelf import Shelf
from sleuth.errors import IndexDamagedError, StoreError
from sleuth.store import Database, Watch


class Proof:
    """Proves the segments and the rows of a code index once, and keeps what it found."""

    def __init__(self, database: Database, shelf: Shelf) -> None:
        self._database = database
        self._shelf = shelf
        self._watch = Watch(shelf.prove, self._prove_rows, shelf.damage)
        self._bad_rows = ""
        self._names: set[str] = set()
        _PROOFS.add(self)

    @property
    def damage(self) -> tuple[str, ...]:
        """What was found damaged since the index was opened."""
        return (*filter(None, [self._bad_rows]), *self._shelf.damage.values())

    def see(self) -> None:
        """Begin to look, or look at the segments that were opened since. Takes no time."""
        names = self._shelf.names()
        if names != self._names:
            self._names = names
        self._watch.see(self._names, lambda: names)

    def forget(self) -> None:
        """Rows were repaired."""
        self._bad_rows = ""

    def stop(self) -> None:
        """End the thread."""
        self._watch.stop()

    def after_fork(self) -> None:
        """Run in a forked child: forget the parent's thread."""
        self._watch.after_fork()

    def _prove_rows(self, rest: Callable[[float], object]) -> None:
        try:
            self._bad_rows = prove(self._database.connection, rest)
        except IndexDamagedError as error:
            self._bad_rows = str(error)
        except StoreError:  # busy or closed: nothing is proven
            return


_PROOFS: weakref.WeakSet[Proof] = weakref.WeakSet()


def _after_fork() -> None:
    for proof in list(_PROOFS):
        proof.after_fork()


os.register_at_fork(after_in_child=_after_fork)
