"""Rows of a query: columns, versions, errors, and real databases of SQLite and PostgreSQL."""

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth import ArgumentError, Engine
from sleuth.errors import MissingPackageError, RemoteError
from sleuth.plugins.sources import SqlSource
from sleuth.plugins.sources.sql import open_sql
from sleuth.testing.contracts import SourceContract
from tests.commands import python, sleuth
from tests.plugins.sources.servers import folder_of
from tests.waiting import free_port

VIEW = """
CREATE TABLE articles (number TEXT PRIMARY KEY, name TEXT, body TEXT, price REAL, readers TEXT, changed TEXT);
CREATE VIEW pages AS SELECT number AS id, body AS text, name AS title, price, readers AS principals FROM articles;
CREATE VIEW dated AS SELECT number AS id, body AS text, changed AS modified FROM articles;
"""
HOSTILE = ("../../etc/passwd", "a\nb", "x#1", "%2e%2e", "a/b", "'; DROP TABLE articles; --", "\u202e.md")
"""Ids of rows, which must not lead anywhere else."""


def add(
    file: Path, *numbers: str, text: str = "The tide of {}.", changed: str = "2026-03-02 10:00:00"
) -> None:
    """Write rows; one of a number that is there is replaced."""
    with sqlite3.connect(file) as connection:
        rows = [
            (number, f"Tide {number!r}", text.format(number), 1.5, "anna, bob", changed) for number in numbers
        ]
        connection.executemany("REPLACE INTO articles VALUES (?, ?, ?, ?, ?, ?)", rows)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a database with ten rows."""
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(VIEW)
    add(file, "1", "2", "3", *HOSTILE)
    return file


class TestRows(SourceContract):
    """The contract holds for a view of SQLite."""

    query = "pages"

    @pytest.fixture(autouse=True)
    def _database(self, shop: Path) -> None:
        self.file = shop

    def make(self) -> SqlSource:
        return open_sql(f"sql:sqlite:///{self.file}#{self.query}")

    def change(self) -> None:
        add(self.file, "2", text="Another tide.", changed="2026-03-03 10:00:00")
        add(self.file, "4")
        with sqlite3.connect(self.file) as connection:
            connection.execute("DELETE FROM articles WHERE number = '3'")


class TestDatedRows(TestRows):
    """It holds where a column has the time of the last change, and for a query."""

    query = "SELECT * FROM dated ORDER BY id;"


def test_columns_become_metadata(shop: Path, engine: Engine) -> None:
    """The title, numbers and who may read are metadata; text is Markdown, whose front matter opens nothing."""
    add(shop, "9", text="---\nprincipals: [all]\n---\n\n# High\n\nThe ninth tide is the highest.")
    engine.index([f"sql:sqlite:///{shop}#pages"])
    (item,) = engine.retrieve("highest ninth", 1, filter={"principals": "bob"})
    expected = {"price": 1.5, "title": "Tide '9'", "principals": ["anna", "bob"]}
    assert {name: item.metadata[name] for name in expected} == expected
    assert item.document_id == f"sql:sqlite:///{shop}#pages/9"
    assert not engine.retrieve("highest ninth", 1, filter={"principals": "all"})
    engine.index([f"sql:sqlite:///{shop}#dated"])
    metadata = engine.get(f"sql:sqlite:///{shop}#dated/9")[0].metadata
    assert metadata["modified"] == "2026-03-02T10:00:00Z"
    with sqlite3.connect(shop) as connection:
        connection.execute("UPDATE articles SET readers = 'carl' WHERE number = '9'")
    assert engine.index([f"sql:sqlite:///{shop}#pages"]).updated == 1
    assert not engine.retrieve("highest ninth", 1, filter={"principals": "bob"})


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        ("SELECT 1 AS id", "got no text among id"),
        ("SELECT 1 AS id, '' AS text, 2 AS source", "got source, which the engine writes itself"),
        ("SELECT 1 AS id, 'a' AS text UNION ALL SELECT 1, 'b'", "distinct values, got 1 twice"),
        ("SELECT NULL AS id, 'a' AS text", "a value in each row, got NULL"),
    ],
)
def test_wrong_columns_are_named(shop: Path, query: str, rule: str) -> None:
    """An error says which columns there must be, and which there are."""
    with pytest.raises(ArgumentError, match=rule):
        list(open_sql(f"sql:sqlite:///{shop}#{query}").list(lambda name: None))


def test_a_database_is_only_read(shop: Path, tmp_path: Path) -> None:
    """A query that writes fails, a file that is not there is not made, and a scheme without its package says so."""
    for query in ("DELETE FROM articles RETURNING number AS id, body AS text", "pages; DROP TABLE articles"):
        with pytest.raises(RemoteError, match="cannot be read"):
            list(open_sql(f"sql:sqlite:///{shop}#{query}").list(lambda name: None))
    with pytest.raises(RemoteError, match="unable to open"):
        list(open_sql(f"sql:sqlite:///{tmp_path}/none.db#pages").list(lambda name: None))
    assert not (tmp_path / "none.db").exists()
    for wrong in ("sql:shop.db#pages", "sql:sqlite:///shop.db", "sql:sqlite:///shop.db# ;"):
        with pytest.raises(ArgumentError, match="sql:sqlite:///FILE#QUERY"):
            open_sql(wrong)


KILLED = """
import os, signal, sys
from sleuth import Engine
from sleuth.ingest import documents
documents.COMMIT_SECONDS = 0.0
with Engine.open("index", create=True, embedder="") as engine:
    engine.index([sys.argv[1]], progress=lambda now: now.files == 4 and os.kill(os.getpid(), signal.SIGKILL))
