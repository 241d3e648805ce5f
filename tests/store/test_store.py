"""The store keeps documents complete, shows one version at a time, and skips unchanged content."""

import os
import sqlite3
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sleuth.errors import ArgumentError, IndexDamagedError, IndexLockedError, IndexNotFoundError, StoreError
from sleuth.store import DocumentBatch, IndexSnapshot, KnownFile, text_hash
from sleuth.store.catalogue import erasing, manifest
from sleuth.store.passages.records import coded
from sleuth.store.store import Store
from sleuth.types import Chunk
from tests.commands import python, run_in_child
from tests.examples import examples
from tests.store.words import SumsLeg, add, contents, faults, live, opened, put, put_passages, read

UNMISTAKABLE = "unmistakable text"
CODED = coded(UNMISTAKABLE.encode())
"""How a segment holds it."""


def test_a_document_comes_back_whole(store: Store) -> None:
    """Texts, places, fields and metadata are returned as they were put."""
    chunks = [
        Chunk("Zwölf\n", 0, 6, 1, 2, page=3, fields={"heading": "A > B"}, metadata={"kind": "x", "n": 1}),
        Chunk("\0 \U0001f600", 6, 9, 2, 2),
    ]
    batch, more = DocumentBatch(), {"tags": ("u", 2.5), "kind": "doc"}
    batch.add("a", "00ff", chunks, metadata=more, source="s/a.txt", title="T")
    with store.writer() as writer:
        assert writer.put_batch(batch) == 1
    with store.reader() as snapshot:
        first, second = snapshot.chunks_of("a")
        document = snapshot.document("a")
        assert snapshot.neighbours(first.key, 1, 1) == [first, second]
        assert snapshot.key_of("a#1") == second.key
    place = (first.text, first.start, first.end, first.start_line, first.end_line, first.page)
    assert place == ("Zwölf\n", 0, 6, 1, 2, 3)
    assert first.fields == {"heading": "A > B"}
    assert first.metadata == {
        "source": "s/a.txt", "title": "T", "heading": "A > B", "page": 3, "start_line": 1, "end_line": 2,
        "tags": ["u", 2.5], "kind": "x", "n": 1,
    }  # fmt: skip
    assert (second.id, second.text, second.n, second.metadata["kind"]) == ("a#1", "\0 \U0001f600", 1, "doc")
    assert document is not None
    facts = (document.source, document.title, document.content_hash, document.chunks)
    assert facts == ("s/a.txt", "T", "00ff", 2)
    assert faults(store) == []


def test_unchanged_content_costs_nothing(store: Store) -> None:
    """A document with the stored hash is not written, and makes no new version."""
    with store.writer() as writer:
        assert put(writer, "a", "one")
        version = writer.commit()
        assert not put(writer, "a", "one")
        assert writer.commit() == version
        assert put_passages(writer, ["b"], ["two"], [text_hash("two")]) == 1
        assert put_passages(writer, ["b"], ["two"], [text_hash("two")]) == 0
    assert store.version == version + 1


def test_files_are_noted_without_a_new_version(store: Store) -> None:
    """Facts of a file are laid over those that are noted; the same ones are no commit, and none forget the file."""
    names = ["docs", "docs-1/a", "docs/a", "docs/é", "/away", "docs0"]
    with store.writer() as writer:
        put(writer, "a", "one")
        for name in names:
            writer.note_file(name, size=3, version="1")
        writer.note_file("docs", options="{}")
    with store.writer() as writer:
        writer.note_file("docs/a", version="2", skips="[]")
        writer.note_file("/away", size=0, version=None)
    with store.reader() as snapshot:
        generation = snapshot.generation
        assert snapshot.files([*names, "absent"])["docs/a"] == KnownFile("docs/a", 0, 0, 3, "2", skips="[]")
        assert [row.name for row in snapshot.noted_files()] == ["docs", "docs/a"]
        assert sorted(snapshot.file_names("docs")) == ["docs", "docs/a", "docs/é"]
        assert (len(list(snapshot.file_names(""))), list(snapshot.file_names("/"))) == (5, [])
    with store.writer() as writer:
        writer.note_file("docs/a", version="2")
    with store.reader() as snapshot:
        assert (snapshot.generation, store.version) == (generation, 1)
    with store._connection(write=True) as connection:
        connection.execute("UPDATE files SET size = 4 WHERE name = 'docs/a'")
    assert [finding.subject for finding in store.check(full=True) if finding.level == "error"] == ["record"]
    with store.reader() as snapshot:
        assert snapshot.files(["docs/a"]) == {}
    assert [repair.what for repair in store.repair()] == ["files"]
    assert faults(store) == []


