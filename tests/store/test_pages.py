"""Rows are read from the mapped file of the record as SQLite reads them, and SQLite is asked for the others."""

from __future__ import annotations

import gc
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sleuth.errors import IndexDamagedError
from sleuth.store import IndexSnapshot, text_hash
from sleuth.store.record.pages import RecordFile
from sleuth.store.store import Store
from sleuth.types import Chunk
from tests.examples import EXPLORING
from tests.faults.proof import ROOT
from tests.store.words import SumsLeg

NUMBERS = (0, 1, -1, 127, 128, -129, 40_000, 1 << 23, -(1 << 31), 1 << 40, -(1 << 55), (1 << 62))


def fill(store: Store, documents: int) -> None:
    """Put documents of none to three chunks with values of all sizes."""
    with store.writer() as writer:
        for i in range(documents):
            chunks = [
                Chunk(f"text {i} {n} é漢" * (1 + 7 * (i % 40)), NUMBERS[i % 12] % 99, 9, 1 + i, 1 + i + n)
                for n in range(i % 4)
            ]
            metadata = {"n": NUMBERS[i % 12]} if i % 3 else {}
            writer.put(
                f"document {i}", text_hash(str(i)), chunks, metadata=metadata, size=abs(NUMBERS[i % 12])
            )


def settle(store: Store) -> None:
    """Copy the log into the file of the record."""
    store.wait()
    assert store._database.checkpoint(force=True)


def keys_of(snapshot: IndexSnapshot) -> list[int]:
    keys = snapshot._connection.execute("SELECT key FROM chunks ORDER BY key").fetchall()
    return [key for (key,) in keys]


def by_pages(snapshot: IndexSnapshot) -> int:
    """Return how many chunks the mapped file gives, after each was compared with what SQLite says."""
    connection = snapshot._connection
    rows = connection.rows_on_pages(keys_of(snapshot))
    expected = connection.execute(
        "SELECT * FROM chunks c JOIN documents d ON d.key = c.key - c.n ORDER BY c.key"
    )
    by_key = {row[0]: row for row in expected}
    for row in rows:
        assert row == by_key[row[0]]
        assert list(map(type, row)) == list(map(type, by_key[row[0]]))
    return len(rows)


def test_the_values_are_those_of_sqlite(store: Store) -> None:
    """Nothing is read while there is a log, and after a checkpoint all but rows that need several pages."""
    fill(store, 600)
    with store.reader() as snapshot:
        n = len(keys_of(snapshot))
        assert by_pages(snapshot) == 0
    settle(store)
    with store.reader() as snapshot:
        assert by_pages(snapshot) == n
        assert snapshot._connection.rows_on_pages([-5, 0, n * 9, 1 << 62]) == []
    with store.writer() as writer:
        writer.put("long", text_hash("long"), [Chunk("x" * 9000, 0, 9000, 1, 1)])
    with store.reader() as snapshot:
        assert by_pages(snapshot) == 0
        with store.writer() as writer:  # this reader sees the version before
            writer.touch("long", size=5, modified_ns=7)
            writer.delete(["document 1"])
        assert len(snapshot.rows(keys_of(snapshot))) == n + 1
    with store.reader() as snapshot:
        assert len(snapshot.rows(keys_of(snapshot))) == n
        assert snapshot._connection.rows_on_pages([2]) == []
    settle(store)
    n -= 1
    with store.reader() as snapshot:
        assert by_pages(snapshot) == n
        assert len(snapshot.rows(keys_of(snapshot))) == n + 1


def test_tables_that_have_moved(tmp_path: Path) -> None:
    """A compaction moves the tables: an index that is open finds them again."""
    with Store.open(tmp_path / "index", create=True, settings={}) as store:
        store.attach([SumsLeg()])
        fill(store, 2000)
        settle(store)
        with store.reader() as snapshot:
            assert by_pages(snapshot) == len(keys_of(snapshot))
        with store.writer() as writer:
            writer.delete([f"document {i}" for i in range(1500)])
        store.compact()
        with store.reader() as snapshot:
            assert by_pages(snapshot) == len(keys_of(snapshot)) > 0


def test_a_damaged_row_is_reported(store: Store) -> None:
    """A byte that changed in the file is found by the checksum, as SQLite's rows are."""
    fill(store, 50)
    settle(store)
    store._database.readers._drain()
    path = store.path / "record.sqlite"
    data = path.read_bytes()
    place = data.index(b"text 3 2 ")
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"T")
    with store.reader() as snapshot, pytest.raises(IndexDamagedError, match="document 3#2"):
        snapshot.rows(keys_of(snapshot))


def made_index(path: Path, documents: int) -> tuple[dict[str, int], list[int]]:
    """Make an index and close it; return the first pages of its tables, and the keys of its passages."""
    with Store.open(path, create=True, settings={}) as store:
        fill(store, documents)
        settle(store)
        with store.reader() as snapshot:
            tables = dict(snapshot._connection.execute("SELECT name, rootpage FROM sqlite_master"))
            return tables, keys_of(snapshot)


