"""Recovers a database whose structure is damaged, with the `.recover` command of SQLite's own program.

The program prints the rows that it still reads as SQL. Only its INSERT statements run, in a temporary database that has
the columns of our tables; nothing that a damaged or hostile file says about its own schema runs. The caller copies the
rows that are as they were written into a new database, which then takes the place of the damaged one. A copy of the
damaged one stays beside it. Segments are not recovered: they are built again from the rows.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import schema
from sleuth.store.catalogue.lock import WriterLock
from sleuth.store.catalogue.schema import Schema
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.disk.files import check_database, open_file, opened_file
from sleuth.store.health.proofs import structure_faults
from sleuth.store.record import layout as record
from sleuth.store.record.layout import Connection
from sleuth.store.record.values import Repair

_PROGRAM: Final = "sqlite3"
_ABILITY: Final = b"ENABLE_DBPAGE_VTAB"
"""The compile option without which `.recover` reads nothing."""
_LOST: Final = "lost_and_found"
"""The table of rows whose own table the program could not tell."""
_FUNCTIONS: Final = {"replace", "char", "unistr"}
"""Functions with which the program writes texts."""
_MOST_OUTPUT: Final = 32
"""Bytes of SQL for each byte of the database: a row takes a few times its size, so more is an attack."""
_TYPES: Final = {"TEXT": "'text'", "INTEGER": "'integer'", "BLOB": "'blob'", "REAL": "'real', 'integer'"}
_BESIDE: Final = ("-wal", "-shm", "-journal")


class Rebuilt(NamedTuple):
    """What a new database has of a damaged one.

    Attributes:
        content: what was recovered, in words.
        repairs: what was lost.
    """

    content: str
    repairs: list[Repair]


Fill = Callable[[Connection, Connection, Path], Rebuilt]
"""Copies rows: is given the recovered tables, the new database in its first transaction, and the damaged file."""


def recover(folder: Path, kind: Schema, fill: Fill, timeout: float) -> list[Repair]:
    """Replace the database of an index folder where its structure is damaged, under the writer's lock.

    Args:
        timeout: seconds to wait for the writer's lock.

    Returns:
        What was recovered and what was lost; empty where there is no database or its structure is sound.

    Raises:
        IndexDamagedError: the program is missing, or nothing can be recovered. Everything stays as it was.
        IndexUnsafeError, FormatVersionError: as `schema.is_whole`.
    """
    file = folder / kind.names.record
    if not file.is_file():
        return []
    lock = WriterLock(folder / kind.names.lock)
    lock.acquire(timeout)
    try:
        problem = _damage_of(folder, kind)
        if not problem:
            return []
        program = _program(folder, kind, problem)
        with record.failing_disk(folder), record.translated(folder):
            aside = _set_aside(file)
            try:
                outcome = _rebuild(program, aside, file, kind, fill)
            except BaseException:
                _remove(aside)
                raise
    finally:
        lock.release()
    why = (
        f"its structure was damaged ({problem}): {outcome.content} recovered. The damaged file is kept as "
        f"{aside.name}; a backup, where there is one, may hold more"
    )
    return [Repair(kind.names.record, why), *outcome.repairs]


def copy_rows(
    source: Connection,
    target: Connection,
    table: str,
    is_whole: Callable[[tuple[Any, ...]], bool] = lambda row: True,
) -> None:
    """Copy the recovered rows of a table that are as they were written; of two in one place, the last by key."""
    columns = target.execute(f"PRAGMA table_info({table})").fetchall()
    names, marks = ", ".join(name for _, name, *_ in columns), ", ".join("?" * len(columns))
    whole = [f"{name} IS NOT NULL" for _, name, _, is_required, *_ in columns if is_required] or ["1"]
    rows = source.execute(f"SELECT {names} FROM {table} WHERE {' AND '.join(whole)} ORDER BY 1")
    proven = (row for row in rows if is_whole(row))
    target.executemany(f"INSERT OR REPLACE INTO {table}({names}) VALUES ({marks})", proven)


def drop_strays(target: Connection) -> None:
    """Remove the rows that refer to rows that were lost."""
    while strays := target.execute("PRAGMA foreign_key_check").fetchall():
        for table, rowid, *_ in strays:
            target.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))


def _damage_of(folder: Path, kind: Schema) -> str:
    """Return SQLite's first complaint about the database, cut to 120 characters; "" where it has none."""
    try:
        if not schema.is_whole(folder, kind):  # empty, as a crash leaves it before the tables are made
            return ""
        file = folder / kind.names.record
        with closing(record.connect(file, write=False, shared=True)) as connection:
            message = next(iter(structure_faults(connection)), "")
    except IndexDamagedError as error:
        message = str(error.__cause__ or error)
    except sqlite3.OperationalError as error:  # busy, or the disk fails
        raise record.translate(error, folder) from error
    except sqlite3.DatabaseError as error:
        message = str(error)
    return message if len(message) <= 120 else f"{message[:117]}..."