def test_leaving_by_an_exception_discards(store: Store) -> None:
    """An exception in the block discards uncommitted changes, and the next writer works."""
    with pytest.raises(ZeroDivisionError), store.writer() as writer:
        put(writer, "a", "kept")
        writer.commit()
        put(writer, "b", "lost")
        writer.known(["b"])
        assert read(store) == {"a#0": "kept"}  # a reader does not wait for a writer
        raise ZeroDivisionError
    with pytest.raises(StoreError, match="this writer is done"):
        put(writer, "c", "late")
    add(store, "d", "next")
    assert read(store) == {"a#0": "kept", "d#0": "next"}
    assert faults(store) == []


def test_a_snapshot_never_changes(store: Store) -> None:
    """A reader sees its version until the end, whatever is committed, deleted and merged meanwhile."""
    for i in range(8):
        add(store, f"d{i}", f"text {i}")
    with store.reader() as snapshot:
        before = contents(snapshot)
        for i in range(8):
            with store.writer() as writer:
                put(writer, f"d{i}", "new")
                writer.delete([f"d{i - 1}"])
            with store.reader() as newer:
                assert newer.version == snapshot.version + i + 1
                assert [row.text for row in newer.chunks_of(f"d{i}")] == ["new"]
            assert [row.text for row in snapshot.chunks_of(f"d{i}")] == [f"text {i}"]
        store.wait()
        store.compact()
        assert contents(snapshot) == before
        assert snapshot.counts().documents == len(before) == 8
    with opened(store.path) as other, other._database.connection() as connection:
        add(store, "d8", "last")
        generation, version = connection.hold()  # it is read after another thread has read a newer one
        with store.writer() as writer:
            writer.delete(["d8"])
        assert read(other) == {"d7#0": "new"}
        late = IndexSnapshot(connection, version, other._views.at(connection, generation))
        assert contents(late) == {"d7#0": "new", "d8#0": "last"}


def test_views_are_cached_and_read_only(store: Store) -> None:
    """An unchanged version returns the same views, with read-only arrays."""
    with store.writer() as writer:
        put(writer, "b", "one")
        put(writer, "a", "two")
    with store.reader() as snapshot:
        views = snapshot.segments("sums")
    with store.reader() as snapshot:
        assert snapshot.segments("sums") is views
        with pytest.raises(KeyError):
            snapshot.segments("unheard")
    (view,) = views
    arrays = (view.keys, view.tie_ranks, view.arrays["sums"])
    assert not any(array.flags.writeable for array in arrays if array is not None)
    assert view.tie_ranks is not None
    assert view.tie_ranks.tolist() == [1, 0]


def test_ids_are_any_text(store: Store) -> None:
    """Ids may contain quotes, marks, NUL and other planes; a lone surrogate is refused and named."""
    names = ["'; DROP TABLE chunks; --", "a#1", "a", "a#1#0", "\0", "\U0001f600", "", "ß" * 500]
    with store.writer() as writer:
        for name in names:
            put(writer, name, f"text of {name}")
        assert set(writer.known(names)) == set(names)
        for argument in ("\ud800", "a\udfff"):
            with pytest.raises(ArgumentError, match="lone surrogates"):
                put(writer, argument, "text")
            with pytest.raises(ArgumentError, match="lone surrogates"):
                put(writer, "x", argument)
            with pytest.raises(ArgumentError, match="texts must be text without lone surrogates"):
                put_passages(writer, ["x", "y"], ["fine", argument], ["00", "00"])
    assert read(store) == {f"{name}#0": f"text of {name}" for name in names}
    with store.reader() as snapshot:
        for name in names:
            key = snapshot.key_of(f"{name}#0")
            assert key is not None
            assert snapshot.order([key]) == [(name, 0)]
        for name in ("a#2", "a#", "a#-1", "a#01", "#", "a", "a#" + "9" * 40, "a#²"):
            assert snapshot.key_of(name) is None


