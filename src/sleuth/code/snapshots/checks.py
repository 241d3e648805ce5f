"""An index of code as the checks of the store see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sleuth.code.snapshots import commits
from sleuth.code.snapshots.damage import AGAIN, TABLES
from sleuth.code.snapshots.record import CODE_SCHEMA
from sleuth.code.snapshots.shelf import Shelf
from sleuth.code.snapshots.words import WordLeg, Words
from sleuth.store import Finding
from sleuth.store.catalogue.database import Database
from sleuth.store.health.checks import Checks, Live
from sleuth.store.record.layout import Connection

LiveKeys = Callable[[Connection, WordLeg], NDArray[np.int64]]


class CodeChecks(Checks):
    """An index of code as the checks see it."""

    subject = CODE_SCHEMA.names.record
    again = AGAIN
    tables = TABLES
    prefix = "code "

    def __init__(self, database: Database, words: Words, shelf: Shelf, live: LiveKeys, lost: str) -> None:
        """Make them for one check.

        Args:
            live: returns the keys of the rows of a leg.
            lost: snapshots that are noted beside the database and missing in it, in words; "" for none.
        """
        self.connections = database.connection
        self.file = database.path / CODE_SCHEMA.names.record
        self.folder = database.segments
        self._legs = {leg.name: leg for leg in (words.files, words.chunks, words.commits)}
        self.legs = self._legs
        self.noted = shelf.damage
        self._live = live
        self._lost = lost

    def losses(self, connection: Connection) -> Iterator[Finding]:
        """Yield snapshots that were noted beside the database and that it lacks."""
        if self._lost:
            yield Finding("error", self.subject, self._lost, AGAIN)

    def counts(self, connection: Connection) -> Iterator[Finding]:
        """Yield how much the database holds."""
        snapshots, files = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("snapshots", "files")
        )
        history = len(commits.keys_of_commits(connection))
        message = f"{snapshots} snapshots, {files} versions of files, {history} commits"
        yield Finding("ok", self.subject, message)

    def live(self, connection: Connection, leg: str, keys: NDArray[np.int64]) -> Live:
        """Return the rows of file versions, chunks or commits, and the pruned ones."""
        present = self._live(connection, self._legs[leg])
        return Live(present, np.setdiff1d(keys, present))
