"""The tables that keep code, and values as they are read back."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.labels import CATEGORIES
from sleuth.errors import IndexDamagedError, IndexNotFoundError
from sleuth.store.catalogue import schema
from sleuth.store.catalogue.schema import Access, Schema
from sleuth.store.disk.files import CODE
from sleuth.store.record.layout import MANIFEST, Connection, select_in

if TYPE_CHECKING:
    from sleuth.code.parsing.analyse import Analysed

FORMAT = 1
MOST_CONTENT = 8_000_000
"""Bytes of a file's text as UTF-8: no file of more than 2,000,000 bytes is read, and a byte takes at most three."""
_MOST_MEMBERS = 1 << 28
"""Bytes of a list of file versions, 8 each."""
_CHUNKS_PER_BYTE = 16
"""A database holds fewer chunks for each of its bytes: their texts are compressed, but not to nothing."""
_LAST_KEY = 1 << 62
SCHEMA = f"""
CREATE TABLE repositories(
    id TEXT PRIMARY KEY, path TEXT NOT NULL UNIQUE, url TEXT NOT NULL, created REAL NOT NULL
);
CREATE TABLE blobs(hash TEXT NOT NULL UNIQUE, content BLOB NOT NULL);
CREATE TABLE files(
    key INTEGER PRIMARY KEY, repository TEXT NOT NULL REFERENCES repositories ON DELETE CASCADE, path TEXT NOT NULL,
    hash TEXT NOT NULL, language TEXT NOT NULL, category TEXT NOT NULL, encoding TEXT NOT NULL, lines INTEGER NOT NULL,
    size INTEGER NOT NULL, skip TEXT NOT NULL, first_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL,
    checksum INTEGER NOT NULL, detail BLOB NOT NULL, UNIQUE (repository, path, hash)
);
CREATE INDEX skipped_files ON files(repository, path, skip) WHERE skip != '';
CREATE TABLE snapshots(
    serial INTEGER PRIMARY KEY, id TEXT NOT NULL, repository TEXT NOT NULL REFERENCES repositories ON DELETE CASCADE,
    base TEXT NOT NULL, names TEXT NOT NULL, status TEXT NOT NULL, started REAL NOT NULL, finished REAL,
    files INTEGER NOT NULL, members BLOB NOT NULL, error TEXT NOT NULL, checksum INTEGER NOT NULL,
    UNIQUE (repository, id)
);
{MANIFEST.strip()}
CREATE TABLE times(
    repository TEXT NOT NULL REFERENCES repositories ON DELETE CASCADE, path TEXT NOT NULL, size INTEGER NOT NULL,
    changed INTEGER NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (repository, path)
) WITHOUT ROWID;
CREATE TABLE embeddings(
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE, fingerprint TEXT NOT NULL, checksum INTEGER NOT NULL,
    vectors BLOB NOT NULL, PRIMARY KEY (file, fingerprint)
);
CREATE TABLE commits(
    key INTEGER PRIMARY KEY, repository TEXT NOT NULL REFERENCES repositories ON DELETE CASCADE, id BLOB NOT NULL,
    parents BLOB NOT NULL, time INTEGER NOT NULL, checksum INTEGER NOT NULL, detail BLOB NOT NULL,
    UNIQUE (repository, id)
);
CREATE TABLE histories(
    repository TEXT PRIMARY KEY REFERENCES repositories ON DELETE CASCADE, cut TEXT NOT NULL, tips TEXT NOT NULL,
    checksum INTEGER NOT NULL
);
"""

CODE_SCHEMA = Schema(
    CODE,
    FORMAT,
    SCHEMA,
    "`sleuth code index --rebuild --index {}` makes it again from its repositories, or open it with the version that "
    "made it",
)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of the index.

    Attributes:
        id: a UUID.
        path: its folder, absolute.
        url: of its origin, or "".
    """

    id: str
    path: str
    url: str


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A snapshot as it is listed.

    Attributes:
        id: the commit, or `content-` and a hash.
        base: the commit it is or is based on, "" outside git.
        names: branches and tags at that commit when it was indexed.
        status: indexing, completed or failed.
        started, finished: seconds since the epoch; `finished` is None before the end.
        files: how many files it lists, skipped ones included.
        error: why it failed, "" otherwise.
    """

    id: str
    repository: str
    base: str
    names: tuple[str, ...]
    status: str
    started: float
    finished: float | None
    files: int
    error: str


class FileRow(NamedTuple):
    """A file version.

    Attributes:
        key: its row in the files leg; its chunks are rows `first_chunk` to `first_chunk + chunks - 1` of the other.
        skip: why it is not searched; "" where it is.
    """

    key: int
    path: str
    hash: str
    language: str
    category: str
    encoding: str
    lines: int
    size: int
    skip: str
    first_chunk: int
    chunks: int