@pytest.mark.parametrize("metadata", [{"x": object()}, {"x": "\ud800"}, {"x": {1, 2}}])
def test_metadata_that_json_cannot_hold_is_refused(store: Store, metadata: dict[str, object]) -> None:
    """Such metadata is refused before anything is written, and the writer continues."""
    with store.writer() as writer:
        with pytest.raises(ArgumentError, match=r"metadata(\['x'\])? must be"):
            put(writer, "a", "text", metadata=metadata)
        put(writer, "b", "text")
    assert read(store) == {"b#0": "text"}


def test_a_hash_is_hex(store: Store) -> None:
    """A hash that is not hexadecimal raises an error with its value."""
    with pytest.raises(ArgumentError, match="must be hex digits, got 'xyz'"):
        DocumentBatch().add("a", "xyz", [])


def test_documents_under_a_folder(store: Store) -> None:
    """`documents(under=...)` matches whole path parts, without patterns."""
    with store.writer() as writer:
        for source in ("docs/a", "docs/b/c", "docs_old/a", "docs", "%/x"):
            put(writer, f"id of {source}", source, source=source)
        put(writer, "docs/by-id", "x")
    with store.reader() as snapshot:
        assert [d.source for d in snapshot.documents("docs/")] == ["docs/a", "docs/b/c", "docs", "docs/by-id"]
        assert [d.source for d in snapshot.documents("%")] == ["%/x"]
        assert len(list(snapshot.documents())) == 6


def test_embeddings_are_kept_by_model_and_hash(store: Store) -> None:
    """A vector is found only under its model, and makes no new version."""
    with store.writer() as writer:
        writer.put_embeddings("m1", {"00": b"one", "01": b"two"})
        writer.put_embeddings("m2", {"00": b"other"})
        writer.commit()
        writer.put_embeddings("m1", {"00": b"new"})
    with store.reader() as snapshot:
        assert snapshot.embeddings("m1", ["00", "01", "02"]) == {"00": b"new", "01": b"two"}
        assert snapshot.embeddings("m2", ["00"]) == {"00": b"other"}
        assert snapshot.embeddings("m3", ["00"]) == {}
        assert snapshot.version == 0


def test_uncovered_rows_are_indexed_on_attaching(store: Store) -> None:
    """A leg that is added later, or has another fingerprint, is built from the record and reported."""
    with store.writer() as writer:
        put(writer, "b", "one", "two", title="T", metadata={"x": [1]})
        put(writer, "a", "three")
    (repair,) = store.attach([SumsLeg(), SumsLeg("late")])
    assert (repair.what, repair.why) == ("late", "3 rows not indexed: 3 rows indexed")
    with store.reader() as snapshot:
        assert contents(snapshot, "late") == contents(snapshot)
    repairs = store.attach([SumsLeg(), SumsLeg("late", "sums/2")])
    assert "made with 'sums/1', asked for 'sums/2'" in repairs[0].why
    with store.reader() as snapshot:
        assert contents(snapshot, "late") == contents(snapshot)
    assert faults(store) == []
    assert store.attach([SumsLeg(), SumsLeg("late", "sums/2")]) == []


def test_a_reader_beside_a_writer_indexes_in_memory(store: Store) -> None:
    """While another process holds the lock, a missing leg is built in memory."""
    add(store, "a", "one")
    leg = SumsLeg("late")
    with Store.open(store.path) as other, store.writer() as writer:
        put(writer, "b", "two")
        (repair,) = other.attach([leg])
        assert "served from the memory of this process" in repair.why
        for _ in range(3):
            with other.reader() as snapshot:
                assert contents(snapshot, "late") == {"a#0": "one"}
        assert leg.built == 1
        writer.commit()
        with other.reader() as snapshot:
            assert contents(snapshot, "late") == {"a#0": "one", "b#0": "two"}


def test_a_deferred_leg_waits_for_build(store: Store) -> None:
    """Commits leave a deferred leg uncovered and report how much; `build` catches up, with deletions."""
    store.attach([SumsLeg(), SumsLeg("slow")], deferred=["slow"])
    with store.writer() as writer:
        for name in "abc":
            put(writer, name, name, name * 2)
    with store.reader() as snapshot:
        assert (snapshot.uncovered("slow"), snapshot.uncovered("sums")) == (6, 0)
        assert snapshot.segments("slow") == ()
    assert [f.level for f in store.check(full=True)].count("warning") == 1
    progress: list[tuple[int, int]] = []
    assert store.build("slow", lambda done, total: progress.append((done, total))) == 6
    assert progress[-1] == (6, 6)
    with store.writer() as writer:
        writer.delete(["b"])
        put(writer, "d", "d")
    assert store.build("slow") == 1
    assert store.build("slow") == 0
    with store.reader() as snapshot:
        assert contents(snapshot, "slow") == contents(snapshot)
        assert snapshot.uncovered("slow") == 0
    store.attach([SumsLeg(), SumsLeg("slow")], deferred=["slow"])
    assert faults(store) == []


