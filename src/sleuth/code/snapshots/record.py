"""What is kept of code, and in which tables? Values as they are read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 2_000_000
TOO_LARGE = f"larger than {MAX_BYTES} bytes"
"""Why larger files are listed and not searched."""

SCHEMA = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE repositories(
    id TEXT PRIMARY KEY, path TEXT NOT NULL UNIQUE, url TEXT NOT NULL, created REAL NOT NULL
);
CREATE TABLE blobs(hash TEXT NOT NULL UNIQUE, content BLOB NOT NULL);
CREATE TABLE files(
    key INTEGER PRIMARY KEY, repository TEXT NOT NULL REFERENCES repositories ON DELETE CASCADE, path TEXT NOT NULL,
    hash TEXT NOT NULL, language TEXT NOT NULL, category TEXT NOT NULL, encoding TEXT NOT NULL, lines INTEGER NOT NULL,
    size INTEGER NOT NULL, skip TEXT NOT NULL, first_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL,
    detail BLOB NOT NULL, UNIQUE (repository, path, hash)
);
CREATE INDEX skipped_files ON files(repository, path, skip) WHERE skip != '';
CREATE TABLE snapshots(
    serial INTEGER PRIMARY KEY, id TEXT NOT NULL, repository TEXT NOT NULL REFERENCES repositories ON DELETE CASCADE,
    base TEXT NOT NULL, names TEXT NOT NULL, status TEXT NOT NULL, started REAL NOT NULL, finished REAL,
    files INTEGER NOT NULL, members BLOB NOT NULL, error TEXT NOT NULL, holder TEXT NOT NULL,
    UNIQUE (repository, id)
);
CREATE TABLE segments(
    name TEXT PRIMARY KEY, leg TEXT NOT NULL, fingerprint TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    rows INTEGER NOT NULL, size INTEGER NOT NULL, checksum INTEGER NOT NULL, data BLOB
);
CREATE TABLE times(
    repository TEXT NOT NULL REFERENCES repositories ON DELETE CASCADE, path TEXT NOT NULL, size INTEGER NOT NULL,
    changed INTEGER NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (repository, path)
) WITHOUT ROWID;
CREATE TABLE embeddings(
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE, fingerprint TEXT NOT NULL, vectors BLOB NOT NULL,
    PRIMARY KEY (file, fingerprint)
);
"""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of the index.

    Attributes:
        id: a UUID.
        path: its folder, absolute.
        url: of its origin, "" where it has none.
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
        started, finished: seconds since the epoch; `finished` is None until it is.
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


def snapshot_info(row: tuple[Any, ...]) -> SnapshotInfo:
    id, repository, base, names, status, started, finished, count, error = row
    return SnapshotInfo(id, repository, base, tuple(names.split()), status, started, finished, count, error)


def matrix_of(blob: bytes) -> NDArray[np.float16]:
    """Embeddings of a file version as they are kept: their width, then the rows."""
    width = int(np.frombuffer(blob[:4], "<i4")[0])
    return np.frombuffer(blob[4:], "<f2").reshape(-1, max(1, width)).astype(np.float16, copy=False)
