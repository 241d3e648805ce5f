"""Limits of the system and files that change while they are open raise Sleuth errors and lose nothing."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sleuth.code import CodeRetriever, index_path
from sleuth.code.snapshots import shelf
from sleuth.code.snapshots.health import check
from sleuth.engine import Engine, open_code
from sleuth.errors import ArgumentError, IndexDamagedError, SleuthError, StoreError
from sleuth.store.catalogue import manifest
from sleuth.store.store import Store
from sleuth.types import Document
from tests.code.conftest import write
from tests.commands import python
from tests.dense.strategies import HashEmbedder
from tests.faults.limiting import free_descriptors
from tests.store.words import SumsLeg, add, contents, faults, opened, read

ROWS = 2_000
"""So many that half of their segment is more than a page."""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an index whose segment is a file."""
    monkeypatch.setattr(manifest, "INLINE_BYTES", 0)
    with Store.open(tmp_path / "index", create=True) as store:
        store.attach([SumsLeg()])
        add(store, "a", *(["text"] * ROWS))
    return tmp_path / "index"


def test_too_many_open_files(path: Path) -> None:
    """Opening, reading and writing fail with a StoreError; nothing is reported as damaged or lost."""
    failures = 0
    for spare in range(0, 40, 4):
        try:
            with free_descriptors(spare), Store.open(path) as store:
                assert store.attach([SumsLeg()]) == []
                with store.reader() as snapshot:
                    assert len(contents(snapshot)) >= ROWS
                add(store, f"b{spare}", "more")
        except StoreError as error:
            assert not isinstance(error, IndexDamagedError), error
            failures += 1
    assert 0 < failures < 10
    with Store.open(path) as store:
        assert store.attach([SumsLeg()]) == []
        assert faults(store) == []


def test_a_segment_that_is_cut_off_under_a_reader(path: Path) -> None:
    """Reading a truncated segment raises an error instead of killing the process; opening again rebuilds it."""
    with opened(path) as store:
        with store.reader() as snapshot:
            assert len(contents(snapshot)) == ROWS
        (file,) = (path / "segments").glob("sums-*")
        os.truncate(file, 4096)
        with pytest.raises(IndexDamagedError, match="was cut off while it was open"), store.reader():
            pass
    with Store.open(path) as store:
        assert len(store.attach([SumsLeg()])) == 1
        with store.reader() as snapshot:
            assert len(contents(snapshot)) == ROWS