def test_any_bytes(tmp_path: Path) -> None:
    """A file with other bytes gives other rows or none, and ends nothing."""
    tables, keys = made_index(tmp_path / "index", 300)
    whole = (tmp_path / "index" / "record.sqlite").read_bytes()
    rng = random.Random(3)
    roots = [(tables["chunks"], tables["documents"]), (2, 1), (len(whole) >> 13, 0xFFFFFFFF)]
    for round in range(80):
        data = bytearray(whole)
        if round % 4 == 0:  # pages that lead to each other
            for page in (tables["chunks"], tables["documents"]):
                place = (page - 1) * 8192
                data[place : place + 14] = bytes([5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, page, 31, 240])
                data[place + 31 * 256 + 240 :][:4] = bytes([0, 0, 0, page])
        for _ in range(1 << round % 14):
            data[
                rng.choice(
                    [
                        rng.randrange(100, len(data)),
                        rng.randrange(len(data) // 8192) * 8192 + rng.randrange(40),
                    ]
                )
            ] = rng.choice([0, 5, 13, 127, 128, 255, rng.randrange(256)])
        path = tmp_path / f"{round}"
        path.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        file = RecordFile(os.open(path, os.O_RDONLY))
        for chunks, documents in roots:
            file.knows_tables()
            file.use_tables(chunks, documents)
            if file.knows_tables():
                edges = [0, -1, 1 << 31, 1 << 32, (1 << 63) - 1, -(1 << 63)]
                assert all(len(row) == 20 for row in file.rows([*keys, *edges]))


def test_pages_are_given_back(tmp_path: Path) -> None:
    """Of a large file few pages stay mapped, and its rows stay the same."""
    tables, keys = made_index(tmp_path / "index", 3000)
    path = tmp_path / "large"
    path.write_bytes((tmp_path / "index" / "record.sqlite").read_bytes())
    os.truncate(path, 300 << 20)

    def resident() -> int:
        """Return how many kB of the file are mapped."""
        _, _, facts = Path("/proc/self/smaps").read_text().partition(f"{path}\n")
        return int(facts.partition("Rss:")[2].split()[0])

    file = RecordFile(os.open(path, os.O_RDONLY))
    file.knows_tables()
    file.use_tables(tables["chunks"], tables["documents"])
    assert file.knows_tables()
    rows = file.rows(keys)
    assert len(rows) == len(keys)
    much = resident()
    assert file.rows(keys[:1] * 2100) == rows[:1] * 2100
    assert 0 < resident() < much / 2
    assert file.rows(keys) == rows


CHANGES = """
import sys
from pathlib import Path
from sleuth.store.store import Store
from tests.store.test_pages import fill
with Store.open(sys.argv[1]) as store:
    print("ready", flush=True)
    for _ in range(int(sys.argv[2])):
        fill(store, 900)
        store._database.checkpoint(force=True)
        with store.writer() as writer:
            writer.delete([f"document {i}" for i in range(20, 900)])
        store.compact()
        store.repair()
"""
"""Makes the file of the record longer and shorter, again and again."""


def test_a_record_that_another_process_shortens(tmp_path: Path) -> None:
    """Another process deletes, compacts and repairs: each read gives whole rows, and none ends this process."""
    folder = tmp_path / "index"
    with Store.open(folder, create=True, settings={}) as store:
        fill(store, 20)
        settle(store)
        command = [sys.executable, "-c", CHANGES, str(folder), "60" if EXPLORING else "5"]
        reads = on_pages = 0
        lengths = set[int]()
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as changes:
            assert changes.stdout and changes.stdout.readline() == "ready\n"
            while changes.poll() is None:
                with store.reader() as snapshot:
                    keys = keys_of(snapshot)
                    rows = snapshot._connection.rows_on_pages(keys)
                    on_pages += len(rows) > 0
                    assert len(rows) in (0, len(keys))
                    assert [row.key for row in snapshot.rows(keys)] == keys
                reads += 1
                lengths.add((folder / "record.sqlite").stat().st_size)
        assert changes.returncode == 0
        assert len(lengths) > 1
        assert reads > on_pages > 0


def test_an_index_that_nobody_writes(tmp_path: Path) -> None:
    """Without a log at hand, as on a read-only disk, rows are read from pages as well."""
    folder = tmp_path / "index"
    with Store.open(folder, create=True, settings={}) as store:
        fill(store, 40)
        settle(store)
    with Store.open(folder, immutable=True) as store, store.reader() as snapshot:
        assert by_pages(snapshot) == len(keys_of(snapshot)) == 60


LOCKED = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
"""
"""Takes the lock on a database that SQLite's last connection takes, before it removes the log."""


def is_locked(record: Path) -> bool:
    """Return whether another process cannot take that lock."""
    command = [sys.executable, "-c", LOCKED, str(record)]
    return subprocess.run(command, check=False, capture_output=True).returncode != 0


def test_locks_of_sqlite_stay_when_the_record_became_shorter(tmp_path: Path) -> None:
    """A reader reads the header of a record that became shorter, and the locks on it stay."""
    folder = tmp_path / "index"
    with Store.open(folder, create=True, settings={}) as store:
        fill(store, 400)
        settle(store)
        before = (folder / "record.sqlite").stat().st_size
        with store.reader() as snapshot:
            ids = [document.id for document in snapshot.documents()]
        with store.writer() as writer:
            writer.delete(ids)
        store.compact()
        assert (folder / "record.sqlite").stat().st_size < before
        with store.reader():
            assert is_locked(folder / "record.sqlite")


def test_locks_of_sqlite_stay(tmp_path: Path) -> None:
    """One of two stores is closed: the locks of the other stay, because the file is open until both are closed."""
    folder = tmp_path / "index"
    record = folder / "record.sqlite"

    def read(store: Store) -> None:
        with store.reader() as snapshot:
            assert by_pages(snapshot) == 6

    with Store.open(folder, create=True, settings={}) as store:
        fill(store, 4)
    with Store.open(folder) as first, Store.open(folder) as second:
        read(first)
        read(second)
        first.close()
        del first
        gc.collect()
        assert is_locked(record)
        read(second)
    del second
    gc.collect()
    assert not is_locked(record)
    assert str(record) not in {os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()}
    with closing(sqlite3.connect(record)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
