"""A code index is checked and repaired as an index of documents is."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sleuth.code import CodeRetriever, index_path
from sleuth.code.snapshots import health
from sleuth.engine import doctor, open_code
from sleuth.engine.codebase import check_code, code_status, repair_code
from sleuth.errors import IndexDamagedError, StoreError, UnknownSnapshotError
from tests.code.conftest import Git
from tests.code.projects import SHOP
from tests.commands import run_in_child

NOTEBOOK = (Path(__file__).parent / "refund.ipynb").read_text("utf8")


@pytest.fixture
def indexed(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an index of two snapshots whose segments are files."""
    monkeypatch.setattr("sleuth.code.snapshots.shelf.SMALL", 0)
    with open_code(tmp_path / "index", create=True) as storage:
        git.commit({**SHOP, "shop/refund.ipynb": NOTEBOOK})
        index_path(storage, git.root)
        git.commit({"shop/more.py": "def refund(order):\n    return order\n", "binary.bin": "\0\0"})
        index_path(storage, git.root)
    return tmp_path / "index"


def answers(path: Path) -> list[tuple[str, str]]:
    """Return the hits of a few queries at the newest snapshot."""
    with open_code(path) as storage:
        retriever = CodeRetriever(storage, None)
        (repository,) = storage.repositories()
        hits = [
            hit
            for query in ("refund an order", "price", "where is the cart")
            for hit in retriever.retrieve(query, repository.id, strategy="keyword")
        ]
        return [(hit.file_path, f"{hit.score:.5f}") for hit in hits]


