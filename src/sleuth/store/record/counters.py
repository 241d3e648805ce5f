"""The counters of the record: versions, the next key, and how many rows there are."""

from __future__ import annotations

import sqlite3
from dataclasses import astuple, dataclass
from typing import NamedTuple


@dataclass(slots=True)
class Counters:
    """The row of `state`, as a transaction changes it.

    Attributes:
        version: of the rows; grows by one with every commit that changed rows.
        generation: grows by one with every commit.
        next_key: of the next chunk.
    """

    version: int
    generation: int
    next_key: int
    documents: int
    chunks: int

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Counters:
        """Return the counters that the record holds."""
        return cls(
            *connection.execute(
                "SELECT version, generation, next_key, documents, chunks FROM state"
            ).fetchone()
        )

    def write(self, connection: sqlite3.Connection) -> None:
        """Keep these counters, in the open transaction."""
        connection.execute(
            "UPDATE state SET version = ?, generation = ?, next_key = ?, documents = ?, chunks = ?",
            astuple(self),
        )


class Totals(NamedTuple):
    """What the tables themselves say.

    Attributes:
        end: the key behind the last document.
    """

    documents: int
    chunks: int
    end: int

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Totals:
        """Count the documents of the record."""
        return cls(
            *connection.execute(
                "SELECT count(*), coalesce(sum(chunks), 0), coalesce(max(key + max(chunks, 1)), 1) FROM documents"
            ).fetchone()
        )
