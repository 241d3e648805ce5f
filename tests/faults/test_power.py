"""R2: after a power cut at any moment, what was acknowledged is there, and nothing that was deleted comes back.

The writes and syncs of a process are recorded, and replayed to each cut: without what was not synced, with all of it,
and with a random part of it, sector by sector.
"""

import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sleuth import Engine
from sleuth.cluster import publish, versions
from sleuth.code import CodeRetriever, index_path
from sleuth.code.snapshots import health
from sleuth.engine import open_code
from sleuth.types import Document
from tests.faults import actions
from tests.faults.proof import command, prove, told
from tests.faults.recording import Call, Disk, record
from tests.faults.test_syncs import STRACE

pytestmark = pytest.mark.skipif(STRACE is None, reason="strace is not installed")
CUTS = int(os.environ.get("SLEUTH_CUTS", "3"))
"""Cuts of each recording; `make campaigns` makes hundreds."""
STEPS = 6 if CUTS > 20 else 3
"""Commits, snapshots and versions that are recorded."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The folder whose calls are recorded."""
    (tmp_path / "source").mkdir()
    return tmp_path / "source"


def moments(calls: list[Call]) -> list[int]:
    """Return after how many calls power is cut: before and after syncs, and at random moments."""
    syncs = [i + after for i, call in enumerate(calls) if call.kind == "sync" for after in (0, 1)]
    rng = random.Random(len(calls))
    sample = rng.sample(syncs, min(len(syncs), CUTS * 2 // 3))
    return sorted([*sample, *rng.choices(range(len(calls)), k=CUTS - len(sample))])


def cut(calls: list[Call], source: Path, target: Path, proof: Callable[[Path, list[str]], None]) -> int:
    """Replay calls, and prove the remaining files at each cut; return the number of cuts.

    One more cut is after the last call, without all that was not synced.
    """
    disk = Disk()
    output = b""
    position = 0
    for number, moment in enumerate([*moments(calls), len(calls)]):
        for call in calls[position:moment]:
            output += call.data if call.kind == "say" else b""
            disk.apply(call)
        position = moment
        lost = 1.0 if number == CUTS else (1.0, 0.5, 0.0)[number % 3]
        copy = target / f"cut-{number}"
        copy.mkdir(parents=True)
        disk.write(source, copy, random.Random(number), lost)
        try:
            proof(copy, output.decode().splitlines(keepends=True))
        except Exception as error:
            raise AssertionError(
                f"cut {number} after call {moment} of {len(calls)}, {lost:.0%} lost: {error}"
            ) from error
        shutil.rmtree(copy)
    return number


def check_names(calls: list[Call]) -> None:
    """Before a commit is synced, the segments that it may name have their names on the disk, and their bytes."""
    unsynced: set[str] = set()
    count = 0
    for call in calls:
        if call.kind == "move" and call.target.endswith(".seg"):
            assert call.path not in unsynced, "it gets its name before its bytes are synced"
            unsynced.add(call.target)
            count += 1
        elif call.kind == "write" and call.path.endswith(".tmp"):
            unsynced.add(call.path)
        elif call.kind == "sync" and call.path.endswith("-wal"):
            assert not unsynced
        elif call.kind == "sync":
            unsynced = {path for path in unsynced if call.path not in (path, str(Path(path).parent))}
    assert count


def prove_documents(path: Path, lines: list[str]) -> None:
    additions, deleted = told(lines)
    prove(path / "index", additions, deleted)


def test_documents(source: Path, tmp_path: Path) -> None:
    """Adding, replacing, deleting and merging documents, in files and in the record."""
    calls = record([*command(source / "index", 0, 2 * STEPS), "files"], source, tmp_path / "trace")
    assert sum(call.kind == "sync" for call in calls) > 2 * STEPS
    assert cut(calls, source, tmp_path / "left", prove_documents) == CUTS


CODER = """
import sys
from pathlib import Path
from sleuth.code import index_path
from sleuth.code.snapshots import shelf
from sleuth.engine import open_code
from sleuth.store.catalogue import manifest
if sys.argv[4] == "files":
    manifest.INLINE_BYTES, shelf.SMALL, shelf.MANY = 0, 0, 2
index, root = map(Path, sys.argv[1:3])
with open_code(index, create=True) as storage:
    for n in range(int(sys.argv[3])):
        for m in range(n, n + 9):
            (root / f"m{m}.py").write_text(f"def f{n}_{m}(x):\\n    return x + {n}\\n" * 30)
        (root / f"m{n}.py").unlink()
        print("added", index_path(storage, root, workers=1).snapshot, flush=True)
"""


def prove_code(path: Path, lines: list[str]) -> None:
    """Every acknowledged snapshot exists, a check finds nothing, and indexing goes on."""
    ids = {line.split()[1] for line in lines if line.endswith("\n")}
    root = path / "root"
    root.mkdir()
    (root / "new.py").write_text("def newest(): pass\n")
    with open_code(path / "index", create=not ids) as storage:
        snapshots = [
            info for repository in storage.repositories() for info in storage.snapshots(repository.id)
        ]
        assert ids <= {info.id for info in snapshots if info.status == "completed"}
        report = index_path(storage, root)
        hits = CodeRetriever(storage, None).retrieve("newest", report.repository, strategy="keyword")
        assert hits[0].file_path == "new.py"
        assert [finding for finding in health.check(storage, full=True) if finding.level == "error"] == []


@pytest.mark.parametrize("place", ["record", "files"])
def test_code(source: Path, tmp_path: Path, place: str) -> None:
    """Indexing snapshots of code of which each lacks files of the one before; segments in the record or in files."""
    root = tmp_path / "root"
    root.mkdir()
    command = [sys.executable, "-c", CODER, str(source / "index"), str(root), str(STEPS), place]
    calls = record(command, source, tmp_path / "trace")
    if place == "files":
        check_names(calls)
    assert cut(calls, source, tmp_path / "left", prove_code) == CUTS


def test_a_file_that_is_written_as_a_whole(source: Path, tmp_path: Path) -> None:
    """What is written durably is there with its name and all its bytes, even if nothing else is."""
    copy = tmp_path / "left"
    copy.mkdir()
    writing = (
        "import sys, pathlib\nfrom sleuth.files.writing import whole_file\n"
        "with whole_file(pathlib.Path(sys.argv[1])) as file:\n    file.write(b'all of it')"
    )
    disk = Disk()
    for call in record([sys.executable, "-c", writing, str(source / "file")], source, tmp_path / "trace"):
        disk.apply(call)
    disk.write(source, copy, random.Random(0), 1.0)
    assert (copy / "file").read_bytes() == b"all of it"


KILLED = """
import sqlite3
import sys
from contextlib import closing
from sleuth.store.store import Store
from sleuth.store.catalogue import manifest
from tests.store.words import SumsLeg, put
manifest.INLINE_BYTES = 0
for step in (1, 2):
    with Store.open(sys.argv[1], create=True) as store:
        store.attach([SumsLeg()])
        with store.writer() as writer:
            put(writer, f"document {step}", "some words")
    with closing(sqlite3.connect(sys.argv[1] + "/record.sqlite")) as connection, connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("DELETE FROM segments WHERE rowid = 1")
        kept = sqlite3.connect(sys.argv[1] + "/record.sqlite")  # so that the log stays
        kept.execute("SELECT * FROM segments").fetchall()
"""


def test_nothing_is_removed_before_the_log_is_synced(source: Path, tmp_path: Path) -> None:
    """A process that is killed in a commit leaves one that power can undo: a sweep makes it durable first."""
    calls = record([sys.executable, "-c", KILLED, str(source / "index")], source, tmp_path / "trace")
    is_synced, removals = True, 0
    for call in calls:
        if call.path.endswith("-wal"):
            is_synced = call.kind == "sync"
        elif call.kind == "remove" and call.path.endswith(".seg"):
            removals += 1
            assert is_synced, call.path
    assert removals


PUBLISHER = """
import sys
from sleuth import Document, Engine
from sleuth.cluster import publish
index, address, steps = sys.argv[1:]
with Engine.open(index, create=True, embedder="") as engine:
    for n in range(int(steps)):
        engine.add(Document(f"tide number {i}", id=f"d{i}") for i in range(40 * n, 40 * n + 40))
        engine.delete([f"d{n}"])
        manifest = publish(index, address)
        print("added", manifest.number, manifest.documents, flush=True)
"""


def prove_published(path: Path, lines: list[str]) -> None:
    """Every acknowledged version exists and is whole, and the next one can be published."""
    address = f"file://{path / 'published'}"
    sizes = {int(line.split()[1]): int(line.split()[2]) for line in lines if line.endswith("\n")}
    there = {version.number for version in versions(address)} if sizes else set()
    assert sizes.keys() <= there
    for number in sorted(sizes)[-2:]:
        with Engine.open(f"{address}@{number}") as engine:
            assert engine.count().documents == sizes[number]
            assert [finding for finding in engine.check(full=True) if finding.level == "error"] == []
    with Engine.open(path / "other", create=True, embedder="") as engine:
        engine.add([Document("the newest tide", id="new")])
    publish(path / "other", address)
    with Engine.open(address) as engine:
        assert engine.count().documents == 1


def test_publishing(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publishing to a folder: acknowledged versions exist, and every existing version is whole."""
    monkeypatch.setenv("SLEUTH_CACHE", str(tmp_path / "cache"))
    address = f"file://{source / 'published'}"
    command = [sys.executable, "-c", PUBLISHER, str(tmp_path / "index"), address, str(STEPS)]
    calls = record(command, source, tmp_path / "trace")
    assert cut(calls, source, tmp_path / "left", prove_published) == CUTS


@pytest.mark.slow
def test_server(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests to a server and commands beside it: what was acknowledged is there, and all goes on."""
    monkeypatch.setenv("SLEUTH_CACHE", str(tmp_path / "cache"))
    calls = record(actions.command(source, 0, 1), source, tmp_path / "trace")
    assert (
        cut(calls, source, tmp_path / "left", lambda path, lines: actions.prove(path, actions.told(lines)))
        == CUTS
    )
