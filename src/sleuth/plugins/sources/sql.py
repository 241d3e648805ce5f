"""Rows of a SQL query, `sql:sqlite:///FILE#QUERY`: each is a document."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sleuth.errors import ArgumentError, RemoteError, requires
from sleuth.ingest import FileEntry, Source
from sleuth.types import RESERVED

VARIABLE: Final = "SLEUTH_SQL_PASSWORD"
"""Of the environment: holds the password of the user in an address."""
_SQLITE: Final = "sqlite:///"


class SqlSource(Source):
    """The rows of a query, which names its columns.

    `id` tells rows apart, and `text` is read as Markdown. Where there is a column `modified`, a text counts as changed
    when the value there is another, and dates there are those of the documents. `principals` has who may read a row, as
    a list or separated by commas. Other columns are metadata.
    """

    def __init__(self, name: str, query: str, connect: Callable[[], Any]) -> None:
        """Read a query.

        Args:
            name: an address by which the index knows the rows, such as "sql://tickets".
            query: a SELECT, or the name of a table or view.
            connect: returns a connection of the DB-API (PEP 249), or one of SQLAlchemy.
        """
        is_name = query.replace("_", "").replace(".", "").isalnum()
        self.name, self._connect = name, connect
        self._query = f"SELECT * FROM {query if is_name else f'({query}) AS source'}"

    def list(self, known: Callable[[str], FileEntry | None]) -> Iterator[FileEntry]:
        """Yield all rows with their texts."""
        names: set[int] = set()
        for row in self._rows():
            entry = self._entry(row)
            if hash(entry.source) in names:
                raise ArgumentError(f"column id must have distinct values, got {row['id']!r} twice")
            names.add(hash(entry.source))
            yield entry

    def _rows(self) -> Iterator[dict[str, Any]]:
        """Yield all rows by the names of their columns.

        Raises:
            ArgumentError: the query has other columns than it should.
            RemoteError: the database does not answer, or refuses the query.
        """
        rule = "columns must be id, text and others that are named by AS"
        try:
            with closing(self._connect()) as connection:
                if hasattr(connection, "exec_driver_sql"):
                    options = {"stream_results": True, "no_parameters": True}
                    cursor = connection.execution_options(**options).exec_driver_sql(self._query)
                    columns = tuple(cursor.keys())
                else:
                    cursor = connection.cursor()
                    cursor.execute(self._query)
                    columns = tuple(column[0] for column in cursor.description)
                missing_columns = {"id", "text"}.difference(columns)
                clashes = RESERVED.intersection(columns) - {"modified"}
                while not (missing_columns or clashes) and (rows := cursor.fetchmany(self.batch)):
                    yield from (dict(zip(columns, row, strict=True)) for row in rows)
        except Exception as error:  # each driver has its own
            raise RemoteError(f"{self.name} cannot be read: {error}", service="sql", url=self.name) from error
        if missing_columns:
            raise ArgumentError(
                f"{rule}, got no {' and no '.join(sorted(missing_columns))} among {', '.join(columns)}"
            )
        if clashes:
            raise ArgumentError(f"{rule}, got {', '.join(sorted(clashes))}, which the engine writes itself")

    def _entry(self, row: Mapping[str, Any]) -> FileEntry:
        if row["id"] is None:
            raise ArgumentError("column id must have a value in each row, got NULL")
        text, modified = str(row["text"] or "").encode("utf-8", "replace"), row.get("modified")
        columns = {name: value for name, value in row.items() if name not in ("id", "text", "modified")}
        metadata = {name: _plain(value) for name, value in columns.items() if value is not None}
        if isinstance(principals := metadata.get("principals"), str):
            metadata["principals"] = [name.strip() for name in principals.split(",") if name.strip()]
        facts = json.dumps([metadata, None if modified is None else str(modified)], sort_keys=True).encode()
        version = blake2b(facts + (text if modified is None else b""), digest_size=16).hexdigest()
        name = f"{self.name}/{re.sub('^[.]', '%2E', quote(str(row['id']), ''))}"  # no row is hidden
        return FileEntry("", name, len(text), _nanoseconds(modified), version, "markdown", metadata, text)


def open_sql(address: str) -> SqlSource:
    """Return the rows at `sql:URL#QUERY`: of a file of SQLite, which is only read, or at a URL of SQLAlchemy.

    Raises:
        ArgumentError: the address lacks a part, or holds a password.
        MissingPackageError: SQLAlchemy is not installed.
    """
    url, _, query = address.removeprefix("sql:").partition("#")
    query = query.strip().rstrip(";")
    if not query or "://" not in url:
        raise ArgumentError(f"paths must be as 'sql:sqlite:///FILE#QUERY', got {address!r}")
    if url.startswith(_SQLITE):
        file = Path(url.removeprefix(_SQLITE)).expanduser().absolute()
        uri = f"{file.as_uri()}?mode=ro"
        return SqlSource(
            f"sql:{_SQLITE}{file}#{' '.join(query.split())}", query, lambda: sqlite3.connect(uri, uri=True)
        )
    with requires("sqlalchemy", "", url.partition(":")[0]):
        import sqlalchemy
    try:
        place = sqlalchemy.make_url(url)
    except sqlalchemy.exc.ArgumentError as error:
        raise ArgumentError(f"paths must hold a URL that SQLAlchemy reads, got {url!r}: {error}") from None
    if place.password is not None:
        raise ArgumentError(f"paths must hold no password of {place.host}; the environment does: {VARIABLE}")
    if password := os.environ.get(VARIABLE):
        place = place.set(password=password)
    name = f"sql:{url}#{' '.join(query.split())}"
    engine = sqlalchemy.create_engine(place, poolclass=sqlalchemy.pool.NullPool)
    return SqlSource(name, query, engine.connect)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, str | int | float | list):
        return value
    return float(value) if isinstance(value, Decimal) else str(value)


def _nanoseconds(modified: Any) -> int | None:
    """Return a date as nanoseconds since 1970; None of anything else. Without a zone it is UTC."""
    try:
        moment = modified if isinstance(modified, datetime) else datetime.fromisoformat(str(modified))
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()) * 1_000_000_000
    except (ValueError, OverflowError):
        return None