@pytest.mark.parametrize("first", [False, True], ids=["beside another leg", "by the only leg"])
def test_rows_deleted_during_a_build_are_dead_in_it(store: Store, first: bool) -> None:
    """A row that is deleted while its segment is built is not live in the segment, also if no other segment had it."""

    class Deleting(SumsLeg):
        def build(self, rows):  # type: ignore[no-untyped-def]
            with store.writer() as writer:
                writer.delete(["a"])
            return super().build(rows)

    legs = [Deleting("slow")] if first else [SumsLeg(), Deleting("slow")]
    store.attach(legs, deferred=["slow"])
    with store.writer() as writer:
        put(writer, "a", "one")
        put(writer, "b", "two")
    store.build("slow")
    with store.reader() as snapshot:
        assert contents(snapshot, "slow") == {"b#0": "two"}
    assert faults(store) == []


def test_two_builds_of_a_row_leave_one_segment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment whose rows another process indexed meanwhile is removed."""
    monkeypatch.setattr(manifest, "INLINE_BYTES", 0)

    class Late(SumsLeg):
        def build(self, rows):  # type: ignore[no-untyped-def]
            with Store.open(store.path) as other:
                other.attach([SumsLeg(), SumsLeg("slow")], deferred=["slow"])
                other.build("slow")
            return super().build(rows)

    store.attach([SumsLeg(), Late("slow")], deferred=["slow"])
    add(store, "a", "one")
    store.build("slow")
    with store.reader() as snapshot:
        assert contents(snapshot, "slow") == {"a#0": "one"}
    assert faults(store) == []


def test_creation(tmp_path: Path) -> None:
    """An index is created only on request, keeps its settings, and is created once."""
    with pytest.raises(IndexNotFoundError, match="create=True"):
        Store.open(tmp_path / "none")
    with Store.open(tmp_path / "a" / "b", create=True, settings={"x": [1, "ü"]}) as store:
        assert store.settings == {"x": [1, "ü"]}
    with Store.open(tmp_path / "a" / "b", create=True, settings={"x": 2}) as store:
        assert store.settings == {"x": [1, "ü"]}
    (tmp_path / "file").write_text("")
    with pytest.raises((StoreError, IndexNotFoundError)):
        Store.open(tmp_path / "file", create=True)


@pytest.mark.parametrize("state", ["empty file", "log mode only", "folder only"])
def test_a_broken_off_creation_is_taken_up_again(tmp_path: Path, state: str) -> None:
    """Leftovers of a crash during creation are not an index and do not prevent creating one."""
    (tmp_path / "segments").mkdir()
    record = tmp_path / "record.sqlite"
    if state != "folder only":
        record.touch()
    if state == "log mode only":
        connection = sqlite3.connect(record)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
    with pytest.raises(IndexNotFoundError):
        Store.open(tmp_path)
    with Store.open(tmp_path, create=True) as store:
        store.attach([SumsLeg()])
        add(store, "a", "one")
        assert faults(store) == []


def test_a_record_that_is_gone_is_not_made_anew(store: Store) -> None:
    """An index without its record is damaged, even with create=True."""
    add(store, "a", "one")
    store.close()
    (store.path / "record.sqlite").unlink()
    for create in (False, True):
        with pytest.raises(IndexDamagedError, match=r"what remains: 0 segment files and a note of version"):
            Store.open(store.path, create=create)


def test_commits_that_the_log_lost_are_noticed(store: Store) -> None:
    """Acknowledged commits whose log is gone are reported at opening and by a check, until repaired."""
    add(store, "a", "one")
    copy = store.path.with_name("copy")
    code = (
        "import os, sys, tests.store.words as words\n"
        "from sleuth.store.store import Store\n"
        "store = Store.open(sys.argv[1]); store.attach([words.SumsLeg()])\n"
        "with store.writer() as writer: words.put(writer, 'b', 'two')\n"
        "os._exit(0)\n"
    )
    store.close()
    assert python(code, store.path).returncode == 0
    store.path.rename(copy)
    (copy / "record.sqlite-wal").unlink()
    with Store.open(copy) as again:
        (repair,) = again.attach([SumsLeg()])
        assert "commits up to version 2 were acknowledged, the record ends at version 1" in repair.why
        assert any("acknowledged" in fault for fault in faults(again))
        assert again.repair()
        assert faults(again) == []
    with Store.open(copy) as again:
        assert again.attach([SumsLeg()]) == []


def test_the_second_writer_is_told_who_holds_the_lock(store: Store) -> None:
    """The second writer waits until its timeout; the error names process, host, command and time, also between
    threads.
    """
    with Store.open(store.path) as other, store.writer() as writer:
        put(writer, "a", "one")
        rule = rf"process {os.getpid()} on .* since 20.*; waited 0.05 s"
        with pytest.raises(IndexLockedError, match=rule) as caught, other.writer(timeout=0.05):
            pass
        assert caught.value.holder["pid"] == os.getpid()
        holder = store.status().holder
        assert holder is not None
        assert holder["pid"] == os.getpid()
        with pytest.raises(IndexLockedError), store.writer(timeout=0):
            pass
        entered = threading.Event()

        def wait() -> None:
            with store.writer(timeout=60) as second:
                entered.set()
                put(second, "b", "two")

        thread = threading.Thread(target=wait)
        thread.start()
        assert not entered.wait(0.05)
    thread.join()
    assert store.status().holder is None
    assert read(store) == {"a#0": "one", "b#0": "two"}


def test_a_forked_child_reads_and_writes(store: Store) -> None:
    """A forked child uses the store on its own while the parent has a reader, and the parent continues."""
    add(store, "a", "one")
    with store.reader() as snapshot:

        def work() -> None:
            assert read(store) == {"a#0": "one"}
            add(store, "b", "two")
            assert len(read(store)) == 2

        run_in_child(work)
        assert contents(snapshot) == {"a#0": "one"}
    assert read(store) == {"a#0": "one", "b#0": "two"}
    assert faults(store) == []


def test_a_fork_does_not_take_the_lock_along(store: Store) -> None:
    """The parent's lock is released at the end of its block, although a child from within it lives on."""
    ready, hold = os.pipe(), os.pipe()
    with store.writer() as writer:
        put(writer, "a", "one")
        child = os.fork()
        if child == 0:
            os.write(ready[1], b"x")
            os.read(hold[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
    with store.writer(timeout=60) as writer:
        put(writer, "b", "two")
    os.write(hold[1], b"x")
    os.waitpid(child, 0)
    for end in (*ready, *hold):
        os.close(end)
    assert len(read(store)) == 2


def test_a_closed_store_says_so(store: Store) -> None:
    """Reading and writing after `close` raise an error with the folder; closing twice is allowed."""
    store.close()
    store.close()
    for block in (store.reader, store.writer):
        with pytest.raises(StoreError, match="is closed"), block():
            pass


def test_a_read_only_folder_is_served(store: Store, tmp_path: Path) -> None:
    """A folder on a read-only disk is read, and missing legs are built in memory."""
    with store.writer() as writer:
        put(writer, "b", "one")
        put(writer, "a", "two")
    store.close()
    mount = tmp_path / "mount"
    mount.mkdir()
    if subprocess.run(
        ["mount", "--bind", "-o", "ro", store.path, mount], capture_output=True, check=False
    ).returncode:
        pytest.skip("mounting needs root")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", mount], check=True)
        assert Store.is_at(mount)
        with Store.open(mount, create=True) as reader:
            assert not reader.writable
            (repair,) = reader.attach([SumsLeg(), SumsLeg("late")])
            assert "may not write" in repair.why
            with reader.reader() as snapshot:
                assert contents(snapshot) == contents(snapshot, "late") == {"a#0": "two", "b#0": "one"}
            with pytest.raises(StoreError, match="read-only"), reader.writer():
                pass
            assert [f for f in faults(reader) if not f.startswith("error late")] == []
    finally:
        subprocess.run(["umount", mount], check=True)


names = st.text(st.characters(codec="utf-8"), max_size=6)


@settings(
    deadline=None, max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(names, st.lists(names, max_size=3)), max_size=12), st.booleans())
def test_ties_break_by_document_id_and_place(
    tmp_path_factory: pytest.TempPathFactory, documents: list[tuple[str, list[str]]], split: bool
) -> None:
    """Tie ranks follow (document id, n), in one segment or several, before and after a rebuild."""
    with Store.open(tmp_path_factory.mktemp("ties") / "index", create=True) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            for name, texts in documents:
                put(writer, name, *texts)
                if split:
                    writer.commit()
        expected = read(store)
        store.compact()
        assert read(store) == expected
        store.attach([SumsLeg("sums", "sums/2")])
        assert read(store) == expected
        with store.reader() as snapshot:
            assert sum(int(live(view, view.keys).size) for view in snapshot.segments("sums")) == len(expected)
            streamed = [key for rows in snapshot.stream() for key in rows.keys.tolist()]
            assert streamed == sorted(streamed)
            assert np.all([len(rows.metadata) == len(rows) for rows in snapshot.stream()])


def test_a_sweep_removes_what_a_durable_commit_replaced(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is synced before a sweep removes a file that an older version names."""
    store.attach([SumsLeg()])
    add(store, "a", "text")
    orphan = store.path / "segments" / "sums-9-9-0123456789ab.seg"
    orphan.write_bytes(b"")
    store._database._swept = False
    events: list[str] = []
    sync, unlink = os.fsync, os.unlink

    def noted_sync(fd: int) -> None:
        events.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
        sync(fd)

    def noted_unlink(path: str, *, dir_fd: int | None = None) -> None:
        events.append(str(path))
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "unlink", noted_unlink)
    with store.writer():
        pass
    assert not orphan.exists()
    assert f"{store.path}/record.sqlite-wal" in events[: events.index(orphan.name)]


@pytest.mark.parametrize("inline_bytes", [0, manifest.INLINE_BYTES], ids=["files", "values of the manifest"])
@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_a_text_leaves_the_disk_when_nobody_reads_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, inline_bytes: int, change: str
) -> None:
    """A reader of the version before reads the text until it is done; then no file contains it, and others stay."""
    monkeypatch.setattr(manifest, "INLINE_BYTES", inline_bytes)
    others = {f"d{i:02}": f"text {i}" for i in range(40)}
    with store.writer() as writer:
        put(writer, "a", UNMISTAKABLE, title="unmistakable title", metadata={"x": "unmistakable"})
        put_passages(writer, list(others), list(others.values()), ["00"] * 40)
    with store.reader() as snapshot:
        before = snapshot.chunks_of("a")
        with store.writer() as writer:
            if change == "deleted":
                writer.delete(["a"])
            else:
                put(writer, "a", "new")
        store.wait()
        assert snapshot.chunks_of("a") == before
        assert contents(snapshot)["a#0"] == UNMISTAKABLE
        assert [file for file in store.path.rglob("*") if file.is_file() and CODED in file.read_bytes()]
        with Store.open(store.path) as other, other.reader() as newer:
            assert [row.text for row in newer.chunks_of("a")] == ([] if change == "deleted" else ["new"])
    store.wait()
    files = [file for file in store.path.rglob("*") if file.is_file()]
    assert len(files) > 3
    contents_of_files = [file.read_bytes() for file in files]
    assert not any(b"unmistakable" in content or CODED in content for content in contents_of_files)
    assert {name.removesuffix("#0"): text for name, text in read(store).items() if name != "a#0"} == others
    assert faults(store) == []


def test_a_text_that_a_crash_left_is_overwritten_later(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends between a deletion and the overwriting leaves it to the next commit of any process."""
    monkeypatch.setattr(manifest, "INLINE_BYTES", 0)
    with store.writer() as writer:
        put_passages(writer, ["a", "b", "c", "d", "e", "f"], [UNMISTAKABLE, *"bcdef"], ["00"] * 6)
    store.wait()
    with monkeypatch.context() as patch:
        patch.setattr(erasing, "erase", lambda *_: False)
        with store.writer() as writer:
            writer.delete(["a"])
        store.close()
    file = next(store.path.rglob("passages-*.seg"))
    assert CODED in file.read_bytes()
    with opened(store.path) as other:
        add(other, "g", "more")
        other.wait()
        assert CODED not in file.read_bytes()
        assert faults(other) == []
