"""Checks a code index, rebuilds its segments from the files that it keeps, and names snapshots that lost a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.analyse import analyse, skipped
from sleuth.code.snapshots import commits, record
from sleuth.code.snapshots.record import CODE_SCHEMA, FileRow
from sleuth.code.snapshots.shelf import Batch, WordLeg, ranges
from sleuth.code.snapshots.storage import CodeStorage
from sleuth.errors import IndexDamagedError, amount
from sleuth.store import Finding, Repair
from sleuth.store.catalogue import manifest, segment_files
from sleuth.store.catalogue.manifest import Built
from sleuth.store.disk.files import log_bytes
from sleuth.store.health.checks import (
    CheckedTable,
    Checks,
    Live,
    check_segment,
    open_segments,
    structure_faults,
)
from sleuth.store.health.checks import check as check_index
from sleuth.store.record.layout import Connection

AGAIN = "sleuth doctor --repair, then `sleuth code index` the snapshots that it names again"
_READ_AGAIN = "removed; `sleuth code index` reads them again"
_TOGETHER = 1_000
"""Files that are read at once while a segment is rebuilt."""


def _bad_contents(connection: Connection) -> dict[int, str]:
    """Return contents that cannot be unpacked, named by a file that has them."""
    rows = connection.execute("SELECT rowid, hash, content FROM blobs")
    bad = {}
    for row, hash, content in rows:
        try:
            record.unpacked(content, "")
        except IndexDamagedError:
            bad[row] = hash
    paths = dict(connection.execute("SELECT hash, path FROM files").fetchall()) if bad else {}
    return {row: str(paths.get(hash, hash)) for row, hash in bad.items()}


def _bad_files(connection: Connection) -> dict[int, str]:
    """Return file versions that are not as they were written, or without their content."""
    rows = connection.execute(
        f"SELECT {record.FILE_COLUMNS}, repository, checksum, detail, "
        "encoding = '' OR EXISTS (SELECT 1 FROM blobs WHERE blobs.hash = files.hash) FROM files"
    )
    bad = {}
    for *columns, repository, checksum, detail, has_content in rows:
        row = FileRow._make(columns)
        try:
            record.checked_detail(row, repository, checksum, detail)
        except IndexDamagedError:
            bad[row.key] = str(row.path)
        else:
            if row.size and not row.skip and not has_content:
                bad[row.key] = row.path
    return bad


def _bad_embeddings(connection: Connection) -> dict[int, str]:
    rows = connection.execute("SELECT rowid, checksum, vectors, file, fingerprint FROM embeddings")
    return {row: "" for row, checksum, vectors, *of in rows if not record.is_sound(checksum, of, vectors)}


def _bad_snapshots(connection: Connection) -> dict[int, str]:
    """Return completed snapshots whose list of files is damaged, or that list a file version that is gone."""
    keys = {key for (key,) in connection.execute("SELECT key FROM files")}
    rows = connection.execute(
        "SELECT serial, repository, id, checksum, members FROM snapshots WHERE status = 'completed' "
        "ORDER BY serial"
    )
    bad = {}
    for serial, repository, id, checksum, members in rows:
        if record.is_sound(checksum, (repository, id), members):
            with suppress(IndexDamagedError):
                if keys.issuperset(record.read_members(members, id).tolist()):
                    continue
        bad[serial] = id
    return bad


CONTENTS = CheckedTable("blobs", "contents", _bad_contents, AGAIN)
FILES = CheckedTable("files", "files", _bad_files, AGAIN)
EMBEDDINGS = CheckedTable("embeddings", "cached vectors", _bad_embeddings)
SNAPSHOTS = CheckedTable("snapshots", "snapshots", _bad_snapshots, AGAIN, "have lost a part of themselves")
COMMITS = CheckedTable("commits", "commits", commits.bad_commits, AGAIN)
HISTORIES = CheckedTable("histories", "lists of commits", commits.bad_histories, AGAIN)
# In the order in which rows are removed: a lost content makes file versions damaged, and those make snapshots damaged.
TABLES = (CONTENTS, FILES, EMBEDDINGS, SNAPSHOTS, COMMITS, HISTORIES)


class CodeChecks(Checks):
    """An index of code as the checks see it."""

    legs: dict[str, WordLeg]
    subject = CODE_SCHEMA.names.record
    again = AGAIN
    tables = TABLES
    prefix = "code "

    def __init__(self, storage: CodeStorage) -> None:
        """Look at an open storage."""
        words = storage.words
        self.database = storage.database
        self.legs = {leg.name: leg for leg in (words.files, words.chunks, words.commits)}
        self._storage = storage

    def losses(self, connection: Connection) -> Iterator[Finding]:
        """Yield snapshots that were noted beside the database and that it lacks."""
        if self._storage.lost:
            yield Finding("error", self.subject, self._storage.lost, AGAIN)

    def counts(self, connection: Connection) -> Iterator[Finding]:
        """Yield how much the database holds."""
        query = "SELECT (SELECT count(*) FROM snapshots), (SELECT count(*) FROM files)"
        snapshots, files = connection.execute(query).fetchone()
        history = len(commits.keys_of_commits(connection))
        counts = {"snapshot": snapshots, "file version": files, "commit": history}
        yield Finding("ok", self.subject, ", ".join(amount(n, noun) for noun, n in counts.items()))

    def live(self, connection: Connection, leg: str, keys: NDArray[np.int64]) -> Live:
        """Return the rows of file versions, chunks or commits, and the pruned ones."""
        live_keys = self._storage.live(connection, self.legs[leg])
        return Live(live_keys, np.setdiff1d(keys, live_keys))


def check(storage: CodeStorage, *, full: bool = False) -> list[Finding]:
    """Prove that every file version and chunk is covered exactly once, and that files are as they were written.

    Args:
        full: read every byte: checksums of all segments and rows, SQLite's integrity check.

    Returns:
        Findings, the worst first; only "ok" ones for a healthy index.
    """
    return check_index(CodeChecks(storage), full=full)


def repair(storage: CodeStorage) -> list[Repair]:
    """Check fully, and mend what can be mended.

    Segments are rebuilt from the contents that are kept. File versions that are lost are removed, and so are the
    snapshots that list them, which are named: indexing those again restores them, and the commits that were lost.

    Raises:
        IndexDamagedError: the structure of the database itself is damaged; the message says what to do.
    """
    with storage.writing():
        with storage.reading() as connection:
            if faults := structure_faults(connection):
                raise IndexDamagedError(
                    f"{storage.path / CODE_SCHEMA.names.record}: {faults[0]}; {CODE_SCHEMA.again}",
                    path=str(storage.path),
                )
        repairs = _forget(storage)
        for leg in storage.words:
            repairs += _mend(storage, leg)
        storage.forget()
        storage.note()
    return repairs


def _forget(storage: CodeStorage, lost: Collection[int] = ()) -> list[Repair]:
    """Remove what is not as it was written, and these file versions; snapshots that list them count as failed."""
    repairs = []
    with storage.transaction() as connection:
        connection.executemany("DELETE FROM files WHERE key = ?", ((key,) for key in lost))
        bad = {}
        for table in TABLES:
            bad[table] = table.bad(connection)
            if table is SNAPSHOTS:
                for serial, id in bad[table].items():
                    connection.execute(
                        "UPDATE snapshots SET status = 'failed', members = x'', "
                        "error = 'it had lost files: index it again' WHERE serial = ?",
                        (serial,),
                    )
                    place = (
                        "SELECT coalesce(path, repository) FROM snapshots LEFT JOIN repositories "
                        "ON repositories.id = repository WHERE serial = ?"
                    )
                    (path,) = connection.execute(place, (serial,)).fetchone()
                    repairs.append(Repair(f"snapshot {id}", f"it had lost files: index {path} at it again"))
            elif table is COMMITS:
                commits.forget_commits(connection, bad[table])
            else:
                rows = ((row,) for row in bad[table])
                connection.executemany(f"DELETE FROM {table.name} WHERE rowid = ?", rows)
    if vectors := len(bad[EMBEDDINGS]):
        repairs.append(Repair("embeddings", f"{amount(vectors, 'damaged vector')} removed"))
    if bad[COMMITS] or bad[HISTORIES]:
        repairs.append(Repair("history", f"{amount(len(bad[COMMITS]), 'damaged commit')}: {_READ_AGAIN}"))
    return repairs


def _mend(storage: CodeStorage, leg: WordLeg) -> list[Repair]:
    """Drop the segments of a leg that cannot serve, and rebuild what no other covers; such commits are forgotten."""
    legs = {leg.name: leg}
    with storage.reading() as connection:
        segment_pairs = open_segments(connection, storage.database.segments, legs, full=True)
        connection.let_go()
    checks = [
        (entry, *check_segment(entry, segment, legs, full=True))
        for entry, segment in segment_pairs
        if entry.leg == leg.name
    ]
    bad_entries = [entry for entry, _, wrong in checks if wrong]
    good_ranges = [(entry.first, keys) for entry, keys, _ in checks if entry not in bad_entries]
    covered_keys = np.concatenate([record.NOTHING, *(keys for _, keys in good_ranges)])
    is_history, is_files = leg is storage.words.commits, leg is storage.words.files
    rows: list[FileRow] = []
    with storage.reading() as connection:
        missing_keys = np.setdiff1d(storage.live(connection, leg), covered_keys).tolist()
        if not is_history:
            query = f"SELECT {record.FILE_COLUMNS} FROM files ORDER BY key"
            rows = list(map(FileRow._make, connection.execute(query)))
    if not bad_entries and not missing_keys:
        return []
    keys = set(missing_keys)
    rows = [row for row in rows if (row.key in keys if is_files else row.chunks and row.first_chunk in keys)]
    new_segments: list[Built] = []  # between those that are sound
    lost: list[int] = []
    firsts = [first for first, _ in good_ranges]
    gaps: dict[tuple[int, int], list[FileRow]] = {}
    for n, row in enumerate(rows):
        gap = int(np.searchsorted(firsts, row.key if is_files else row.first_chunk))
        gaps.setdefault((gap, n // _TOGETHER), []).append(row)
    for gap_rows in gaps.values():
        batch = storage.shelf.batch()
        members = [row for row in gap_rows if _add(storage, batch, row)]
        lost += [row.key for row in gap_rows if row not in members]
        if not members:
            continue
        first_keys = np.array([row.key if is_files else row.first_chunk for row in members], np.int64)
        if not is_files:
            first_keys = ranges(first_keys, np.array([row.chunks for row in members], np.int64))
        words = batch.file_words if is_files else batch.chunk_words
        new_segments.append(storage.shelf.build(leg, first_keys, words))
    with storage.publishing() as (connection, segments):
        segments.extend(new_segments)
        manifest.drop(connection, [entry.name for entry in bad_entries])
        storage.shelf.publish(connection, segments)
        if is_history:
            commits.forget_commits(connection, missing_keys)
    for entry in bad_entries:
        segment_files.remove(storage.database.segments, entry.name)
    outcome = f"{amount(len(rows) - len(lost), 'file')} indexed again"
    if is_history:
        outcome = f"{amount(len(missing_keys), 'commit')} lost: {_READ_AGAIN}"
    repairs = [
        Repair(f"code {leg.name}", f"{amount(len(bad_entries), 'segment')} could not serve: {outcome}")
    ]
    return repairs + (_forget(storage, lost) if lost else [])


def _add(storage: CodeStorage, batch: Batch, row: FileRow) -> bool:
    """Take a file version apart again; whether it has the chunks that it had."""
    if row.skip:
        file = skipped(row.path, row.skip, language=row.language, category=row.category)
    else:
        file = analyse(row.path, storage.content(row.hash))
        if len(file.chunk_texts.get("body", ())) != row.chunks:
            return False
    batch.add([(row.hash, file)])
    return True


class CodeStatus(NamedTuple):
    """A code index at a glance.

    Attributes:
        files: versions of files.
        commits: of the histories.
        bytes: of the database, its log and its segments.
        segments: how many there are of all legs.
        damage: what this process has found damaged while the index was open.
    """

    repositories: int
    snapshots: int
    files: int
    chunks: int
    commits: int
    segments: int
    bytes: int
    damage: tuple[str, ...]


def status(storage: CodeStorage) -> CodeStatus:
    """Counts and sizes; costs milliseconds."""
    with storage.reading() as connection:
        repositories, snapshots, files, chunks = connection.execute(
            "SELECT (SELECT count(*) FROM repositories), (SELECT count(*) FROM snapshots WHERE status = 'completed'), "
            "count(*), coalesce(sum(chunks), 0) FROM files"
        ).fetchone()
        history = len(commits.keys_of_commits(connection))
        entries = manifest.entries(connection)
        size = storage.database.file.stat().st_size + log_bytes(storage.database.file)
    size += sum(entry.bytes for entry in entries if not entry.inline)
    damage = (*filter(None, [storage.lost]), *storage.shelf.damage.values())
    return CodeStatus(repositories, snapshots, files, chunks, history, len(entries), size, damage)
