"""Damage that nobody has met yet is found while a store is open, and never merged."""

from __future__ import annotations

import sqlite3
import threading
import time
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sleuth.store import DOCUMENTS, ProofNotes, Store
from sleuth.store.catalogue import building, manifest, watch
from sleuth.store.health import proofs
from tests.store.words import SumsLeg, contents, put
from tests.waiting import wait_until

WHOLE = {f"{letter}#{n}": f"text {letter}" for letter in "ab" for n in range(500)}


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index of two segments, of which one has a changed byte that opening it does not meet."""
    monkeypatch.setattr(building, "INLINE_BYTES", 0)
    path = tmp_path / "index"
    for letter in "ab":
        with Store.open(path, create=True) as store:
            store.attach([SumsLeg()])
            with store.writer() as writer:
                put(writer, letter, *([f"text {letter}"] * 500))
            store._merges.stopping = True
    file = sorted((path / "segments").iterdir())[0]
    data = bytearray(file.read_bytes())
    data[-5] ^= 4
    file.write_bytes(data)
    return path


def test_an_open_store_finds_damage(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that stays open proves its segments; its status reports a damaged one, which is no longer read."""
    monkeypatch.setattr(watch, "PATIENCE", 0.0)
    with Store.open(damaged) as store:
        assert store.attach([SumsLeg()]) == []
        assert store.status().damage == ()
        until = time.monotonic() + 60
        while not store.status().damage and time.monotonic() < until:
            with store.reader():
                time.sleep(0.01)
        (message,) = store.status().damage
        assert "sums not as written" in message
        with store.reader() as snapshot:
            assert contents(snapshot) == WHOLE
        assert "sums not as written" in " ".join(repair.why for repair in store.repair())
        assert store.status().damage == ()
    assert "sleuth-watch" not in {thread.name for thread in threading.enumerate()}


def test_an_open_store_finds_damaged_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that stays open compares its rows with their checksums, and its status names those that were changed."""
    monkeypatch.setattr(watch, "PATIENCE", 0.0)
    monkeypatch.setattr(watch, "SHARE", 1e9)
    path = tmp_path / "index"
    with Store.open(path, create=True) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            for n in range(500):
                put(writer, f"d{n:03}", f"text {n}", "more")
    with sqlite3.connect(path / "record.sqlite") as connection:
        connection.execute(
            "UPDATE chunks SET line = 7 WHERE key = (SELECT key + 1 FROM documents WHERE id = 'd321')"
        )
    connection.close()
    with Store.open(path) as store:
        assert store.attach([SumsLeg()]) == []
        with store.reader():
            pass
        wait_until(lambda: store._watch._thread is None)
        (damage,) = store.status().damage
        assert damage.startswith("1 documents are not as they were written: 'd321'; `sleuth doctor --repair`")
        assert ["d321" in repair.what for repair in store.repair()] == [True]
        assert store.status().damage == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "UPDATE embeddings SET vector = x'00' WHERE key = 450",
            "1 cached vectors are not as they were written",
        ),
        ("UPDATE embeddings SET vector = 7 WHERE key = 450", "1 cached vectors are not as they were written"),
    ],
)
def test_an_open_store_finds_damaged_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, message: str
) -> None:
    """A store that stays open looks at all cached vectors, too."""
    monkeypatch.setattr(watch, "PATIENCE", 0.0)
    monkeypatch.setattr(watch, "SHARE", 1e9)
    path = tmp_path / "index"
    with Store.open(path, create=True) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            put(writer, "a", "text")
            writer.put_embeddings("model", {f"{n:04x}": bytes(64) for n in range(500)})
    with sqlite3.connect(path / "record.sqlite") as connection:
        assert connection.execute(change).rowcount == 1
    connection.close()
    with Store.open(path) as store:
        store.attach([SumsLeg()])
        with store.reader():
            pass
        wait_until(lambda: store._watch._thread is None)
        (damage,) = store.status().damage
        assert damage.startswith(message)
        assert "`sleuth doctor --repair`" in damage


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE state SET chunks = 7", "record: it counts 1 documents and 7 chunks"),
        ("INSERT INTO tombstones VALUES (1, 1)", "sums: 1 of 1 chunks are in no sound segment"),
        ("DELETE FROM segments", "sums: 1 of 1 chunks are in no sound segment"),
    ],
)
def test_an_open_store_finds_damaged_structure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, message: str
) -> None:
    """A store that stays open looks at counters and at what segments cover, too."""
    monkeypatch.setattr(watch, "SHARE", 1e9)
    path = tmp_path / "index"
    with Store.open(path, create=True) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            put(writer, "a", "text")
    with Store.open(path) as store:
        store.attach([SumsLeg()])
        with closing(sqlite3.connect(path / "record.sqlite")) as connection:
            connection.executescript(change)
        store._watch._due = 0.0
        with store.reader():
            pass
        wait_until(lambda: store._watch._thread is None)
        (damage,) = store.status().damage
        assert message in damage
        assert "`sleuth doctor --repair" in damage


def test_nothing_is_proven_beside_a_writer(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a store writes, its proof waits, and the time does not count as time for which it was open."""
    monkeypatch.setattr(watch, "PATIENCE", 0.0)
    with Store.open(damaged) as store:
        assert store.attach([SumsLeg()]) == []
        with store._writing(1.0):
            for _ in range(20):
                with store.reader():
                    time.sleep(0.01)
            assert store._watch._thread is None
            before = store._watch._opened
        assert store._watch._opened >= before + 0.2
        assert store.status().damage == ()
        with store.reader():
            pass
        wait_until(lambda: bool(store.status().damage))


