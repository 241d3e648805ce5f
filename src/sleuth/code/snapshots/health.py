"""Checks a code index, rebuilds its segments from the files that it keeps, and names snapshots that lost a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.analyse import Analysed, analyse
from sleuth.code.snapshots import commits, record
from sleuth.code.snapshots.damage import (
    AGAIN,
    EMBEDDINGS,
    Damage,
    broken_snapshots,
    find_damage,
    is_bad_embedding,
)
from sleuth.code.snapshots.record import CODE_SCHEMA, FileRow
from sleuth.code.snapshots.shelf import Batch, ranges
from sleuth.code.snapshots.storage import CodeStorage
from sleuth.code.snapshots.words import WordLeg
from sleuth.errors import IndexDamagedError, StoreError
from sleuth.store import (
    REBUILD,
    Built,
    Connection,
    Finding,
    Repair,
    SegmentEntry,
    Segments,
    check_coverage,
    check_orphans,
    check_segment,
    check_size,
    check_structure,
    open_segments,
)
from sleuth.store.catalogue import manifest, segment_files

_ORDER = ("error", "warning", "ok")
_READ_AGAIN = "removed; `sleuth code index` reads them again"
_TOGETHER = 1_000
"""Files that are read at once while a segment is rebuilt."""


def check(storage: CodeStorage, *, full: bool = False) -> list[Finding]:
    """Prove that every file version and chunk is covered exactly once, and that files are as they were written.

    Args:
        full: read every byte: checksums of all segments and rows, SQLite's integrity check.

    Returns:
        Findings, the worst first; only "ok" ones for a healthy index.
    """
    findings: list[Finding] = []
    if storage.lost:
        findings.append(Finding("error", CODE_SCHEMA.names.record, storage.lost, AGAIN))
    try:
        with storage.database.connection() as connection:
            findings += _check(connection, storage, full=full)
            connection.let_go()
            findings += check_orphans(connection, storage.database.segments)
    except StoreError as error:
        findings.append(Finding("error", CODE_SCHEMA.names.record, str(error), AGAIN))
    return sorted(findings, key=lambda finding: _ORDER.index(finding.level))


def _check(connection: Connection, storage: CodeStorage, *, full: bool) -> Iterator[Finding]:
    file = storage.path / CODE_SCHEMA.names.record
    opened = open_segments(connection, storage.database.segments, _legs(storage), full=full)
    broken = [*check_structure(connection)] if full else []
    for finding in (*broken, *check_size(connection, file)):
        yield finding._replace(subject=file.name, remedy=AGAIN)
    if broken:
        return
    snapshots, files = (
        connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("snapshots", "files")
    )
    history = len(commits.keys_of_commits(connection))
    yield Finding("ok", file.name, f"{snapshots} snapshots, {files} versions of files, {history} commits")
    if full:
        yield from _check_rows(connection, file.name)
    for leg in _legs(storage).values():
        yield from _check_leg(leg, opened, storage.live(connection, leg), full=full)


def _check_rows(connection: Connection, subject: str) -> Iterator[Finding]:
    damage = find_damage(connection)
    if damage.files:
        paths = sorted(damage.files.values())
        names = ", ".join(map(repr, paths[:5])) + (", ..." if len(paths) > 5 else "")
        yield Finding("error", subject, f"{len(paths)} files are not as they were written: {names}", AGAIN)
    if damage.snapshots:
        names = ", ".join(id for _, id in damage.snapshots[:5])
        yield Finding(
            "error",
            subject,
            f"{len(damage.snapshots)} snapshots have lost a part of themselves: {names}",
            AGAIN,
        )
    if damage.embeddings:
        yield Finding(
            "error", subject, f"{damage.embeddings} cached vectors are not as they were written", REBUILD
        )
    if damage.contents and not damage.files:
        yield Finding(
            "error", subject, f"{len(damage.contents)} contents are not as they were written", REBUILD
        )
    if damage.commits or damage.histories:
        lost = f"{len(damage.commits)} commits and {len(damage.histories)} lists of them"
        yield Finding("error", subject, f"{lost} are not as they were written", AGAIN)
    if damage == Damage({}, [], [], 0, [], []):
        yield Finding("ok", subject, "every row is as it was written")


def _check_leg(
    leg: WordLeg, opened: Segments, present: NDArray[np.int64], *, full: bool
) -> Iterator[Finding]:
    keys, faults = [record.NOTHING], 0
    for entry, segment in ((e, s) for e, s in opened if e.leg == leg.name):
        own, wrong = check_segment(entry, segment, full=full)
        if entry.fingerprint != leg.fingerprint:
            wrong = f"segment {entry.name} was made with {entry.fingerprint!r}, not {leg.fingerprint!r}"
        keys.append(own)
        faults += bool(wrong)
        if wrong:
            yield Finding("error", f"code {leg.name}", wrong, REBUILD)
    covered = np.concatenate(keys)
    dead = np.setdiff1d(covered, present)  # of file versions that were pruned
    yield from check_coverage(f"code {leg.name}", covered, present, dead, False, faults)


def _legs(storage: CodeStorage) -> dict[str, WordLeg]:
    return {leg.name: leg for leg in (storage.words.files, storage.words.chunks, storage.words.commits)}


def repair(storage: CodeStorage, *, timeout: float = 10.0) -> list[Repair]:
    """Check fully, and mend what can be mended.

    Segments are rebuilt from the contents that are kept. File versions that are lost are removed, and so are the
    snapshots that list them, which are named: indexing those again restores them, and the commits that were lost.

    Raises:
        IndexDamagedError: the structure of the database itself is damaged; the message says what to do.
    """
    with storage.writing(timeout):
        with storage.reading() as connection:
            if broken := list(check_structure(connection)):
                raise IndexDamagedError(
                    f"{storage.path / CODE_SCHEMA.names.record}: {broken[0].message}; {CODE_SCHEMA.again}",
                    path=str(storage.path),
                )
            damage = find_damage(connection)
        repairs = _forget(storage, damage)
        for leg in (storage.words.files, storage.words.chunks):
            repairs += _mend(storage, leg)
        repairs += _mend_commits(storage)
        storage.forget()
        storage.note()
    return repairs


def _forget(storage: CodeStorage, damage: Damage) -> list[Repair]:
    """Remove what is not as it was written; snapshots that list it count as failed."""
    repairs = []
    with storage.transaction() as connection:
        connection.executemany("DELETE FROM files WHERE key = ?", ((key,) for key in damage.files))
        connection.executemany("DELETE FROM blobs WHERE hash = ?", ((hash,) for hash in damage.contents))
        for repository, id in damage.snapshots:
            connection.execute(
                "UPDATE snapshots SET status = 'failed', members = x'', error = 'it had lost files: index it again' "
                "WHERE repository = ? AND id = ?",
                (repository, id),
            )
            path = connection.execute("SELECT path FROM repositories WHERE id = ?", (repository,)).fetchone()
            place = path[0] if path else repository
            repairs.append(Repair(f"snapshot {id}", f"it had lost files: index {place} at it again"))
        if damage.embeddings:
            bad = [row[:2] for row in connection.execute(EMBEDDINGS).fetchall() if is_bad_embedding(row)]
            connection.executemany("DELETE FROM embeddings WHERE file = ? AND fingerprint = ?", bad)
            repairs.append(Repair("embeddings", f"{len(bad)} cached vectors were damaged: removed"))
        if damage.commits or damage.histories:
            commits.forget_commits(connection, damage.commits, damage.histories)
            repairs.append(Repair("history", f"{len(damage.commits)} commits were damaged: {_READ_AGAIN}"))
    return repairs


def _mend_commits(storage: CodeStorage) -> list[Repair]:
    """Drop the segments of commits that cannot serve, and forget the commits that no other covers."""
    leg = storage.words.commits
    covering = _covering(storage, leg)
    with storage.transaction() as connection:
        lost = np.setdiff1d(storage.live(connection, leg), covering.keys).tolist()
        commits.forget_commits(connection, lost)
        manifest.drop(connection, [entry.name for entry in covering.bad])
    for entry in covering.bad:
        segment_files.remove(storage.database.segments, entry.name)
    if not covering.bad and not lost:
        return []
    why = f"{len(covering.bad)} segments could not serve: {len(lost)} commits are lost: {_READ_AGAIN}"
    return [Repair(f"code {leg.name}", why)]


class _Covering(NamedTuple):
    """The segments of a leg.

    Attributes:
        keys: of the rows of those that can serve.
        firsts: the first key of each of these.
        bad: the others.
    """

    keys: NDArray[np.int64]
    firsts: list[int]
    bad: list[SegmentEntry]


def _covering(storage: CodeStorage, leg: WordLeg) -> _Covering:
    with storage.reading() as connection:
        every = open_segments(connection, storage.database.segments, _legs(storage), full=True)
        connection.let_go()
    checked = [
        (entry, *check_segment(entry, segment, full=True))
        for entry, segment in every
        if entry.leg == leg.name
    ]
    bad = [entry for entry, _, wrong in checked if wrong or entry.fingerprint != leg.fingerprint]
    good = [(entry.first, keys) for entry, keys, _ in checked if entry not in bad]
    covered = np.concatenate([record.NOTHING, *(keys for _, keys in good)])
    return _Covering(covered, [first for first, _ in good], bad)


def _mend(storage: CodeStorage, leg: WordLeg) -> list[Repair]:
    """Drop the segments of a leg that cannot serve, and rebuild what no other covers."""
    covered, firsts, bad = _covering(storage, leg)
    with storage.reading() as connection:
        missing = np.setdiff1d(storage.live(connection, leg), covered)
        rows = _files_of(connection, leg, storage, missing)
    if not bad and not len(missing):
        return []
    built, lost = _rebuilt(storage, leg, rows, firsts)
    with storage.transaction() as connection:
        manifest.drop(connection, [entry.name for entry in bad])
        storage.shelf.publish(connection, built)
    for segment in built:
        segment.release()
    for entry in bad:
        segment_files.remove(storage.database.segments, entry.name)
    why = f"{len(bad)} segments could not serve: {len(rows) - len(lost)} files indexed again"
    repairs = [Repair(f"code {leg.name}", why)]
    if lost:
        with storage.reading() as connection:
            damage = Damage(lost, broken_snapshots(connection, lost), [], 0, [], [])
        repairs += _forget(storage, damage)
    return repairs


def _files_of(
    connection: Connection, leg: WordLeg, storage: CodeStorage, rows: NDArray[np.int64]
) -> list[FileRow]:
    """Return the file versions whose rows of a leg are among these keys, ascending."""
    listed = connection.execute(f"SELECT {record.FILE_COLUMNS} FROM files ORDER BY key")
    members = set(rows.tolist())
    if leg is storage.words.files:
        return [row for row in map(FileRow._make, listed) if row.key in members]
    return [row for row in map(FileRow._make, listed) if row.chunks and row.first_chunk in members]


def _rebuilt(
    storage: CodeStorage, leg: WordLeg, rows: Sequence[FileRow], firsts: Sequence[int]
) -> tuple[list[Built], dict[int, str]]:
    """Segments of these file versions, between those that begin at `firsts`; and what is lost: path by key."""
    built: list[Built] = []
    lost: dict[int, str] = {}
    is_files = leg is storage.words.files
    gaps: dict[tuple[int, int], list[FileRow]] = {}
    for n, row in enumerate(rows):
        gap = int(np.searchsorted(firsts, row.key if is_files else row.first_chunk))
        gaps.setdefault((gap, n // _TOGETHER), []).append(row)
    for some in gaps.values():
        batch = storage.shelf.batch()
        members = [row for row in some if _add(storage, batch, row)]
        lost |= {row.key: row.path for row in some if row not in members}
        if not members:
            continue
        keys = np.array([row.key for row in members], np.int64)
        if not is_files:
            counts = np.array([row.chunks for row in members], np.int64)
            keys = ranges(np.array([row.first_chunk for row in members], np.int64), counts)
        built.append(storage.shelf.build(leg, keys, batch.file_words if is_files else batch.chunk_words))
    return built, lost


def _add(storage: CodeStorage, batch: Batch, row: FileRow) -> bool:
    """Take a file version apart again; whether it has the chunks that it had."""
    if row.skip:
        file = Analysed(row.path, row.language, row.category, "", 0, 0, row.skip, b"", b"", {}, {})
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
    size = (storage.path / CODE_SCHEMA.names.record).stat().st_size + storage.database.log_bytes()
    size += sum(entry.bytes for entry in entries if not entry.inline)
    damage = (*filter(None, [storage.lost]), *storage.proof.damage)
    return CodeStatus(repositories, snapshots, files, chunks, history, len(entries), size, damage)
