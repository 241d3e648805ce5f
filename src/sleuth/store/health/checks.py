"""Checks that hold for every database of an index folder: structure, rows, segments, and what segments cover.

An index of documents and one of code say what they consist of (`Checks`); the checks themselves are here.
"""

from __future__ import annotations

import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError, StoreError, amount
from sleuth.store.catalogue import manifest, segment_files, segments
from sleuth.store.catalogue.database import Database
from sleuth.store.catalogue.manifest import SegmentEntry, SegmentMissingError
from sleuth.store.catalogue.segments import Opened
from sleuth.store.disk.files import log_bytes
from sleuth.store.legs.leg import SegmentKind
from sleuth.store.record.layout import Connection
from sleuth.store.record.values import Finding

REBUILD = "sleuth doctor --repair"
END = 1 << 62
"""Above all keys."""
_ORDER = ("error", "warning", "ok")
_NAMES = 5
"""Damaged rows that a message names."""
Segments = list[tuple[SegmentEntry, Opened | SegmentMissingError | IndexDamagedError]]
"""By manifest entry, in its order: the segment, or why it does not open."""


class CheckedTable(NamedTuple):
    """A table whose rows are numbered and have checksums.

    Attributes:
        name: in the database.
        noun: what its rows are.
        bad: returns, by number, the names of the rows that are not as they were written; "" for a row without a name.
        remedy: of such rows, as a command.
        fault: what is wrong with such rows.
    """

    name: str
    noun: str
    bad: Callable[[Connection], dict[int, str]]
    remedy: str = REBUILD
    fault: str = "are not as they were written"

    def describe(self, bad: Mapping[int, str]) -> str:
        """Return how many rows are damaged, and the names of the first."""
        names = [name for name in bad.values() if name]
        examples = ", ".join(map(repr, names[:_NAMES])) + (", ..." if len(names) > _NAMES else "")
        return f"{len(bad)} {self.noun} {self.fault}" + (f": {examples}" if names else "")


class Live(NamedTuple):
    """Keys of the rows of a leg.

    Attributes:
        present: of rows that the database holds, shape (n,).
        dead: of rows that segments may hold besides, shape (m,).
    """

    present: NDArray[np.int64]
    dead: NDArray[np.int64]


class Checks(ABC):
    """An index as the checks see it.

    Attributes:
        database: with the folder of its segments.
        legs: by name.
        deferred: names of legs that may lack the newest rows.
        subject: what the database is called.
        again: the remedy for what the database has lost.
        tables: all whose rows have checksums, in an order in which damaged rows may be removed.
        prefix: of the names of legs.
    """

    subject: ClassVar[str]
    again: ClassVar[str]
    prefix: ClassVar[str] = ""
    database: Database
    tables: tuple[CheckedTable, ...]
    legs: Mapping[str, SegmentKind]
    deferred: frozenset[str] = frozenset()

    @abstractmethod
    def losses(self, connection: Connection) -> Iterator[Finding]:
        """Yield commits that are noted beside the database and missing in it."""

    @abstractmethod
    def counts(self, connection: Connection) -> Iterator[Finding]:
        """Yield what the database holds, or in what its counters are wrong."""

    @abstractmethod
    def live(self, connection: Connection, leg: str, keys: NDArray[np.int64]) -> Live:
        """Return the rows of a leg, whose segments hold these keys."""


def check(checks: Checks, *, full: bool) -> list[Finding]:
    """Check that files are as they were written, and that every leg covers every row exactly once.

    Args:
        full: read every byte: checksums of all segments and rows, SQLite's integrity check.

    Returns:
        Findings, the worst first; only "ok" ones for a sound index.
    """
    findings: list[Finding] = []
    try:
        with checks.database.connection() as connection:
            findings += _check(connection, checks, full=full)
            connection.let_go()
            findings += _check_orphans(connection, checks.database.segments)
            connection.execute("PRAGMA shrink_memory")  # it has filled its cache
    except StoreError as error:
        findings.append(Finding("error", checks.subject, str(error), checks.again))
    return sorted(findings, key=lambda finding: _ORDER.index(finding.level))