def cut_segments(folder: str) -> None:
    """Cut off each segment of an index while it is open, search and check the index, and print kinds of segments."""
    pytest.MonkeyPatch().setattr(manifest, "INLINE_BYTES", 0)
    pytest.MonkeyPatch().setattr(shelf, "SMALL", 0)
    index, embedder, kinds = Path(folder, "index"), HashEmbedder(), set()
    with Engine.open(index, create=True, embedder=embedder) as engine:
        engine.add([Document(f"word{i} common text {i % 7}", {"n": i}, id=f"d{i}") for i in range(200)])
    sources = ["".join(f"def refill_{i}_{j}(b): return b + {j}\n" for j in range(30)) for i in range(12)]
    root = write(Path(folder, "code"), {f"m{i}.py": source for i, source in enumerate(sources)})
    with open_code(index, create=True) as storage:
        repository = index_path(storage, root).repository
    for file in sorted(index.rglob("*.seg")):
        kinds.add(file.name.partition("-")[0])
        content = file.read_bytes()
        for length in (len(content) // 2, 0):
            with Engine.open(index, embedder=embedder) as engine, open_code(index) as storage:
                retrieve = CodeRetriever(storage, None).retrieve
                calls: list[Callable[[], object]] = [
                    partial(engine.search, "common word7", mode="lexical"),
                    partial(engine.search, "common word7", mode="dense"),
                    partial(engine.search, "common", filter="n>17"),
                    partial(retrieve, "refill_3_4", repository, strategy="keyword"),
                    partial(engine.check, full=True),
                    partial(check, storage, full=True),
                ]
                opened_segments = [search() for search in calls[:4]]
                os.truncate(file, length)
                failures = 0
                for call in calls:
                    try:
                        call()
                    except SleuthError:
                        failures += 1
                assert failures, (file, opened_segments)
            file.write_bytes(content)
    print(*sorted(kinds))


def test_every_kind_of_segment_that_is_cut_off_under_a_reader(tmp_path: Path) -> None:
    """No truncated segment of documents or code kills a process that searches or checks it."""
    program = "import sys; from tests.faults.test_limits import cut_segments; cut_segments(sys.argv[1])"
    run = python(program, tmp_path)
    assert run.stdout.split() == ["chunks", "columns", "dense", "files", "lexical", "passages"], run.stderr


def test_a_record_that_is_cut_off_under_a_reader(path: Path) -> None:
    """Reading beside a truncated record gives the texts that were written or an error, and ends no process."""
    with opened(path) as store:
        assert store._database.checkpoint(force=True)
        store.wait()  # a merge in the background would find the record cut off
        whole = (path / "record.sqlite").read_bytes()
        texts = read(store)
        for length in (len(whole) // 2, 8192, 0):
            os.truncate(path / "record.sqlite", length)
            with suppress(IndexDamagedError):
                assert read(store) == texts
            with pytest.raises(IndexDamagedError), Store.open(path) as other, other.reader() as snapshot:
                list(snapshot.documents())
        (path / "record.sqlite").write_bytes(whole)
        assert read(store) == texts


CUT_WHILE_READING = """
import os, sys
from sleuth.errors import IndexDamagedError
from sleuth.store.store import Store
from tests.store.words import SumsLeg, put
with Store.open(sys.argv[1]) as store:
    store.attach([SumsLeg()])
    with store.writer() as writer:
        for i in range(5000):
            put(writer, f"b{i}", "more text")
    assert store._database.checkpoint(force=True)
with Store.open(sys.argv[1]) as store:
    store.attach([SumsLeg()])
    try:
        with store.reader() as snapshot:
            os.truncate(os.path.join(sys.argv[1], "record.sqlite"), 16384)
            list(snapshot.documents())
    except IndexDamagedError as error:
        print(error)
"""


def test_a_record_that_is_cut_off_in_the_middle_of_a_read(path: Path) -> None:
    """A read that has begun is an error, too, and does not end the process, as reading a mapped page would."""
    ran = python(CUT_WHILE_READING, path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "is damaged" in ran.stdout


def _change(statement: str, *values: Any) -> Callable[[sqlite3.Connection], None]:
    def change(connection: sqlite3.Connection) -> None:
        connection.execute(statement, values)

    return change


ODD_VALUES = [None, "x", b"x", -1, 1.5, (1 << 63) - 1]
ODD_STATE = [
    *(
        _change(f"UPDATE state SET {column} = ?", value)
        for column in ("version", "generation", "next_key", "documents", "chunks")
        for value in ODD_VALUES
        if value is not None
    ),
    _change("DELETE FROM state"),
    _change("DROP TABLE state"),
    _change("DELETE FROM meta"),
    *(
        _change("UPDATE meta SET value = ? WHERE name = 'settings'", value)
        for value in ("[]", "{", "null", "5", "[" * 100_000, b"x", 5, '{"analyzer": 5}', '{"analyzer": "none"}',
                      '{"k1": "x"}', '{"embedder": 7}', '{"embedder": "no:such"}', '{"unknown": []}',
                      '{"chunk_size": -1}', '{"title_weight": 1e99}')
    ),
    *(
        _change(f"UPDATE segments SET {column} = ?", value)
        for column in ("name", "leg", "fingerprint", "first", "last", "rows", "bytes", "checksum", "inline")
        for value in (*ODD_VALUES[1:], "../outside-1-1-0123456789ab")
    ),
]  # fmt: skip


@pytest.mark.parametrize("change", ODD_STATE)
def test_odd_values_in_a_record(tmp_path: Path, change: Callable[[sqlite3.Connection], None]) -> None:
    """An index with settings, state and manifest of any type and value opens or raises a Sleuth error."""
    path = tmp_path / "index"
    with Engine.open(path, create=True, embedder="") as engine:
        engine.add([Document("Tokens are refilled every second.", id="guide")])
    with sqlite3.connect(path / "record.sqlite") as connection:
        try:
            change(connection)
        except sqlite3.IntegrityError:
            pytest.skip("the schema itself refuses it")
    connection.close()
    for _ in range(2):
        try:
            with Engine.open(path) as engine:
                engine.retrieve("tokens")
                engine.status()
                engine.check(full=True)
                engine.add([Document("More tokens.", id="more")])
                engine.repair()
        except (StoreError, ArgumentError):
            pass