CONTENT_BY_NUMBER = "SELECT hash, content FROM blobs WHERE rowid = (SELECT rowid FROM blobs WHERE hash = ?)"
"""By number, since SQLite would take the hash from its index, which may lead to another row."""
FILE_COLUMNS = ", ".join(FileRow._fields)
SNAPSHOT_COLUMNS = "id, repository, base, names, status, started, finished, files, error"


def checksum_of(columns: Iterable[object], *contents: bytes) -> int:
    """CRC-32 of a row: its columns as text, and then its contents."""
    checksum = zlib.crc32("\0".join(map(str, columns)).encode())
    for content in contents:
        checksum = zlib.crc32(content, checksum)
    return checksum


def is_sound(checksum: int, columns: Iterable[object], *contents: bytes) -> bool:
    """Return whether a row has the checksum that it was written with."""
    try:
        return checksum_of(columns, *contents) == checksum
    except TypeError:  # a value of another type than was written
        return False


def check_files(connection: Connection, rows: Sequence[FileRow]) -> None:
    """Refuse file versions, in order of key, with values that no run writes.

    Raises:
        IndexDamagedError: says what is wrong.
    """
    if not rows:
        return
    columns = FileRow(*zip(*rows, strict=True))  # type: ignore[arg-type] # a column for each field
    try:
        for texts in (columns.path, columns.hash, columns.language, columns.encoding, columns.skip):
            "".join(texts)  # raises TypeError where one is no text
        sizes = np.array([columns.lines, columns.size], np.int64)
        keys, firsts, counts = np.array([columns.key, columns.first_chunk, columns.chunks], np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(f"the list of files ({error})") from error
    if not set(CATEGORIES).issuperset(columns.category) or sizes.min() < 0:
        raise damaged("the list of files")
    _check_ranges(connection, keys, firsts, counts)


def read_ranges(connection: Connection) -> NDArray[np.int64]:
    """Return the key of each file version, ascending, its first chunk, and how many it has; shape (3, n).

    Raises:
        IndexDamagedError: there are values that no run writes.
    """
    rows = connection.execute("SELECT key, first_chunk, chunks FROM files ORDER BY key").fetchall()
    try:
        ranges: NDArray[np.int64] = np.array(rows, np.int64).reshape(-1, 3).T
    except (ValueError, TypeError, OverflowError) as error:
        raise damaged(f"the list of files ({error})") from error
    _check_ranges(connection, *ranges)
    return ranges


def _check_ranges(
    connection: Connection, keys: NDArray[np.int64], firsts: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    """Refuse chunks of file versions that overlap, or are more than a database of this size can hold.

    Args:
        keys: ascending.
        firsts, counts: the first chunk of each, and how many it has.

    Raises:
        IndexDamagedError: they do.
    """
    pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    max_chunks = _CHUNKS_PER_BYTE * connection.execute(pages).fetchone()[0]
    if not len(keys):
        return
    within = keys[0] >= 0 and min(firsts.min(), counts.min()) >= 0 and max(keys[-1], firsts.max()) < _LAST_KEY
    if not within or counts.max() > max_chunks or int(counts.sum()) > max_chunks:
        raise damaged("the list of files")
    if np.any(firsts[:-1] + counts[:-1] > firsts[1:]):
        raise damaged("the list of files (chunks of two overlap)")


def read_members(packed: bytes, snapshot: str) -> NDArray[np.int64]:
    """Keys of a snapshot's file versions, ascending.

    Raises:
        IndexDamagedError: the bytes are not those that were written.
    """
    if not packed:
        return NOTHING
    what = f"the list of files of snapshot {snapshot}"
    packed_keys = unpacked(packed, what, _MOST_MEMBERS)
    if len(packed_keys) % NOTHING.itemsize:
        raise damaged(what)
    keys = np.frombuffer(packed_keys, "<i8")
    if len(keys) and (keys[0] < 0 or np.any(keys[1:] <= keys[:-1])):
        raise damaged(what)
    return keys


NOTHING = np.zeros(0, np.int64)


def unpacked(packed: bytes, what: str, most: int = MOST_CONTENT) -> bytes:
    """Decompress.

    Args:
        most: bytes that it can have been.

    Raises:
        IndexDamagedError: the bytes are not those that were written.
    """
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(packed, most)
    except (zlib.error, TypeError) as error:
        raise damaged(what) from error
    if not unpacking.eof:
        raise damaged(what)
    return content


def damaged(what: str) -> IndexDamagedError:
    """Return the error for a damaged part of the database."""
    return IndexDamagedError(f"{what} is not as it was written: run `sleuth doctor --repair`")


def insert_vectors(
    connection: Connection, fingerprint: str, vectors: Mapping[int, NDArray[np.float16]]
) -> None:
    """Keep the embeddings of file versions by key, each of shape (chunks, dimension): their width, then the rows."""
    rows = []
    for key, matrix in vectors.items():
        packed = np.int32(matrix.shape[1]).tobytes() + matrix.astype("<f2").tobytes()
        rows.append((key, fingerprint, checksum_of((key, fingerprint), packed), packed))
    into = "INSERT OR REPLACE INTO embeddings(file, fingerprint, checksum, vectors) VALUES (?, ?, ?, ?)"
    connection.executemany(into, rows)


def vectors_of_files(
    connection: Connection, fingerprint: str, keys: Sequence[int]
) -> dict[int, NDArray[np.float16]]:
    """Return the embeddings that are kept of those file versions, without rows that are not as they were written."""
    vectors = {}
    columns, also = "file, checksum, vectors", ("fingerprint", fingerprint)
    for key, checksum, packed in select_in(connection, columns, "embeddings", "file", keys, also=also):
        if is_sound(checksum, (key, fingerprint), packed):
            width = int(np.frombuffer(packed[:4], "<i4")[0])
            rows = np.frombuffer(packed[4:], "<f2").reshape(-1, max(1, width))
            vectors[key] = rows.astype(np.float16, copy=False)
    return vectors


def checked_detail(row: FileRow, repository: str, checksum: int, detail: bytes) -> bytes:
    """Return the results of parsing a file version, checked so that kernels may read them.

    Raises:
        IndexDamagedError: the row is not as it was written.
    """
    if not is_sound(checksum, (repository, *row), detail):
        raise damaged(f"what is kept of {row.path}")
    return bytes(detail)


def next_keys(connection: Connection) -> tuple[int, int]:
    """Return the first key of a file version, and of a chunk, that was never given."""
    statement = "SELECT key + 1, first_chunk + chunks FROM files ORDER BY key DESC LIMIT 1"  # both ascend
    key, chunk = connection.execute(statement).fetchone() or (1, 1)
    files, chunks = connection.execute(
        "SELECT coalesce(max(CASE leg WHEN 'files' THEN last END), 0), "
        "coalesce(max(CASE leg WHEN 'chunks' THEN last END), 0) FROM segments"
    ).fetchone()
    return max(key, files + 1), max(chunk, chunks + 1)


def forget_unlisted(connection: Connection, repository: str) -> None:
    """Remove the file versions of a repository that no completed snapshot lists, and contents of no file version."""
    members: set[int] = set()
    for id, packed in connection.execute("SELECT id, members FROM snapshots WHERE status = 'completed'"):
        members.update(read_members(packed, id).tolist())
    connection.execute("CREATE TEMP TABLE live(key INTEGER PRIMARY KEY)")
    connection.executemany("INSERT OR IGNORE INTO live VALUES (?)", ((key,) for key in members))
    unlisted = "DELETE FROM files WHERE repository = ? AND key NOT IN (SELECT key FROM live)"
    connection.execute(unlisted, (repository,))
    connection.execute("DROP TABLE live")
    connection.execute("DELETE FROM blobs WHERE hash NOT IN (SELECT hash FROM files)")


def insert_contents(connection: Connection, files: Sequence[tuple[str, Analysed]]) -> None:
    """Write the contents of files, given with their hashes, and free them."""
    contents = [(hash, file.content) for hash, file in files if file.content]
    connection.executemany("INSERT OR REPLACE INTO blobs VALUES (?, ?)", contents)
    for _, file in files:
        file.content = b""


def insert_files(
    connection: Connection, repository: str, files: Sequence[tuple[str, Analysed]], key: int, chunk: int
) -> None:
    """Write file versions, given with their hashes, from key `key` on; their chunks have the keys from `chunk` on."""
    rows = []
    for hash, file in files:
        row = FileRow(key, file.path, hash, file.language, file.category, file.encoding,
                      file.lines, file.size, file.skip, chunk, file.chunks)  # fmt: skip
        rows.append((*row, repository, checksum_of((repository, *row), file.detail), file.detail))
        key += 1
        chunk += file.chunks
    marks = ", ".join("?" * (len(FileRow._fields) + 3))
    into = f"INSERT INTO files({FILE_COLUMNS}, repository, checksum, detail) VALUES ({marks})"
    connection.executemany(into, rows)


def access_to(folder: Path, *, create: bool) -> Access:
    """Return what this process may do with the code index of a folder; `create` makes a missing one."""
    access = schema.probe(folder, CODE_SCHEMA)
    if access.whole:
        return access
    if not create:
        raise IndexNotFoundError(
            f"no code index in {folder}; `sleuth code index PATH` makes one", path=str(folder)
        )
    schema.create(folder, CODE_SCHEMA)
    return schema.probe(folder, CODE_SCHEMA)