def _program(folder: Path, kind: Schema, problem: str) -> str:
    """Return the path of a program that recovers.

    Raises:
        IndexDamagedError: it is not installed, or cannot recover; the message says how to get it.
    """
    program = shutil.which(_PROGRAM)
    if program is None:
        lack = f"the program {_PROGRAM} would recover its rows, but it is not installed"
    elif _ABILITY not in b"".join(_output(program, ":memory:", "PRAGMA compile_options")):
        lack = f"{program} cannot recover its rows: it was built without {_ABILITY.decode()}, as Debian's is"
    else:
        return program
    raise IndexDamagedError(
        f"{folder / kind.names.record} is damaged ({problem}). {lack}: put SQLite's own from "
        f"https://sqlite.org/download.html into your PATH and run `sleuth doctor --repair` again. {_otherwise(folder)}",
        path=str(folder),
    )


def _otherwise(folder: Path) -> str:
    return f"Or restore a backup, or remove {folder} and run `sleuth index` or `sleuth code index` again"


def hopeless(folder: Path, kind: Schema) -> IndexDamagedError:
    """Return the error for a database of which nothing was recovered."""
    return IndexDamagedError(
        f"{folder / kind.names.record} is damaged, and none of its rows can be recovered. {_otherwise(folder)}",
        path=str(folder),
    )


