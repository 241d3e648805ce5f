"""R5: a full disk raises a typed error, loses nothing acknowledged, and writing continues when space is free."""

import gc
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.errors import StoreError
from sleuth.store.store import Store
from tests.commands import sleuth
from tests.faults.adder import add, legs
from tests.faults.proof import prove


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of 14 MB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    result = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=14m", "tmpfs", mount], capture_output=True, check=False
    )
    if result.returncode:
        pytest.skip("mounting a small disk needs root")
    yield mount
    gc.collect()  # mapped files of a store that is closed
    subprocess.run(["umount", mount], check=True)


@pytest.mark.parametrize("filler", [0, 1 << 20, (1 << 20) + 300_000])
def test_disk_full(small_disk: Path, filler: int) -> None:
    """After the disk was full several times and space is free again, everything acknowledged is there."""
    path = small_disk / "index"
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"\1" * (8 << 20))  # a merge takes as much as the texts
    (small_disk / "filler").write_bytes(b"\1" * filler)
    additions: set[int] = set()
    deleted: set[int] = set()
    failures: list[str] = []
    with Store.open(path, create=True) as store:
        store.attach(legs())
        batch = 0
        while len(failures) < 3:
            try:
                with store.writer() as writer:
                    deleted_batch = add(writer, batch, size=8000)
                additions.add(batch)
                deleted |= {deleted_batch} if deleted_batch is not None else set()
            except StoreError as error:
                failures.append(str(error))
            batch += 1
    assert additions
    assert all("full" in failure or "space" in failure for failure in failures), failures
    ballast.write_bytes(b"")
    os.truncate(small_disk / "filler", 0)
    prove(path, additions, deleted)


def test_reading_on_a_full_disk(small_disk: Path) -> None:
    """Status, doctor and search on a full disk answer, or name the full disk: never only a failed read or write."""
    path = small_disk / "index"
    with Engine.open(path, create=True, embedder="") as engine:
        engine.add([Document("some words", id="a")])
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(b"\1" * 4096)
    for arguments in (["status"], ["doctor"], ["search", "words"]):
        process = sleuth(*arguments, "--index", str(path), cwd=small_disk)
        output = process.stdout + process.stderr
        assert "disk I/O error" not in output, arguments
        assert process.returncode == 0 or "is full" in output, (arguments, output)
