"""The layout of the record, and statements that read and write it.

One SQLite database. A document's key is the key of its first passage, and its passages, which are in segments, have
consecutive keys. Keys are given once and never again, by the counter in `state`. Each row carries a CRC-32 of its
values, since SQLite has no checksums.

Values reach SQLite as parameters only. The texts of statements are the constants of this package.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

from sleuth.errors import ArgumentError, IndexDamagedError, StoreError
from sleuth.store.disk.files import check_database
from sleuth.store.record.mark import read_salt
from sleuth.store.record.values import KnownFile

FORMAT = 3
APPLICATION = 0x534C5448
"""What `file` and `PRAGMA application_id` tell of the database: "SLTH"."""

BUSY_SECONDS = 30.0
"""For which a statement waits for SQLite's own locks, which are held for one commit or checkpoint."""
PAGE = 8192
"""Bytes, as published versions compare them."""
_SIGN = 1 << 31
"""What checksums are less by: SQLite keeps a signed number of 32 bits in 4 bytes, an unsigned one in 6."""

MANIFEST = """
CREATE TABLE segments(
    name TEXT PRIMARY KEY, leg TEXT NOT NULL, fingerprint TEXT NOT NULL, first INTEGER NOT NULL,
    last INTEGER NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL, checksum INTEGER NOT NULL, inline BLOB
);
"""
"""The table of segments, which is the same in every database of an index folder."""

SCHEMA = f"""
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE state(
    one INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL, generation INTEGER NOT NULL, next_key INTEGER NOT NULL,
    documents INTEGER NOT NULL, chunks INTEGER NOT NULL
);
INSERT INTO state VALUES (1, 0, 0, 1, 0, 0);
CREATE TABLE documents(
    key INTEGER PRIMARY KEY, chunks INTEGER NOT NULL,
    checksum INTEGER NOT NULL, content_hash BLOB NOT NULL, id TEXT NOT NULL UNIQUE,
    source TEXT, title TEXT, metadata TEXT
);
CREATE TABLE files(
    name TEXT PRIMARY KEY, documents INTEGER NOT NULL, own_ids INTEGER NOT NULL, size INTEGER NOT NULL,
    version TEXT, reading TEXT NOT NULL, options TEXT, skips TEXT, checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX noted_files ON files(name) WHERE options IS NOT NULL OR skips IS NOT NULL;
{MANIFEST.strip()}
CREATE TABLE tombstones(key INTEGER PRIMARY KEY, generation INTEGER NOT NULL);
CREATE INDEX tombstones_by_generation ON tombstones(generation);
CREATE TABLE models(model INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE);
CREATE TABLE embeddings(
    key INTEGER PRIMARY KEY, model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
    checksum INTEGER NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL, UNIQUE (model, hash)
);
"""


class DocumentRow(NamedTuple):
    """A row of `documents`."""

    key: int
    chunks: int
    checksum: int
    content_hash: bytes
    id: str
    source: str | None
    title: str | None
    metadata: str | None


class EmbeddingRow(NamedTuple):
    """A row of `embeddings`.

    Attributes:
        hash: of the text.
    """

    key: int
    model: int
    checksum: int
    hash: bytes
    vector: bytes


_Row = TypeVar("_Row", DocumentRow, EmbeddingRow)
DOCUMENT_COLUMNS = ", ".join(DocumentRow._fields)
_TYPES_OF_FILE = (str, int, int, int, str | None, str, str | None, str | None)
FILE_COLUMNS = f"{', '.join(KnownFile._fields)}, checksum"
EMBEDDING_COLUMNS = ", ".join(EmbeddingRow._fields)
MANY = 960
_MOST_SETTINGS = 1 << 20
"""Characters of settings that are read."""
_MOST_VALUE = 1 << 28
"""Bytes of a value or a row that SQLite reads or writes: more is an attack on memory."""
_MOST = 1 << 60
"""Above any number that `state` reaches."""


class Connection(sqlite3.Connection):
    """A connection to a database of an index folder.

    Attributes:
        folder: of the index.
        held: the statement that holds a reader to one version, while there is one.
    """

    folder: Path
    held: sqlite3.Cursor | None = None

    @cached_property
    def salt(self) -> int:
        """The salt of its index.

        Raises:
            IndexDamagedError: both copies of it are damaged.
        """
        return read_salt(self, self.folder)

    def hold(self) -> tuple[int, int]:
        """See the newest version from now on, and no other until `let_go`: its generation and number.

        A statement that has a row left to give holds its version as a transaction does. BEGIN and ROLLBACK would give
        the interpreter's lock away six times more, for which threads of queries wait.
        """
        self.held = self.execute("SELECT generation, version FROM state UNION ALL SELECT 0, 0")
        generation, version = self.held.fetchone()
        return generation, version

    def let_go(self) -> None:
        """End what `hold` or BEGIN began."""
        if self.held is not None:
            self.held.close()
            self.held = None
        if self.in_transaction:
            self.execute("ROLLBACK")


