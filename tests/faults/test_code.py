"""A code index survives kills, full disks and damage as an index of documents does."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sleuth.code import index_path
from sleuth.code.snapshots import health
from sleuth.engine import open_code
from sleuth.errors import CodeError, IndexDamagedError, StoreError
from tests.faults.limiting import free_descriptors, small_disk
from tests.faults.proof import ROOT
from tests.faults.test_damage_campaign import write_code
from tests.faults.test_power import CODER
from tests.faults.trial import answers_of_code


def faults(path: Path) -> list[str]:
    """Return the faults that a full check reports."""
    with open_code(path) as storage:
        return [
            f"{f.level} {f.subject}: {f.message}" for f in health.check(storage, full=True) if f.level != "ok"
        ]


def test_kill(tmp_path: Path) -> None:
    """A killed run loses no snapshot that was reported, and the next run continues."""
    root, index = tmp_path / "root", tmp_path / "index"
    root.mkdir()
    rng = random.Random(7)
    acknowledged: set[str] = set()
    for _ in range(2):
        command = [sys.executable, "-c", CODER, str(index), str(root), "10000", "record"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout
            lines = [process.stdout.readline()]
            time.sleep(rng.random() / 2)
            process.kill()
            lines += process.stdout.readlines()
        acknowledged |= {line.split()[1] for line in lines if line.endswith("\n")}
        with open_code(index) as storage:
            (repository,) = storage.repositories()
            completed = {info.id for info in storage.snapshots(repository.id) if info.status == "completed"}
            assert acknowledged <= completed
        assert [fault for fault in faults(index) if "a crash left it" not in fault] == []
    with open_code(index) as storage:
        index_path(storage, root)
    assert faults(index) == []


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a code index whose segments are files."""
    home = tmp_path_factory.mktemp("sound")
    (home / "root").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sleuth.code.snapshots.shelf.SMALL", 0)
        with open_code(home / "index", create=True) as storage:
            for n in range(2):
                write_code(home / "root", n, 16)
                index_path(storage, home / "root")
    assert faults(home / "index") == []
    return home / "index"


def test_full_disk(tmp_path: Path) -> None:
    """A full disk raises a Sleuth error and loses no snapshot; indexing works again once there is space."""
    root = tmp_path / "root"
    root.mkdir()
    with small_disk(tmp_path / "disk", megabytes=3) as disk:
        (disk / "ballast").write_bytes(b"\1" * (1 << 20))
        acknowledged: list[str] = []
        failures = 0
        rng = random.Random(3)
        for n in range(400):
            names = [f"name_{rng.randrange(10**9)}" for _ in range(3000)]
            (root / f"m{n}.py").write_text("\n".join(f"{name} = '{name}'" for name in names))
            try:
                with open_code(disk / "index", create=True) as storage:
                    acknowledged.append(index_path(storage, root, workers=1).snapshot)
            except StoreError as error:
                assert "full" in str(error) or "space" in str(error), error
                failures += 1
                if failures == 3:
                    break
        assert acknowledged
        assert failures == 3
        os.truncate(disk / "ballast", 0)
        with open_code(disk / "index") as storage:
            (repository,) = storage.repositories()
            completed = {info.id for info in storage.snapshots(repository.id) if info.status == "completed"}
            assert completed.issuperset(acknowledged)
            shutil.rmtree(root)
            root.mkdir()
            (root / "a.py").write_text("a = 1\n")
            index_path(storage, root, workers=1)
        assert faults(disk / "index") == []


def test_too_many_open_files(tmp_path: Path, sound: Path) -> None:
    """Indexing and searching fail with a Sleuth error; nothing is reported as damaged or lost."""
    index, root = tmp_path / "index", sound.parent / "root"
    shutil.copytree(sound, index)
    with open_code(index) as storage:
        whole = answers_of_code(storage).texts
    failures = 0
    for spare in range(0, 24, 2):
        (root / "m0.py").write_text(f"def changed_{spare}():\n    return {spare}\n")
        try:
            with free_descriptors(spare), open_code(index) as storage:
                index_path(storage, root)
                assert answers_of_code(storage).texts
        except (StoreError, CodeError) as error:
            assert not isinstance(error, IndexDamagedError), error
            failures += 1
    assert 0 < failures < 12
    assert [fault for fault in faults(index) if fault.startswith("error")] == []
    with open_code(index) as storage:
        assert len(answers_of_code(storage).texts) >= len(whole) - 3
