"""A writer that sends many small batches to another thread gives the same result as a sequential one."""

import threading
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sleuth.store import text_hash
from sleuth.store.store import Store
from sleuth.store.writing import transaction
from sleuth.types import Chunk
from tests.examples import examples
from tests.store.words import SumsLeg, add, faults, put, put_one, put_passages, read

NAMES = [f"d{i}" for i in range(6)]
TEXTS = st.lists(st.sampled_from(["x", "y\n", "ü" * 30, ""]), max_size=3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(NAMES), TEXTS),
        st.tuples(st.just("passages"), st.lists(st.sampled_from(NAMES), max_size=4), st.sampled_from("uvw")),
        st.tuples(st.just("delete"), st.lists(st.sampled_from(NAMES), max_size=3), st.none()),
        st.tuples(st.just("note"), st.sampled_from(NAMES), st.integers(1, 3)),
        st.tuples(st.sampled_from(["known", "commit", "rollback"]), st.none(), st.none()),
    ),
    max_size=12,
)
UNDONE: Any = [("put", "d0", []), *((kind, ["d0"], 0) for kind in ("commit", "delete", "known", "rollback"))]
history = st.lists(
    st.tuples(steps, st.booleans(), st.sampled_from(["", "", "reopen", "wait", "compact"])), max_size=8
)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every few characters a batch for the other thread."""
    monkeypatch.setattr(transaction, "BATCH_BYTES", 4)
    monkeypatch.setattr(transaction, "_WORTH_A_THREAD", 1)


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history, st.sampled_from([4, transaction.BATCH_BYTES]))
@example([(UNDONE, False, "")], 4)
def test_whatever_is_done(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[tuple[list[tuple[str, Any, Any]], bool, str]],
    batch_bytes: int,
) -> None:
    """Any sequence of puts, replacements, deletions, notes, commits and rollbacks, of abandoned blocks, merges and
    reopenings gives the contents of a dict.
    """
    model: dict[str, list[str]] = {}
    documents: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    committed_sizes: dict[str, int] = {}
    path = tmp_path_factory.mktemp("model") / "index"
    store = Store.open(path, create=True)
    store.attach([SumsLeg()])
    for steps, is_abandoned, then in history:
        with pytest.MonkeyPatch.context() as patch, suppress(InterruptedError), store.writer() as writer:
            patch.setattr(transaction, "BATCH_BYTES", batch_bytes)
            for kind, what, more in steps:
                if kind == "put":
                    assert put(writer, what, *more) == (model.get(what) != more)
                    model[what] = more
                elif kind == "passages":
                    texts = [f"{more}{name}" for name in what]
                    hashes = [text_hash(repr((text,))) for text in texts]
                    new = {name: [text] for name, text in zip(what, texts, strict=True)}
                    changes = {name for name, value in new.items() if model.get(name) != value}
                    assert put_passages(writer, what, texts, hashes) == len(changes)
                    model.update(new)
                elif kind == "delete":
                    deletions = [name for name in dict.fromkeys(what) if name in model]
                    assert writer.delete(what) == deletions
                    model = {name: parts for name, parts in model.items() if name not in deletions}
                elif kind == "note":
                    writer.note_file(what, size=more)
                    sizes[what] = more
                elif kind == "known":
                    assert writer.known(NAMES).keys() == model.keys()
                elif kind == "commit":
                    writer.commit()
                    documents, committed_sizes = dict(model), dict(sizes)
                elif kind == "rollback":
                    writer.transaction.rollback()
                    model, sizes = dict(documents), dict(committed_sizes)
                    assert writer.known(NAMES).keys() == model.keys()
            if is_abandoned:
                raise InterruptedError
            documents, committed_sizes = dict(model), dict(sizes)
        model, sizes = dict(documents), dict(committed_sizes)
        if then == "reopen":
            store.close()
            store = Store.open(path)
            assert store.attach([SumsLeg()]) == []
        elif then:
            getattr(store, then)()
        expected = {f"{name}#{i}": text for name, texts in model.items() for i, text in enumerate(texts)}
        assert read(store) == expected
        with store.reader() as snapshot:
            assert snapshot.counts().documents == len(model)
            assert {name: row.size for name, row in snapshot.files(NAMES).items()} == sizes
    assert faults(store) == []
    store.close()


def test_an_interruption_while_waiting_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C during a wait for the other thread, the next commit has everything that was put."""
    entered = threading.Event()
    build = SumsLeg.build

    class Slow(SumsLeg):
        def build(self, rows):  # type: ignore[no-untyped-def]
            entered.wait(60)
            return build(self, rows)

    store.attach([Slow()])
    wait, waits = transaction.Flight.wait, count(1)

    def interrupted(flight: transaction.Flight) -> None:
        entered.set()
        if next(waits) == 2:
            raise KeyboardInterrupt
        wait(flight)

    monkeypatch.setattr(transaction.Flight, "wait", interrupted)
    texts = [f"text {i}" for i in range(5)]
    with store.writer() as writer:
        ids = []
        try:
            for i, text in enumerate(texts):
                ids.append(f"p{i}#0")
                put(writer, f"p{i}", text)
        except KeyboardInterrupt:
            writer.commit()
    assert len(ids) < len(texts)
    assert list(read(store)) == ids
    assert faults(store) == []