def connect(path: Path, *, write: bool, immutable: bool = False, shared: bool = False) -> Connection:
    """Return a connection in autocommit mode, usable from any one thread at a time.

    `sqlite3.connect` itself sets the busy timeout before anything else runs. Checkpoints are left to the store.

    Args:
        shared: a reader that may make the files that readers and writers share.
    """
    check_database(path)
    mode = "immutable=1&mode=ro" if immutable else ("mode=rw" if write or shared else "mode=ro")
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path.parent.resolve() / path.name))}?{mode}",
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
        factory=Connection,
    )
    connection.folder = path.parent
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_VALUE)
    try:
        if write:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute("PRAGMA journal_size_limit = 8388608")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA cache_size = -16384")
            connection.execute("PRAGMA cell_size_check = ON")
        else:
            connection.execute("PRAGMA mmap_size = 0")  # to read what is cut off would end the process
            connection.execute("PRAGMA cache_size = -4096")  # in units of 1,024 bytes
            if shared:
                connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
    except UnicodeDecodeError as error:  # SQLite's message quotes bytes of a damaged schema
        connection.close()
        raise sqlite3.DatabaseError("malformed database schema") from error
    except BaseException:
        connection.close()
        raise
    return connection


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
    def read(cls, connection: Connection) -> Counters:
        """Return the counters that the record holds.

        Raises:
            IndexDamagedError: no commit writes this state.
        """
        row = connection.execute(
            "SELECT version, generation, next_key, documents, chunks FROM state"
        ).fetchone()
        if row is None or {*map(type, row)} != {int} or min(row) < 0 or max(row) >= _MOST:
            raise _odd(connection.folder, "state", row)
        return cls(*row)

    def write(self, connection: sqlite3.Connection) -> None:
        """Keep these counters, in the open transaction."""
        connection.execute(
            "UPDATE state SET version = ?, generation = ?, next_key = ?, documents = ?, chunks = ?",
            astuple(self),
        )

    def counted(self, connection: sqlite3.Connection) -> Counters:
        """Return the same with what the table of documents says."""
        documents, chunks, end = connection.execute(
            "SELECT count(*), coalesce(sum(chunks), 0), coalesce(max(key + max(chunks, 1)), 1) FROM documents"
        ).fetchone()
        return replace(self, documents=documents, chunks=chunks, next_key=max(self.next_key, end))


def read_settings(connection: Connection) -> dict[str, Any]:
    """Return what an index was made with.

    Raises:
        IndexDamagedError: nothing that a creation writes.
    """
    row = connection.execute(
        "SELECT value FROM meta WHERE name = 'settings' AND length(value) <= ?", (_MOST_SETTINGS,)
    ).fetchone()
    with suppress(TypeError, ValueError, RecursionError):
        settings = json.loads(row[0])
        if isinstance(settings, dict):
            return settings
    raise _odd(connection.folder, "settings", row)


def _odd(path: Path, what: str, value: object) -> IndexDamagedError:
    return IndexDamagedError(
        f"the record in {path} is damaged: its {what} {_short(value)}; restore it from a copy, or remove the folder "
        "and index the documents again",
        path=str(path),
    )


FAILURES: Final = (sqlite3.Error, FileNotFoundError, NotADirectoryError, PermissionError)
"""Errors of SQLite, and those of a folder that is missing or out of reach."""


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise `FAILURES` as Sleuth errors."""
    try:
        yield
    except FAILURES as error:
        raise translate(error, path) from error


_WITHOUT_SPACE = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
"""SQLite's message, among others, if the disk has no room for the file that readers and writers share."""
_SHARED_BYTES = 1 << 16  # of that file, at least