def _output(program: str, *arguments: str) -> Generator[bytes]:
    """Yield the lines that the program prints; what it reads, it does not change."""
    command = [program, "-batch", "-init", os.devnull, "-readonly", *arguments]
    with subprocess.Popen(  # noqa: S603 - found in PATH, and the arguments are ours
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield from process.stdout or ()
        finally:
            process.kill()


def _set_aside(file: Path) -> Path:
    """Copy a damaged database and its log into durable files beside it."""
    for number in count(1):
        aside = file.with_name(f"{file.name}.damaged-{number}")
        with suppress(FileExistsError):
            _copy(file, aside)
            break
    log = file.with_name(f"{file.name}-wal")
    if log.is_file() and log.stat().st_size:
        _copy(log, aside.with_name(f"{aside.name}-wal"))
    sync_folder(file.parent)
    check_database(aside)
    return aside


def _copy(source: Path, target: Path) -> None:
    """Copy a file into one that is not there yet, durably."""
    with (
        os.fdopen(open_file(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as copy,
        opened_file(source) as fd,
        os.fdopen(os.dup(fd), "rb") as content,
    ):
        shutil.copyfileobj(content, copy, 1 << 20)
        copy.flush()
        os.fsync(copy.fileno())


def _remove(file: Path) -> None:
    """Remove a database and what SQLite keeps beside it."""
    for ending in ("", *_BESIDE):
        file.with_name(f"{file.name}{ending}").unlink(missing_ok=True)


def _rebuild(program: str, aside: Path, file: Path, kind: Schema, fill: Fill) -> Rebuilt:
    """Make a new database from the rows of the copy, and put it in the place of the damaged one."""
    new = file.with_name(f"{file.name}.new")
    check_database(new)
    _remove(new)
    parts: list[Rebuilt] = []
    try:
        with closing(_recovered(program, aside, kind)) as source:
            schema.make(new, kind, lambda target: parts.append(fill(source, target, aside)))
        for ending in _BESIDE:  # of the damaged one; the copy has them
            file.with_name(f"{file.name}{ending}").unlink(missing_ok=True)
        new.replace(file)
        sync_folder(file.parent)
    except BaseException:
        _remove(new)
        raise
    finally:
        _tidy(aside)
    return parts[0]


def _tidy(aside: Path) -> None:
    """Remove what reading a copy left beside it."""
    aside.with_name(f"{aside.name}-shm").unlink(missing_ok=True)
    log = aside.with_name(f"{aside.name}-wal")
    if log.exists() and not log.stat().st_size:
        log.unlink()


def _recovered(program: str, file: Path, kind: Schema) -> Connection:
    """Return a temporary database with the rows that the program reads in a file, as they are: nothing is proven.

    Raises:
        IndexDamagedError: it reads none.
    """
    source = _temporary(kind)
    source.execute("BEGIN")
    source.set_authorizer(_allow)
    most = _MOST_OUTPUT * file.stat().st_size + (1 << 20)
    with closing(_output(program, str(file.absolute()), ".recover")) as lines:
        for statement in _statements(lines):
            most -= len(statement)
            if most < 0:
                raise hopeless(file.parent, kind)
            if statement.startswith((b"INSERT ", b"CREATE TABLE lost_and_found(")):
                with suppress(sqlite3.DatabaseError, ValueError):  # not a row of Sleuth
                    source.execute(statement.decode(errors="replace"))
    source.set_authorizer(None)
    _sort_lost(source, kind)
    source.execute("COMMIT")
    return source


def _allow(action: int, name: str | None, detail: str | None, *_: str | None) -> int:
    """Allow to insert rows, and to make the table of those that the program could not sort."""
    allowed = (
        action in {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_READ}
        or (action == sqlite3.SQLITE_FUNCTION and detail in _FUNCTIONS)
        or (action == sqlite3.SQLITE_CREATE_TABLE and name == _LOST)
        or (action == sqlite3.SQLITE_UPDATE and name == "sqlite_master")
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _statements(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join lines to statements; a quote inside a text is written twice, so an even number of them is outside one."""
    parts: list[bytes] = []
    quotes = 0
    for line in lines:
        parts.append(line)
        quotes += line.count(b"'")
        if quotes % 2 == 0 and line.rstrip().endswith(b";"):
            yield b"".join(parts)
            parts.clear()


def _temporary(kind: Schema) -> Connection:
    """Return a database in a temporary file, which SQLite removes, with the columns of our tables and no rules."""
    source = sqlite3.connect("", isolation_level=None, factory=Connection)
    source.execute("PRAGMA synchronous = OFF")
    source.execute("PRAGMA journal_mode = OFF")
    with closing(schema.model(kind)) as model:
        for table in _tables(model):
            source.execute(f"CREATE TABLE {table}({', '.join(_columns(model, table))})")
    return source


def _tables(model: sqlite3.Connection) -> dict[str, bool]:
    """Return the tables by name, and whether their rows have numbers."""
    schema = model.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
    return {name: not sql.endswith("WITHOUT ROWID") for name, sql in schema}


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]


def _sort_lost(source: Connection, kind: Schema) -> None:
    """Copy the rows that the program could not sort into each table whose columns have their types."""
    width = len(_columns(source, _LOST)) - 4
    if width < 1:
        return
    with closing(schema.model(kind)) as model:
        for table, is_numbered in _tables(model).items():
            columns = model.execute(f"PRAGMA table_info({table})").fetchall()
            if len(columns) > width:
                continue
            values: list[str] = []
            conditions = [f"nfield = {len(columns)}", f"id IS {'NOT ' if is_numbered else ''}NULL"]
            for at, _, type, is_required, _, key in columns:
                value = "id" if key and type == "INTEGER" else f"c{at}"
                values.append(value)
                types = [_TYPES[type]] if type in _TYPES else []
                if types:
                    types += [] if is_required or key else ["'null'"]
                    conditions.append(f"typeof({value}) IN ({', '.join(types)})")
            source.execute(
                f"INSERT INTO {table} SELECT {', '.join(values)} FROM {_LOST} WHERE {' AND '.join(conditions)}"
            )