@pytest.mark.parametrize("names", [["bad"], ["one", "bad", "more", "most"]], ids=["a commit", "batches"])
def test_a_leg_that_fails_leaves_nothing(store: Store, names: list[str]) -> None:
    """An error of a leg is raised at the next batch or commit, also from the other thread, and rolls all back."""

    class Failing(SumsLeg):
        def build(self, rows):  # type: ignore[no-untyped-def]
            if "bad" in rows.texts["text"]:
                raise RuntimeError("no")
            return super().build(rows)

    store.attach([SumsLeg(), Failing("failing")])
    with pytest.raises(RuntimeError, match="no"), store.writer() as writer:
        for name in names:
            put(writer, name, name)
    assert (store.version, read(store)) == (0, {})
    add(store, "two", "two")
    assert read(store) == {"two#0": "two"}
    assert faults(store) == []


def test_the_block_may_be_left_in_flight(store: Store) -> None:
    """An exception of the caller discards pending batches; no thread and no file is left."""
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError), store.writer() as writer:
        for i in range(20):
            put(writer, f"p{i}", "some text")
        _ = 1 / 0
    assert threading.active_count() <= before
    assert read(store) == {}
    assert faults(store) == []
    assert not list((Path(store.path) / "segments").iterdir())


passages = st.lists(
    st.fixed_dictionaries({
        "text": st.text(st.sampled_from("ab \né漢\0"), max_size=12),
        "source": st.sampled_from([None, "s", "ü.txt"]),
        "title": st.sampled_from(["", "T", "é"]),
        "metadata": st.sampled_from([None, {}, {"a": 1}, {"b": ["é"], "title": "other", "start_line": 3}]),
    }),
    max_size=8,
)  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(passages, st.booleans(), st.booleans(), st.booleans())
def test_passages_are_documents(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    sources: bool,
    titles: bool,
    metadata: bool,
) -> None:
    """Documents put as columns give the same record and legs as documents put one by one."""
    names = [f"é{i % 5}-{i}" for i in range(len(rows))]
    hashes = [text_hash(repr(row)) for row in rows]
    contents = []
    for at_once in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sleuth.store.health.opening.secrets.randbits", lambda _: 7)
            store = Store.open(tmp_path_factory.mktemp("index"), create=True)
        with store:
            store.attach([SumsLeg()])
            with store.writer() as writer:
                columns = {"sources": sources and [row["source"] for row in rows]}
                columns["titles"] = titles and [row["title"] for row in rows]
                columns["metadata"] = metadata and [row["metadata"] for row in rows]
                texts = [row["text"] for row in rows]
                if at_once:
                    given_columns = {name: column for name, column in columns.items() if column}
                    put_passages(writer, names, texts, hashes, **given_columns)
                for i, text in enumerate(() if at_once else texts):
                    one = {
                        name[:-1] if name != "metadata" else name: column[i]
                        for name, column in columns.items()
                        if column
                    }
                    chunk = Chunk(text, 0, len(text), 1, 1 + text.count("\n"))
                    put_one(writer, names[i], hashes[i], [chunk], **one)
            assert faults(store) == []
            with store._connection() as connection:
                contents.append([connection.execute("SELECT * FROM documents").fetchall()])
            with store.reader() as snapshot:
                contents[-1].append(snapshot.rows(range(1, len(rows) + 1)))
                contents[-1] += [view.arrays["sums"].tolist() for view in snapshot.segments("sums")]
    assert contents[0][:2] == contents[1][:2]
    assert [x for part in contents[0][2:] for x in part] == [x for part in contents[1][2:] for x in part]