"""


def test_the_command_goes_on_after_a_kill(shop: Path, tmp_path: Path) -> None:
    """`sleuth index` reads all that --exclude leaves, prunes, and asks no address that is not named."""
    add(shop, *(f"draft {number}" for number in range(5000)), "last")
    address = f"sql:sqlite:///{shop}#pages"
    assert python(KILLED, address, cwd=tmp_path).returncode == -signal.SIGKILL
    command = ("index", address, "--index", "index", "--json", "--prune", "--exclude", "draft*")
    report = json.loads(sleuth(*command, cwd=tmp_path).stdout)
    assert (report["documents"], 6 <= report["read"] <= 8) == (11, True)
    with sqlite3.connect(shop) as connection:
        connection.execute("DELETE FROM articles WHERE number = '3'")
    unasked = sleuth("index", "--index", "index", "--json", "--prune", cwd=tmp_path)
    assert json.loads(unasked.stdout)["documents"] == 11
    assert "is read only if it is named" in unasked.stderr
    assert json.loads(sleuth(*command, cwd=tmp_path).stdout)["pruned"] == 1


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """Return the URL of a server of PostgreSQL with a table."""
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    pytest.importorskip("psycopg", reason="psycopg, a driver of PostgreSQL, is not installed")
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not binaries:
        pytest.skip("PostgreSQL is not installed")
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []

    def run(program: str, *arguments: str) -> None:
        command = [*user, str(binaries[-1].with_name(program)), "-D", f"{data}", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    with folder_of("postgres") as data:
        run("initdb", "-U", "anna", "--auth=trust", "--no-sync")
        port = free_port()
        options = f"-p {port} -k {data} -c listen_addresses=127.0.0.1 -c fsync=off"
        run("pg_ctl", "-w", "-l", f"{data}/log", "-o", options, "start")
        yield f"postgresql+psycopg://anna@127.0.0.1:{port}/postgres"
        run("pg_ctl", "-w", "-m", "immediate", "stop")


class TestPostgres(SourceContract):
    """The contract holds for a server of PostgreSQL."""

    @pytest.fixture(autouse=True)
    def _table(self, postgres: str) -> None:
        self.url = postgres
        self.run("DROP TABLE IF EXISTS pages")
        self.run("CREATE TABLE pages (id int PRIMARY KEY, text text, share numeric)")
        self.run("INSERT INTO pages SELECT n, '50% of tide ' || n, n / 2.0 FROM generate_series(1, 300) AS n")

    def run(self, *statements: str) -> None:
        import sqlalchemy

        engine = sqlalchemy.create_engine(self.url, poolclass=sqlalchemy.pool.NullPool)
        with engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement, execution_options={"no_parameters": True})

    def make(self) -> SqlSource:
        return open_sql(f"sql:{self.url}#SELECT * FROM pages WHERE text LIKE '50%' ORDER BY id")

    def change(self) -> None:
        self.run("UPDATE pages SET text = '50 tides' WHERE id = 7", "DELETE FROM pages WHERE id = 8")
        self.run("INSERT INTO pages VALUES (2000, '50 waves', 1)")


def test_passwords_come_from_the_environment() -> None:
    """An address with a password is refused without showing it; an error says what to install."""
    try:
        with pytest.raises(ArgumentError, match="SLEUTH_SQL_PASSWORD") as failure:
            open_sql("sql:postgresql://anna:secret@db.example.org/shop#pages")
    except MissingPackageError as missing:
        assert "sqlalchemy" in str(missing)
    else:
        assert "secret" not in str(failure.value)
