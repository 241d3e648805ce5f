"""Opening: folders that cannot be read and other formats are specific errors, and merges meanwhile are no damage."""

import errno
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from sleuth.code import index_path
from sleuth.engine import Engine, open_code
from sleuth.errors import FormatVersionError, IndexNotFoundError, IndexUnsafeError, StoreError
from sleuth.store.catalogue import manifest, schema
from sleuth.store.catalogue.manifest import SegmentMissingError
from sleuth.store.health import opening
from sleuth.store.store import Store
from tests.store.words import SumsLeg, add, read


def test_folders_that_cannot_be_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without permission raises a StoreError, not IndexNotFoundError."""
    with pytest.raises(StoreError, match=r"cannot look into .*: File name too long$"):
        Store.open(tmp_path / ("x" * 300) / "index")
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    monkeypatch.setattr(Path, "is_dir", Mock(side_effect=denied))
    with pytest.raises(StoreError, match="Permission denied; open it as a user who may read it") as raised:
        Store.open(tmp_path / "index")
    assert not isinstance(raised.value, IndexNotFoundError)


@pytest.mark.parametrize("version", [1, 7])
@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("is_writable", [False, True])
def test_another_format_is_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch, version: int, create: bool, is_writable: bool
) -> None:
    """The error names the format, the supported one, and the command that makes a new index, on any disk."""
    store.close()
    with sqlite3.connect(store.path / "record.sqlite") as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    if not is_writable:
        monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    message = f"has format {version}, .* reads format 3: `sleuth index --rebuild"
    with pytest.raises(FormatVersionError, match=message):
        Store.open(store.path, create=create)


def test_a_record_that_is_for_nobody_to_make(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If SQLite cannot open the record on a read-only disk, `create` makes none."""
    store.close()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    refused = Mock(side_effect=sqlite3.OperationalError("attempt to write a readonly database"))
    refused.side_effect.sqlite_errorcode = sqlite3.SQLITE_READONLY
    monkeypatch.setattr(schema, "_has_format", refused)
    monkeypatch.setattr(opening, "create", Mock(side_effect=AssertionError))
    assert Store.is_at(store.path)
    with Store.open(store.path, create=True) as reader:
        assert not reader.writable


@pytest.mark.parametrize("record", ["record.sqlite", "code.db"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER own AFTER INSERT ON segments BEGIN DELETE FROM segments; END",
        "CREATE VIEW own AS SELECT 1 AS key",
        "CREATE TABLE own(key INTEGER PRIMARY KEY)",
        "CREATE INDEX own ON segments(abs(first))",
        "CREATE VIRTUAL TABLE own USING fts5(text)",
    ],
)
def test_a_schema_that_sleuth_did_not_make(tmp_path: Path, record: str, statement: str) -> None:
    """Triggers, views and other foreign objects in a database are refused by name before any access."""
    with Engine.open(tmp_path, create=True, embedder=""), open_code(tmp_path, create=True):
        pass
    with sqlite3.connect(tmp_path / record) as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(IndexUnsafeError, match="'own' that Sleuth did not make") as raised:
        Engine.open(tmp_path) if record == "record.sqlite" else open_code(tmp_path)
    assert raised.value.part == record


@pytest.mark.parametrize("merges", [1, 3])
@pytest.mark.parametrize("is_writable", [True, False])
def test_no_false_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, merges: int, is_writable: bool
) -> None:
    """Merges between reading the manifest and opening its files are no damage, in any number."""
    monkeypatch.setattr(manifest, "INLINE_BYTES", 0)
    with Store.open(tmp_path / "index", create=True) as writing:
        writing.attach([SumsLeg()])
        real, merges_left, is_merging = manifest.open_segment, merges, False
        reader = threading.get_ident()

        def merged_meanwhile(*arguments: Any, **options: Any) -> Any:
            nonlocal merges_left, is_merging
            # The thread that merges opens segments, too, and cannot wait for itself.
            if merges_left and not is_merging and threading.get_ident() == reader:
                merges_left, is_merging = merges_left - 1, True
                for number in (1, 2):
                    add(writing, f"document {merges_left} {number}", "some words")
                writing.compact()
                is_merging = False
            return real(*arguments, **options)

        add(writing, "first", "text")
        with Store.open(tmp_path / "index") as reading:
            reading.writable = is_writable
            monkeypatch.setattr("sleuth.store.catalogue.views.open_segment", merged_meanwhile)
            assert reading.attach([SumsLeg()]) == []
            assert merges_left == 0
            assert len(read(reading)) == 1 + 2 * merges


def test_a_segment_in_the_database_that_was_merged_meanwhile(tmp_path: Path) -> None:
    """A small segment whose entry is gone is missing as a file is, so that a reader of code looks for the new one."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.py").write_text("def first():\n    return 1\n", "utf-8")
    with open_code(tmp_path / "index", create=True) as storage:
        index_path(storage, tmp_path / "root", vectors=False)
        with storage.transaction() as connection:
            entry = next(entry for entry in manifest.entries(connection, "files") if entry.inline)
            manifest.drop(connection, [entry.name])
            with pytest.raises(SegmentMissingError):
                manifest.open_segment(connection, storage.path, entry)
