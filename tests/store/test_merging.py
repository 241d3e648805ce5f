"""Merging keeps the number of segments small with little rewriting, and changes no result."""

import random
import sqlite3
import threading
from itertools import count
from math import log

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sleuth.errors import StoreError
from sleuth.store import IN_MEMORY
from sleuth.store.catalogue import manifest, merging
from sleuth.store.catalogue.lock import WriterLock
from sleuth.store.store import Store
from tests.examples import examples
from tests.store.words import SumsLeg, add, faults, opened, put, put_passages, read


def simulate(batches: list[int]) -> tuple[int, int]:
    """Return the maximum number of segments, and how many rows merges wrote."""
    sizes: list[int] = []
    most = rows_written = 0
    for batch in batches:
        sizes.append(batch)
        while merge := merging.plan(sizes, sizes):
            first, last = merge
            sizes[first:last] = [sum(sizes[first:last])]
            rows_written += sizes[first]
        most = max(most, len(sizes))
    return most, rows_written


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(0, 2**32), st.sampled_from([1, 10, 1000, 100_000]))
@example(294, 100_000)
def test_few_segments_and_little_rewriting(seed: int, largest: int) -> None:
    """The number of segments and of writes per row grow with the logarithm of the rows, beside the largest segments.

    Those are two thirds of `MOST_ROWS` or more, less a batch.
    """
    rng = random.Random(seed)
    batches = [rng.randint(1, largest) for _ in range(800)]
    total = sum(batches)
    most, rows_written = simulate(batches)
    n_largest = 3 * total // (2 * (merging.MOST_ROWS - largest))
    shrinking = log(max(1.0, min(total, merging.MOST_ROWS) / merging.TINY_ROWS), 3)
    assert most <= 1 + merging.TINY + shrinking + 1 + n_largest
    levels = log(max(3.0, total / min(batches)), 1.5)
    assert rows_written <= total * (levels + merging.TINY_ROWS / merging.TINY / max(1, largest))


def test_large_segments_stay_apart() -> None:
    """Segments that would have more than `MOST_ROWS` rows together are not merged; those after them are."""
    half = merging.MOST_ROWS // 2
    assert merging.plan([half, half], [half, half]) == (0, 2)
    assert merging.plan([half + 1, half], [half + 1, half]) is None
    assert merging.plan([half, half, half], [half, half, half]) == (1, 3)


def test_segments_with_many_deleted_rows_are_rewritten() -> None:
    """A segment with more than a fifth of dead rows is rewritten, alone if necessary."""
    assert merging.plan([1000], [799]) == (0, 1)
    assert merging.plan([1000], [800]) is None
    assert merging.plan([100_000, 1000], [100_000, 100]) == (1, 2)
    assert merging.plan([5], [0]) == (0, 1)
    assert merging.plan([], []) is None


def test_deleted_rows_leave_segments_and_tombstones(store: Store) -> None:
    """After merging, no segment has more than a fifth of dead rows; after compacting, none has any."""
    with store.writer() as writer:
        put_passages(
            writer, [f"p{i:04}" for i in range(2000)], [f"text {i}" for i in range(2000)], ["00"] * 2000
        )
    with store.writer() as writer:
        writer.delete([f"p{i:04}" for i in range(0, 2000, 3)])
    store.wait()
    assert store.status().tombstones == 0
    with store.writer() as writer:
        writer.delete([f"p{i:04}" for i in range(1, 300, 3)])
    store.wait()
    status = store.status()
    assert (status.tombstones, status.legs[0].dead, status.legs[0].segments) == (100, 100, 1)
    store.compact()
    status = store.status()
    assert (status.tombstones, status.legs[0].dead, status.legs[0].segments) == (0, 0, 1)
    with store.writer() as writer:
        writer.delete([f"p{i:04}" for i in range(2000)])
    store.wait()
    assert store.status().legs[0].segments == 0
    assert read(store) == {}
    assert faults(store) == []
    assert list((store.path / "segments").iterdir()) == []


