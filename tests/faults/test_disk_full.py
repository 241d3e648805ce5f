"""R5: a full disk raises a typed error, loses nothing acknowledged, and writing continues when space is free."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.errors import StoreError
from sleuth.store.store import Store
from tests.commands import sleuth
from tests.faults.adder import add, legs
from tests.faults.limiting import small_disk
from tests.faults.proof import prove


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 14 MB."""
    with small_disk(tmp_path / "disk", megabytes=14) as disk:
        yield disk


@pytest.mark.parametrize("filler", [0, 1 << 20, (1 << 20) + 300_000])
def test_disk_full(disk: Path, filler: int) -> None:
    """After the disk was full several times and space is free again, everything acknowledged is there."""
    path = disk / "index"
    ballast = disk / "ballast"
    ballast.write_bytes(b"\1" * (8 << 20))  # a merge takes as much as the texts
    (disk / "filler").write_bytes(b"\1" * filler)
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
    os.truncate(disk / "filler", 0)
    prove(path, additions, deleted)


def test_reading_on_a_full_disk(disk: Path) -> None:
    """Status, doctor and search on a full disk answer, or name the full disk: never only a failed read or write."""
    path = disk / "index"
    with Engine.open(path, create=True, embedder="") as engine:
        engine.add([Document("some words", id="a")])
    with (disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(b"\1" * 4096)
    for arguments in (["status"], ["doctor"], ["search", "words"]):
        process = sleuth(*arguments, "--index", str(path), cwd=disk)
        output = process.stdout + process.stderr
        assert "disk I/O error" not in output, arguments
        assert process.returncode == 0 or "is full" in output, (arguments, output)