def translate(error: Exception, path: Path) -> StoreError:
    """Return the Sleuth error for one of the `FAILURES` in the index at `path`."""
    if isinstance(error, PermissionError):
        why = f"cannot read {error.filename}: {error.strerror}; close the index and open it as a user who may read it"
        return StoreError(why, path=str(path))
    if isinstance(error, OSError):
        why = f"{error.filename} is gone: the index was moved or removed while it was open; open it where it is now"
        return StoreError(why, path=str(path))
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG) or code in (1, 0):
        return IndexDamagedError(
            f"the record in {path} is damaged ({error}): restore it from a backup, or remove the folder and index "
            "again; `sleuth doctor --full` says what remains",
            path=str(path),
        )
    assurance = "everything committed before is kept"
    is_full = code == sqlite3.SQLITE_FULL
    if code in _WITHOUT_SPACE:
        with suppress(OSError):
            is_full = shutil.disk_usage(path).free < _SHARED_BYTES
    if is_full:
        return StoreError(
            f"the disk under {path} is full; {assurance}: free some space and try again", path=str(path)
        )
    if code == sqlite3.SQLITE_BUSY:
        return StoreError(f"the record in {path} is busy ({error}): try again", path=str(path))
    return StoreError(f"the record in {path} cannot be used ({error}); {assurance}", path=str(path))


def from_json(text: str | None) -> dict[str, Any]:
    """Return the values of JSON that the record holds; none where it holds no text."""
    return json.loads(text) if text else {}


def check_text(text: str, argument: str) -> str:
    """Return the text, if it is one that UTF-8 can hold.

    Raises:
        ArgumentError: it is not a string, or has a lone surrogate.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"{argument} must be a string, got {text!r}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(
                f"{argument} must be text without lone surrogates, got {_short(text)} (character {error.start}): "
                "decode files with errors='replace'"
            ) from error
    return text


def check_texts(texts: Sequence[str], argument: str) -> Sequence[str]:
    """Apply `check_text` to many; recognises ASCII, the common case, at once."""
    if not all(map(str.isascii, texts)):
        for text in texts:
            check_text(text, argument)
    return texts


def document_checksum(row: DocumentRow, salt: int) -> int:
    """Return the checksum of a row of `documents` in the index of this salt."""
    content = f"{row.key}|{row.chunks}|{row.id}\0{row.source}\0{row.title}\0{row.metadata}".encode()
    return (zlib.crc32(content, zlib.crc32(row.content_hash)) ^ salt) - _SIGN


def file_checksum(row: KnownFile, salt: int) -> int:
    """Return the checksum of a row of `files`."""
    return zlib.crc32("\0".join(map(str, row)).encode("utf-8", "surrogatepass")) ^ salt


def sound_files(rows: Iterable[Sequence[Any]], salt: int) -> Iterator[KnownFile]:
    """Yield rows of `FILE_COLUMNS` that are as they were written: a file with another row is read again."""
    for *values, checksum in rows:
        row = KnownFile._make(values)
        if file_checksum(row, salt) == checksum and all(map(isinstance, row, _TYPES_OF_FILE)):
            yield row


def embedding_checksum(row: EmbeddingRow, salt: int) -> int:
    """Return the checksum of a row of `embeddings`."""
    return zlib.crc32(row.vector, zlib.crc32(row.hash)) ^ salt


def has_checksum(checksum: Callable[[_Row, int], int], row: _Row, salt: int) -> bool:
    """Return whether the values of a row are those that were written into the index of this salt."""
    try:
        return checksum(row, salt) == row.checksum
    except (AttributeError, OverflowError, TypeError, ValueError):  # a value of another type than was written
        return False


def damaged_row(name: str) -> IndexDamagedError:
    """Return the error of a document or a chunk that has not its checksum."""
    return IndexDamagedError(
        f"{name} is not as it was written: `sleuth doctor --repair` removes what is damaged, and says what to add again"
    )


def select_in(
    connection: sqlite3.Connection,
    columns: str,
    table: str,
    column: str,
    values: Sequence[Any],
    *,
    also: tuple[str, Any] | None = None,
) -> list[tuple[Any, ...]]:
    """Rows of `table` whose `column` is one of `values`, in no order. The names are constants of this package.

    The list is padded to a few lengths, so that SQLite prepares few statements.

    Args:
        also: a second column and the value that it must have.
    """
    second, value = also or ("", None)
    condition, bound_values = (f"{second} = ? AND ", (value,)) if second else ("", ())
    rows: list[tuple[Any, ...]] = []
    for at in range(0, len(values), MANY):
        page = values[at : at + MANY]
        size = min(MANY, 1 << (len(page) - 1).bit_length())
        marks = ",".join("?" * size)
        statement = f"SELECT {columns} FROM {table} WHERE {condition}{column} IN ({marks})"
        padded = (*bound_values, *page, *([None] * (size - len(page))))
        rows += connection.execute(statement, padded).fetchall()
    return rows


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