def test_a_busy_writer_publishes_merges_of_its_process(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge that finishes while a writer holds the lock is published by its next commit, and asks for no lock."""
    timeouts: list[float] = []
    acquire = WriterLock.acquire

    def noted(lock: WriterLock, timeout: float) -> None:
        timeouts.append(timeout)
        acquire(lock, timeout)

    monkeypatch.setattr(WriterLock, "acquire", noted)
    with store.writer() as writer:
        for i in range(200):
            put(writer, f"d{i}", "x")
            writer.commit()
            while i % 50 == 49 and store._merges._thread and not store._merges.ready:
                threading.Event().wait(0.001)
        assert store.status().legs[0].segments < 150
        assert timeouts == [10.0]
    store.wait()
    assert store.status().legs[0].segments <= merging.TINY + 1
    assert len(read(store)) == 200
    assert faults(store) == []


@pytest.mark.parametrize("place", ["COMMIT", "record.mark.write", "writing.transaction.Transaction._reset"])
def test_a_commit_that_fails_lets_its_merges_go(
    store: Store, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Where a commit fails with an unknown outcome, or Ctrl-C follows it, merging goes on, and nothing is lost."""
    monkeypatch.setattr(manifest, "INLINE_BYTES", 0)

    def interrupt(*_: object) -> None:
        patch.undo()
        raise KeyboardInterrupt

    with store.writer() as writer:
        names = (f"d{i}" for i in count())
        while not store._merges.ready:
            put(writer, next(names), "x")
            writer.commit()
        put(writer, "lost", "x")
        connection = writer.transaction.connection
        with monkeypatch.context() as patch, pytest.raises((StoreError, KeyboardInterrupt)):
            if place != "COMMIT":
                patch.setattr(f"sleuth.store.{place}", interrupt)
            connection.set_authorizer(lambda _, name, *__: sqlite3.SQLITE_DENY if name == place else 0)
            writer.commit()
        connection.set_authorizer(None)
    store.wait()
    store.close()
    with opened(store.path) as reopened:
        add(reopened, "last", "x")
        assert read(reopened).keys() >= {"d0#0", "last#0"} | ({"lost#0"} if place != "COMMIT" else set())
        assert faults(reopened) == []


def test_closing_leaves_few_segments(store: Store) -> None:
    """Closing a store finishes due merges, except after an error; then `wait` does it later."""

    class Slow(SumsLeg):
        """A leg that starts its first merge and continues it when the store is closed."""

        def merge(self, segments, scratch=IN_MEMORY):  # type: ignore[no-untyped-def]
            merges = reopened._merges
            started.set()
            while not (merges.stopping or merges.finishing):
                threading.Event().wait(0.001)
            return super().merge(segments, scratch)

    def load(reopened: Store, letter: str) -> None:
        for part in range(12):
            ids = [f"{letter}{part:02}{i:04}" for i in range(1200)]
            with reopened.writer() as writer:
                put_passages(writer, ids, ["x"] * len(ids), ["00"] * len(ids))
            if part:
                started.wait()

    started = threading.Event()

    def segments() -> int:
        with opened(store.path) as again:
            return again.status().legs[0].segments

    store.close()
    with pytest.raises(ZeroDivisionError), Store.open(store.path) as reopened:
        reopened.attach([Slow()])
        load(reopened, "a")
        _ = 1 / 0
    assert segments() == 11
    with opened(store.path) as reopened:
        reopened.wait()
    assert segments() <= 4
    with Store.open(store.path) as reopened:
        reopened.attach([Slow()])
        load(reopened, "b")
    assert segments() <= 4  # each less than half of the one before
    with opened(store.path) as reopened:
        assert faults(reopened) == []


def test_a_merge_that_fails_is_reported(store: Store) -> None:
    """An error in a background merge is raised by `wait`, is found by a check, and loses nothing."""

    class Failing(SumsLeg):
        def merge(self, segments, scratch=IN_MEMORY):  # type: ignore[no-untyped-def]
            raise RuntimeError("cannot merge")

    store.attach([Failing()])
    for i in range(10):
        add(store, f"d{i}", "x")
    with pytest.raises(RuntimeError, match="cannot merge"):
        store.wait()
    assert len(read(store)) == 10