def test_a_proof_that_runs_waits_for_a_writer(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that has begun goes on after the writer, and a store that is closed meanwhile does not wait for it."""
    monkeypatch.setattr(watch, "PATIENCE", 0.0)
    with Store.open(damaged) as store:
        assert store.attach([SumsLeg()]) == []
        with store._watch.postponed():
            store._watch._thread = threading.Thread(target=store._watch._run, args=(store._watch._names(),))
            store._watch._thread.start()
            time.sleep(0.1)
            assert store.status().damage == ()
            store._watch.stop()
        assert store.status().damage == ()


def test_a_store_that_was_just_opened_waits_with_its_proof(damaged: Path) -> None:
    """One answer does not wait for, or pay for, a proof of the whole index."""
    with Store.open(damaged) as store:
        store.attach([SumsLeg()])
        for _ in range(3):
            with store.reader():
                assert store._watch._thread is None


@pytest.mark.parametrize(("share", "count"), [(1e9, 1), (0.0, 0)])
def test_one_answer_pays_for_a_glance(
    damaged: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    share: float,
    count: int,
) -> None:
    """A store that is closed soon proves what a share of its time allows, and logs damage with the remedy."""
    monkeypatch.setattr(watch, "SHARE", share)
    store = Store.open(damaged)
    store.attach([SumsLeg()])
    with store.reader() as snapshot:
        assert len(snapshot.segments("sums")) == 2
    for _ in range(2):  # closing twice is fine
        store.close()
    messages = [record.getMessage() for record in caplog.records if record.name == "sleuth.damage"]
    assert len(messages) == count
    assert all("sums not as written; `sleuth doctor --repair`" in message for message in messages)


def test_a_glance_ends_with_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a twentieth of the time for which it was open, a watch looks at no further piece."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    names: list[str] = []

    def prove(name: str, pause: Callable[[int], object]) -> bool:
        nonlocal now
        for _ in range(10):
            pause(1 << 20)
            names.append(name)
            now += 0.001
        return True

    once = watch.Watch(prove, lambda _: "", {}, ProofNotes(tmp_path, DOCUMENTS, lambda _: None))
    once.see(object(), lambda: {"a", "b"})
    now += 0.26
    once.stop()
    assert len(names) == 13
    assert len(set(names)) == 2


def test_commands_together_look_at_every_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one glance has time for one of many segments, glances begin with different ones."""
    clock = iter(range(10**9))
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(clock) * 1000)
    monkeypatch.setattr(watch, "SHARE", 0.0)
    names = set()

    def prove(name: str, pause: Callable[[int], object]) -> bool:
        names.add(name)
        pause(0)
        return True

    for _ in range(8):
        once = watch.Watch(prove, lambda _: "", {}, ProofNotes(tmp_path, DOCUMENTS, lambda _: None))
        once.see(object(), lambda: set("abcdefgh"))
        once.stop()
    assert names == set("abcdefgh")


def test_damage_is_not_merged(damaged: Path) -> None:
    """A merge reads what it merges first: damaged bytes would get a checksum that fits them."""
    with Store.open(damaged) as store:
        store.attach([SumsLeg()])
        store.compact()
        (message,) = store.status().damage
        assert "sums not as written" in message
        with store.reader() as snapshot:
            assert contents(snapshot) == WHOLE
        store.repair()
        store.compact()
        assert store.status().damage == ()
        assert len(list((damaged / "segments").iterdir())) == 1
        with store.reader() as snapshot:
            assert contents(snapshot) == WHOLE


def test_closing_ends_a_proof(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store is closed in the middle of a proof that would take minutes."""
    monkeypatch.setattr(watch, "PATIENCE", 0.0)
    monkeypatch.setattr(watch, "RATE", 1)
    with Store.open(damaged) as store:
        store.attach([SumsLeg()])
        with store.reader():
            assert store._watch._thread is not None
        began = time.monotonic()
    assert time.monotonic() - began < 60
    assert "sleuth-watch" not in {thread.name for thread in threading.enumerate()}


def test_a_proof_gives_its_memory_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of a proof ends with freed memory going back to the system: searches keep none of it."""
    events: list[str] = []
    monkeypatch.setattr(proofs, "trim", lambda: events.append("trim"))
    with Store.open(tmp_path / "index", create=True) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            put(writer, "a", "text")
        checks = store._checks()
        assert not proofs.prove(checks, lambda _: events.append("part"))
    assert events[-1] == "trim"
    assert events.count("trim") == 2 + len(checks.tables)
    assert "part" in events


def test_a_check_makes_no_object_for_each_document(tmp_path: Path) -> None:
    """A check that reads the keys of all documents takes a few numbers for each; objects would take 150 bytes."""
    with Store.open(tmp_path / "index", create=True) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            for n in range(4_000):
                put(writer, f"d{n:04}", "text")
        with store._checks().connections() as connection:
            tracemalloc.start()
            try:
                keys = manifest.record_keys(connection, 1, proofs.END)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
    assert len(keys) == 4_000
    assert peak < 100 * len(keys)