def change(path: Path, *statements: str) -> None:
    """Change the database of an index by statements of SQL."""
    with closing(sqlite3.connect(path / "code.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def faults(path: Path, *, full: bool = True) -> list[str]:
    """Return the faults that a check reports."""
    return [f"{f.level} {f.subject}: {f.message}" for f in check_code(path, full=full) if f.level != "ok"]


def test_a_sound_index(indexed: Path) -> None:
    """A sound index has no faults, and the check reports its counts."""
    assert faults(indexed) == []
    assert len(check_code(indexed, full=True)) == 5
    status = code_status(indexed)
    assert (status.repositories, status.snapshots, status.segments) == (1, 2, 6)
    assert status.files > 2
    assert status.bytes > 10_000


@pytest.mark.parametrize("leg", ["files", "chunks"])
@pytest.mark.parametrize("damage", ["gone", "cut", "flipped", "foreign"])
def test_segments_are_rebuilt(indexed: Path, leg: str, damage: str) -> None:
    """A missing or damaged segment is found and rebuilt from the stored contents; answers are equal."""
    before = answers(indexed)
    assert before
    victim, other = sorted((indexed / "code").glob(f"{leg}-*.seg"))
    data = victim.read_bytes()
    if damage == "gone":
        victim.unlink()
    elif damage == "cut":
        os.truncate(victim, len(data) // 2)
    elif damage == "flipped":
        victim.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    else:
        victim.write_bytes(other.read_bytes())
    assert any(f"code {leg}" in fault for fault in faults(indexed))
    if damage != "flipped":
        assert faults(indexed, full=False)
        with pytest.raises(IndexDamagedError, match="sleuth doctor --repair"):
            answers(indexed)
    assert [repair.what for repair in repair_code(indexed)] == [f"code {leg}"]
    assert faults(indexed) == []
    assert answers(indexed) == before


def test_a_file_that_is_lost_names_its_snapshots(indexed: Path, git: Git) -> None:
    """A damaged row makes the snapshots that list it unavailable, by name; indexing again restores them."""
    before = answers(indexed)
    with open_code(indexed) as storage:
        newest, first = (snapshot.id for snapshot in storage.snapshots(storage.repositories()[0].id))
    change(indexed, "UPDATE files SET detail = CAST(detail || x'00' AS BLOB) WHERE path = 'shop/more.py'")
    assert any("shop/more.py" in fault for fault in faults(indexed))
    with pytest.raises(IndexDamagedError, match=r"shop/more\.py is not as it was written"):
        answers(indexed)
    assert f"snapshot {newest}" in [repair.what for repair in repair_code(indexed)]
    assert faults(indexed) == []
    with open_code(indexed) as storage:
        (repository,) = storage.repositories()
        assert storage.snapshot(repository).id == first
        with pytest.raises(UnknownSnapshotError, match="index it again"):
            storage.snapshot(repository, newest)
        assert index_path(storage, git.root).snapshot == newest
    assert answers(indexed) == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE blobs SET content = x'00'", "DELETE FROM blobs", "UPDATE snapshots SET members = x'0102'",
        "UPDATE snapshots SET members = 'text'", "UPDATE files SET first_chunk = 'x'",
        "UPDATE files SET detail = 5", "DELETE FROM files", "DELETE FROM segments",
        "UPDATE segments SET name = '../' || name", "UPDATE segments SET bytes = -1",
        "UPDATE segments SET fingerprint = 'other'", "DELETE FROM repositories", "DROP TABLE snapshots",
        "PRAGMA user_version = 3", "PRAGMA user_version = 0",
    ],
)  # fmt: skip
def test_odd_values_in_the_database(indexed: Path, git: Git, statement: str) -> None:
    """With odd values, every use answers or raises a Sleuth error; a repair fixes or refuses them."""
    change(indexed, statement)
    for _ in range(2):
        for use in (answers, faults, code_status):
            try:
                use(indexed)
            except (StoreError, ValueError, UnknownSnapshotError) as error:
                assert use is not faults
                assert "unpack" not in str(error) or statement == "DELETE FROM repositories"
    try:
        repair_code(indexed)
        assert faults(indexed) == []
        with open_code(indexed) as storage:
            index_path(storage, git.root)
        assert faults(indexed) == []
        assert answers(indexed)
    except StoreError as error:
        assert "index" in str(error)


def test_a_damaged_content_is_named_by_its_file(indexed: Path) -> None:
    """A check names a damaged content by a file that has it, or by its hash if no file has it."""
    with closing(sqlite3.connect(indexed / "code.db")) as connection, connection:
        (hash,) = connection.execute("SELECT hash FROM files WHERE path = 'shop/more.py'").fetchone()
        connection.execute("UPDATE blobs SET content = x'00' WHERE hash = ?", (hash,))
    assert faults(indexed) == ["error code.db: 1 contents are not as they were written: 'shop/more.py'"]
    change(indexed, "DELETE FROM embeddings", "DELETE FROM files WHERE path = 'shop/more.py'")
    assert f"error code.db: 1 contents are not as they were written: {hash!r}" in faults(indexed)


def test_cached_vectors_are_checked(indexed: Path) -> None:
    """Changed cached vectors are found, are not used, and are removed by a repair."""
    with open_code(indexed) as storage:
        storage.add_vectors("model", {1: np.ones((2, 4), np.float16), 2: np.ones((1, 4), np.float16)})
    change(indexed, "UPDATE embeddings SET vectors = x'0400000001' WHERE file = 1 AND fingerprint = 'model'")
    with open_code(indexed) as storage:
        assert storage.vectors("model", [1, 2]).keys() == {2}
    assert faults(indexed) == ["error code.db: 1 cached vectors are not as they were written"]
    assert [repair.what for repair in repair_code(indexed)] == ["embeddings"]
    assert faults(indexed) == []


def test_a_read_only_folder_is_served(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search, check and status work in a read-only folder; indexing raises an error."""
    before = answers(indexed)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))

    def times() -> dict[Path, int]:
        paths = [
            path for path in indexed.rglob("*") if path.is_file() and not path.name.endswith(("-shm", "-wal"))
        ]
        return {path: path.stat().st_mtime_ns for path in paths}

    files = times()
    assert answers(indexed) == before
    assert faults(indexed) == []
    assert code_status(indexed).snapshots == 2
    with open_code(indexed) as storage:
        storage.add_vectors("model", {1: np.ones((2, 4), np.float16)})
        with pytest.raises(StoreError, match="read-only"), storage.writing():
            pass
    assert times() == files


def test_doctor_and_status_cover_code(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`sleuth doctor`, its repair and `sleuth status` cover code, even without documents."""
    min((indexed / "code").glob("chunks-*.seg")).unlink()
    subjects = [finding.subject for finding in doctor.index(indexed, full=True) if finding.level == "error"]
    assert "code chunks" in subjects
    assert [finding.subject for finding in doctor.mend(indexed)] == ["code chunks"]
    assert not [finding for finding in doctor.index(indexed, full=True) if finding.level == "error"]
    from sleuth.surfaces.cli.documents import status

    status(json=True, index=indexed)
    assert json.loads(capsys.readouterr().out)["code"]["snapshots"] == 2


def test_a_forked_child_reads_and_writes(indexed: Path, git: Git) -> None:
    """A forked child uses the storage on its own, and the parent continues."""
    with open_code(indexed) as storage:
        (repository,) = storage.repositories()
        count = len(storage.snapshots(repository.id))

        def index() -> None:
            git.commit({"child.py": "c = 1\n"})
            index_path(storage, git.root, workers=1)
            assert len(storage.snapshots(repository.id)) == count + 1

        run_in_child(index)
        assert len(storage.snapshots(repository.id)) == count + 1
        assert [finding for finding in health.check(storage, full=True) if finding.level != "ok"] == []


def test_a_fork_inside_a_run_leaves_it_to_the_parent(tmp_path: Path) -> None:
    """A child that is forked during a write does not take part in it."""
    with open_code(tmp_path / "index", create=True) as storage, storage.writing():

        def write() -> None:
            with pytest.raises(StoreError), storage.writing(timeout=0.05):
                pass

        run_in_child(write)
        storage.add_repository("/a", "")
        assert len(storage.repositories()) == 1


ROWS = {
    "UPDATE blobs SET content = x'00' WHERE rowid = 1": "1 contents are not as they were written",
    "UPDATE files SET lines = lines + 1 WHERE key = 2": "1 files are not as they were written",
    "DELETE FROM blobs WHERE rowid = 1": "1 files are not as they were written",
    "UPDATE snapshots SET members = x'00' WHERE serial = (SELECT min(serial) FROM snapshots)": (
        "1 snapshots have lost a part of themselves"
    ),
    "INSERT INTO embeddings VALUES (1, 'model', 7, x'00')": "1 cached vectors are not as they were written",
}


@pytest.mark.parametrize("statement", ROWS)
def test_a_full_check_finds_changed_rows(indexed: Path, statement: str) -> None:
    """A full check names each table with a row that is not as it was written."""
    change(indexed, statement)
    assert ROWS[statement] in " ".join(faults(indexed))


def test_the_database_of_another_index_is_refused(indexed: Path, tmp_path: Path, git: Git) -> None:
    """A database in the folder of another index gives no answers; without the note beside it, it is believed."""
    with open_code(tmp_path / "other", create=True) as storage:
        index_path(storage, git.root)
    shutil.copy(tmp_path / "other" / "code.db", indexed / "code.db")
    with pytest.raises(IndexDamagedError, match=r"of another index than its file code\.version"):
        open_code(indexed)
    (indexed / "code.version").unlink()
    open_code(indexed).close()


def test_an_older_database_has_lost_snapshots(git: Git, tmp_path: Path) -> None:
    """Status and doctor report a database that was put back, until its lost snapshots are indexed again."""
    path = tmp_path / "index"
    with open_code(path, create=True) as storage:
        git.commit({**SHOP})
        index_path(storage, git.root)
    older = (path / "code.db").read_bytes()
    with open_code(path) as storage:
        git.commit({"more.py": "def refund(order):\n    return order\n"})
        index_path(storage, git.root)
    (path / "code.db").write_bytes(older)
    with open_code(path) as storage:
        (message,) = health.status(storage).damage
        assert message.startswith("snapshots that were indexed last are lost")
        assert message in {finding.message for finding in health.check(storage)}
        index_path(storage, git.root)
        assert health.status(storage).damage == ()
    assert faults(path) == []


def test_forgotten_snapshots_are_not_lost(indexed: Path) -> None:
    """To prune the newest snapshot is no loss, and a note that is damaged says nothing."""
    with open_code(indexed) as storage:
        (repository,) = storage.repositories()
        oldest = storage.snapshots(repository.id)[-1]
        storage.prune(repository.id, [oldest.id])
    assert faults(indexed) == []
    (indexed / "code.version").write_bytes(b"00000000\n99\n")
    assert faults(indexed) == []
