"""Checks that hold for every database of an index folder: its structure, its segments, and what they cover."""

from __future__ import annotations

import os
import shlex
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import manifest, segment_files, segments
from sleuth.store.catalogue.manifest import SegmentEntry, SegmentMissingError
from sleuth.store.catalogue.schema import log_bytes
from sleuth.store.catalogue.segments import Opened
from sleuth.store.legs.leg import Leg
from sleuth.store.record.layout import Connection
from sleuth.store.record.values import Finding

REBUILD = "sleuth doctor --repair"
_AT_ONCE = 200
"""Rows that are looked at with one connection while an index is open."""
_LAST = 1 << 62
"""Above all keys."""
_BY_TABLE = (3, 33, 0)
"""The version of SQLite that checks one table by itself."""
Connections = Callable[[], AbstractContextManager[Connection]]
Damage = Callable[[Connection, int, int], str]
Rest = Callable[[float], object]
"""Is given the seconds of CPU time that a look took, and waits."""
READD = "sleuth doctor --repair, then add the documents that it names again"
Segments = list[tuple[SegmentEntry, Opened | SegmentMissingError | IndexDamagedError]]
"""By manifest entry, in its order: the segment, or why it does not open."""


def open_segments(connection: Connection, folder: Path, legs: Mapping[str, Leg], *, full: bool) -> Segments:
    """Return all segments of the newest version, which the connection's transaction sees from now on.

    A merge may take files away between the look at the manifest and the look at the folder; what is open stays, and
    what a later manifest still names is lost.

    Args:
        legs: by name; arrays of theirs are validated, at length where `full`.
    """
    missing: set[str] = set()
    while True:
        connection.execute("BEGIN")
        entries = manifest.entries(connection)
        opened = [(entry, open_segment(connection, folder, entry, legs, full=full)) for entry in entries]
        gone = {entry.name for entry, segment in opened if isinstance(segment, SegmentMissingError)}
        if gone <= missing:
            return opened
        missing = gone
        connection.let_go()


def open_segment(
    connection: Connection, folder: Path, entry: SegmentEntry, legs: Mapping[str, Leg], *, full: bool
) -> Opened | SegmentMissingError | IndexDamagedError:
    """Return the segment of an entry, or why it does not open."""
    try:
        return manifest.open_segment(connection, folder, entry, legs.get(entry.leg), full=full)
    except (SegmentMissingError, IndexDamagedError) as error:
        return error


def check_structure(connection: Connection) -> Iterator[Finding]:
    messages = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
    if messages != ["ok"]:
        yield Finding("error", "record", f"SQLite's integrity check: {'; '.join(messages)}", READD)
    if broken := connection.execute("PRAGMA foreign_key_check").fetchall():
        yield Finding("error", "record", f"{len(broken)} rows refer to rows that are not there", READD)


def prove_structure(connections: Connections, rest: Rest) -> str:
    """Return what SQLite finds wrong with a database, looking at one table after the other; "" for nothing."""
    with connections() as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
    for table in tables if sqlite3.sqlite_version_info >= _BY_TABLE else [""]:
        began = time.thread_time()
        with connections() as connection:
            of_table = f"({quoted(table)})" if table else ""
            messages = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check{of_table}")]
        if messages != ["ok"]:
            return f"SQLite's integrity check: {'; '.join(messages[:3])}; `{REBUILD}` recovers what is left"
        rest(time.thread_time() - began)
    return ""


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def prove_pieces(connections: Connections, table: str, damage: Damage, rest: Rest) -> str:
    """Return the first damage of a table, some rows at a time; no connection is held between them.

    Args:
        table: one whose rows are numbered.
        damage: says what is wrong with the rows from a first number on that are below an end; "" for nothing.
    """
    first, end = 0, 0
    after = f"SELECT rowid FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT 1 OFFSET ?"
    while end < _LAST:
        began = time.thread_time()
        with connections() as connection:
            connection.execute("BEGIN")
            (end,) = connection.execute(after, (first, _AT_ONCE)).fetchone() or (_LAST,)
            if wrong := damage(connection, first, end):
                return wrong
        first = end
        rest(time.thread_time() - began)
    return ""


def check_size(connection: Connection, file: Path) -> Iterator[Finding]:
    """Yield the length of the record's file, which SQLite does not mind."""
    pages, page = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    size = file.stat().st_size
    if size % page or (size > pages * page and not log_bytes(file)):
        yield Finding(
            "warning",
            "record",
            f"its file has {size} bytes, its pages take {pages * page}; no row is in the rest",
            REBUILD,
        )


def check_segment(
    entry: SegmentEntry, segment: Opened | SegmentMissingError | IndexDamagedError, *, full: bool
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], str]:
    """Return the keys of a segment, and what is wrong with it."""
    nothing = np.zeros(0, np.int64)
    if isinstance(segment, SegmentMissingError):
        return nothing, f"segment {entry.name}: its file is missing"
    if isinstance(segment, IndexDamagedError):
        return nothing, str(segment)
    keys = segment.keys
    return keys, segments.verify(segment) if full else ""


def check_coverage(  # noqa: PLR0917 - arrays in the order of the sentence
    leg: str,
    keys: np.ndarray[Any, np.dtype[np.int64]],
    present: np.ndarray[Any, np.dtype[np.int64]],
    dead: np.ndarray[Any, np.dtype[np.int64]],
    deferred: bool,
    faults: int,
) -> Iterator[Finding]:
    """Live rows of a leg against the rows of the record: each exactly once."""
    live = keys[~np.isin(keys, dead)]
    twice = len(live) - len(np.unique(live))
    missing, foreign = len(np.setdiff1d(present, live)), len(np.setdiff1d(live, present))
    if twice or foreign:
        yield Finding(
            "error", leg, f"{twice} rows are in two segments, {foreign} are of no document", REBUILD
        )
    if missing and deferred and not faults:
        yield Finding(
            "warning", leg, f"{missing} of {len(present)} chunks are not indexed yet", "sleuth index"
        )
    elif missing:
        yield Finding("error", leg, f"{missing} of {len(present)} chunks are in no sound segment", REBUILD)
    elif not (twice or foreign or faults):
        yield Finding("ok", leg, f"every one of {len(present)} chunks is covered exactly once")


def check_orphans(connection: Connection, folder: Path) -> Iterator[Finding]:
    """Files that nobody was writing and that no manifest since names: a commit may have come in between."""
    unheld = segment_files.orphans(folder, set()) if folder.is_dir() else []
    named = {f"{entry.name}{segment_files.SUFFIX}" for entry in manifest.entries(connection)}
    for path in unheld:
        if path.name in named or not os.path.lexists(path):
            continue
        if segment_files.is_ours(path):
            message, remedy = "no manifest names this file: a crash left it", "any write removes it"
        else:
            message, remedy = (
                "Sleuth did not write this file, and leaves it alone",
                f"rm {shlex.quote(str(path))}",
            )
        yield Finding("warning", path.name, message, remedy)