def _check(connection: Connection, checks: Checks, *, full: bool) -> Iterator[Finding]:
    segments_open = open_segments(connection, checks.database.segments, checks.legs, full=full)
    yield from checks.losses(connection)
    broken = structure_faults(connection) if full else []
    yield from (Finding("error", checks.subject, fault, checks.again) for fault in broken)
    # SQLite does not mind a wrong length of the file.
    pages, page = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    size = checks.database.file.stat().st_size
    if size % page or (size > pages * page and not log_bytes(checks.database.file)):
        yield Finding(
            "warning",
            checks.subject,
            f"its file has {size} bytes, its pages take {pages * page}; no row is in the rest",
            REBUILD,
        )
    if broken:
        return
    yield from checks.counts(connection)
    if full:
        damaged_tables = [
            Finding("error", checks.subject, table.describe(bad), table.remedy)
            for table in checks.tables
            if (bad := table.bad(connection))
        ]
        yield from damaged_tables or [Finding("ok", checks.subject, "every row is as it was written")]
    for leg in sorted({entry.leg for entry, _ in segments_open} | set(checks.legs)):
        subject = f"{checks.prefix}{leg}"
        checks_of_segments = [
            check_segment(entry, segment, checks.legs, full=full)
            for entry, segment in segments_open
            if entry.leg == leg
        ]
        faults = [fault for _, fault in checks_of_segments if fault]
        yield from (Finding("error", subject, fault, REBUILD) for fault in faults)
        keys = np.concatenate(
            [np.zeros(0, np.int64), *(segment_keys for segment_keys, _ in checks_of_segments)]
        )
        live = checks.live(connection, leg, keys)
        yield from _check_coverage(subject, keys, live, leg in checks.deferred, len(faults))


def open_segments(
    connection: Connection, folder: Path, legs: Mapping[str, SegmentKind], *, full: bool
) -> Segments:
    """Return all segments of the newest version, which the connection's transaction sees from now on.

    A merge may take files away between the look at the manifest and the look at the folder; what is open stays, and
    what a later manifest still names is lost.

    Args:
        legs: by name; their arrays are validated, with `full` in detail.
    """
    missing: set[str] = set()
    while True:
        connection.execute("BEGIN")
        segments_open: Segments = []
        for entry in manifest.entries(connection):
            try:
                segment = manifest.open_segment(connection, folder, entry, legs.get(entry.leg), full=full)
                segments_open.append((entry, segment))
            except (SegmentMissingError, IndexDamagedError) as error:
                segments_open.append((entry, error))
        missing_now = {
            entry.name for entry, segment in segments_open if isinstance(segment, SegmentMissingError)
        }
        if missing_now <= missing:
            return segments_open
        missing = missing_now
        connection.let_go()


def structure_faults(connection: Connection) -> list[str]:
    """Return what SQLite finds wrong with the structure of a database."""
    messages = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    faults = [] if messages == ["ok"] else [f"SQLite's integrity check: {'; '.join(messages)}"]
    if strays := connection.execute("PRAGMA foreign_key_check").fetchall():
        faults.append(f"{len(strays)} rows refer to rows that are not there")
    return faults


def check_segment(
    entry: SegmentEntry,
    segment: Opened | SegmentMissingError | IndexDamagedError,
    legs: Mapping[str, SegmentKind],
    *,
    full: bool,
) -> tuple[NDArray[np.int64], str]:
    """Return the keys of a segment, and what is wrong with it."""
    nothing = np.zeros(0, np.int64)
    if isinstance(segment, SegmentMissingError | IndexDamagedError):
        return nothing, str(segment)
    leg = legs.get(entry.leg)
    if leg is not None and entry.fingerprint != leg.fingerprint:
        wrong = f"segment {entry.name} was made with {entry.fingerprint!r}, not {leg.fingerprint!r}"
        return segment.keys, wrong
    return segment.keys, segments.verify(segment) if full else ""


def _check_coverage(
    leg: str, keys: NDArray[np.int64], live: Live, deferred: bool, faults: int
) -> Iterator[Finding]:
    """Live rows of a leg against the rows of the database: each exactly once."""
    live_keys = live.present
    covered = keys[~np.isin(keys, live.dead)]
    twice = len(covered) - len(np.unique(covered))
    missing = np.count_nonzero(~np.isin(live_keys, covered))
    foreign = len(np.unique(covered[~np.isin(covered, live_keys)]))
    if twice or foreign:
        message = f"{twice} rows are in two segments, {foreign} are of no document"
        yield Finding("error", leg, message, REBUILD)
    if missing and deferred and not faults:
        message = f"{missing} of {len(live_keys)} chunks are not indexed yet"
        yield Finding("warning", leg, message, "sleuth index")
    elif missing:
        yield Finding("error", leg, f"{missing} of {len(live_keys)} chunks are in no sound segment", REBUILD)
    elif not (twice or foreign or faults):
        yield Finding("ok", leg, f"{amount(len(live_keys), 'chunk')}, each covered exactly once")


def _check_orphans(connection: Connection, folder: Path) -> Iterator[Finding]:
    """Files that nobody was writing and that no manifest since names: a commit may have come in between."""
    unheld = segment_files.orphans(folder, set())
    names = {f"{entry.name}{segment_files.SUFFIX}" for entry in manifest.entries(connection)}
    for path in unheld:
        if path.name in names or not os.path.lexists(path):
            continue
        if segment_files.is_ours(path):
            message, remedy = "no manifest names this file: a crash left it", "any write removes it"
        else:
            message, remedy = (
                "Sleuth did not write this file, and leaves it alone",
                f"rm {shlex.quote(str(path))}",
            )
        yield Finding("warning", path.name, message, remedy)
