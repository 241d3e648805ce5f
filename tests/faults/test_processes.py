"""R8: processes write, sweep and read one index; each result set is from one version."""

import os
import subprocess
import sys
import time
from pathlib import Path

from sleuth.store.store import Store
from tests.faults.adder import LEGS, legs
from tests.faults.proof import ROOT, command, outputs_of, prove, told
from tests.store.words import contents, faults, put

SECONDS = float(os.environ.get("SLEUTH_SECONDS", "2"))
STAMPED = 5
LEAST = 4
"""Commits of each writer and snapshots of each reader, also where the machine is too busy for them in that time."""


def write(path: str, name: str, seconds: float) -> None:
    """Write one number after another into the documents of this writer and the shared ones, each in one commit."""
    deadline = time.monotonic() + seconds
    count = 0
    with Store.open(path) as store:
        store.attach(legs())
        while count < LEAST or time.monotonic() < deadline:
            with store.writer(timeout=60) as writer:
                count += 1
                for i in range(STAMPED):
                    put(writer, f"shared-{i}", f"{name} {count}", f"{count} {name}")
                put(writer, f"{name}-{count % 7}", f"own {count}")
                if count % 5 == 0:
                    writer.delete([f"{name}-{(count + 3) % 7}"])
    print(count)


def read(path: str, seconds: float) -> None:
    """Read until the time is over; a mixture of versions fails an assertion."""
    deadline = time.monotonic() + seconds
    count, newest = 0, 0
    texts_by_version: dict[int, dict[str, str]] = {}
    with Store.open(path) as store:
        store.attach(legs())
        while count < LEAST or time.monotonic() < deadline:
            with store.reader() as snapshot:
                texts = contents(snapshot, LEGS[0])
                assert contents(snapshot, LEGS[1]) == texts
                version = snapshot.version
            stamps = {frozenset(text.split()) for name, text in texts.items() if name.startswith("shared")}
            assert len(stamps) <= 1, f"version {version} is a mixture: {stamps}"
            assert version >= newest, "a later reader saw an older version"
            assert texts_by_version.setdefault(version, texts) == texts, f"version {version} changed"
            count, newest = count + 1, version
    print(count)


def test_two_writers_and_four_readers(tmp_path: Path) -> None:
    """Every snapshot is one version, writers take turns, and the final index is sound."""
    path = tmp_path / "index"
    with Store.open(path, create=True) as store:
        store.attach(legs())
    code = (
        "import sys; from tests.faults import test_processes as module\n"
        "getattr(module, sys.argv[1])(*sys.argv[2:-1], float(sys.argv[-1]))"
    )
    tasks = [["write", str(path), "one"], ["write", str(path), "two"], *([["read", str(path)]] * 4)]
    commands = [[sys.executable, "-c", code, *task, str(SECONDS)] for task in tasks]
    counts = [int(output) for output in outputs_of(commands, timeout=SECONDS * 10 + 240)]
    assert min(counts) >= LEAST
    with Store.open(path) as store:
        assert store.attach(legs()) == []
        assert store.version == sum(counts[:2])
        store.wait()
        assert faults(store) == []


ADDS = 7 * int(os.environ.get("SLEUTH_RUNS", "2"))
"""Every add makes files of segments."""


def test_sweeps_of_another_process(tmp_path: Path) -> None:
    """While this process sweeps again and again, another one adds and merges, and none of its commits fails."""
    path = tmp_path / "index"
    with Store.open(path, create=True) as store:
        store.attach(legs())
        sweeps = 0
        with subprocess.Popen(
            [*command(path, 0, ADDS), "files"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as adder:
            assert adder.stdout is not None
            while adder.poll() is None:
                with store._database.locked(60, sweep=False) as connection:
                    store._database.sweep(connection)
                sweeps += 1
            lines = adder.stdout.readlines()
    assert sweeps > 1
    assert [line for line in lines if line.startswith("failed")] == []
    additions, deleted = told(lines)
    assert len(additions) == ADDS
    prove(path, additions, deleted)
