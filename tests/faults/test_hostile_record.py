"""A record from somebody else takes neither memory nor time, and names no folder that Sleuth then reads."""

import resource
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.code import CodeRetriever, index_path
from sleuth.code.snapshots.diff import changed_files
from sleuth.code.snapshots.refreshing import current_snapshot
from sleuth.engine import open_code
from sleuth.engine.doctor import examine, mend
from sleuth.errors import CodeError, IndexDamagedError
from sleuth.store.disk.files import CODE, DOCUMENTS
from tests.code.conftest import write

SCHEMAS = {
    "a generated column": ("documents", "metadata TEXT", "metadata TEXT, big AS (zeroblob(900000000))"),
    "a table without rows by number": (
        "tombstones",
        "generation INTEGER NOT NULL)",
        "generation INTEGER NOT NULL) WITHOUT ROWID",
    ),
    "a default that is computed": ("documents", "source TEXT", "source TEXT DEFAULT (randomblob(900000000))"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with an index of documents and of code."""
    root = write(tmp_path / "root", {"refill.py": "def refill(bucket):\n    return bucket\n"})
    with open_code(tmp_path / ".sleuth", create=True) as storage:
        index_path(storage, root)
    with Engine.open(tmp_path / ".sleuth", create=True, embedder="") as engine:
        engine.add([Document("some words", id="a")])
    return tmp_path


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_foreign_schema(home: Path, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that Sleuth did not write so is refused before any of its rows is read, and never runs."""
    table, text, other = SCHEMAS[kind]
    path = home / ".sleuth"
    change(
        path / DOCUMENTS.record,
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_schema SET sql = replace(sql, '{text}', '{other}') WHERE name = '{table}'",
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    message = f"the table '{table}' of record.sqlite is not as Sleuth makes it"
    assert any(message in finding.message for finding in examine(path, full=True))
    with monkeypatch.context() as patch, pytest.raises(IndexDamagedError, match=message):
        patch.setenv("PATH", str(tmp_path))
        mend(path)
    with suppress(IndexDamagedError):
        mend(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET value = '{' || printf('%.*c', 200000000, ' ') || '}' WHERE name = 'settings'",
        "UPDATE segments SET inline = zeroblob(400000000) WHERE leg = 'passages'",
        "UPDATE documents SET metadata = zeroblob(400000000)",
    ],
)
def test_values_that_are_too_large(home: Path, statement: str) -> None:
    """Sizes are checked before values are read: a full check and a repair stay in memory and end."""
    path = home / ".sleuth"
    change(path / DOCUMENTS.record, statement)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert any(finding.level == "error" for finding in examine(path, full=True))
    with pytest.raises(IndexDamagedError):
        mend(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB


@pytest.mark.parametrize(("folder", "quoted"), [("/", "/"), ("/usr; ls", "'/usr; ls'")])
def test_a_repository_outside_the_folder_of_the_index(home: Path, folder: str, quoted: str) -> None:
    """A code index that names another folder does not make Sleuth read it, nor its name part of a command."""
    path = home / ".sleuth"
    change(path / CODE.record, f"UPDATE repositories SET path = '{folder}'")
    with open_code(path) as storage:
        (repository,) = storage.repositories()
        current = current_snapshot(storage, repository)
        assert "outside" in current.reason
        assert f"run `sleuth code index {quoted}`" in current.warning(repository)
        hits = CodeRetriever(storage, None).retrieve("refill", repository.id, strategy="keyword")
        assert [hit.file_path for hit in hits] == ["refill.py"]
        with pytest.raises(CodeError, match="read only when you index it"):
            changed_files(storage.open_snapshot(repository, current.snapshot))
