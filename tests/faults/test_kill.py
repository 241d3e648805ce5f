"""R1: a process that is killed while adding loses nothing that was acknowledged."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults import actions
from tests.faults.proof import ROOT, command, prove, told

RUNS = int(os.environ.get("SLEUTH_RUNS", "4"))
SERVER_RUNS = RUNS // 4
"""One takes seconds: a server starts, and starts again for the proof."""


def test_kill_while_adding(tmp_path: Path) -> None:
    """After many kills of one index, acknowledged batches are present and complete, legs agree, and
    writing continues.
    """
    rng = random.Random(20)
    path = tmp_path / "index"
    additions: set[int] = set()
    deleted: set[int] = set()
    first = total = 0
    for _ in range(RUNS):
        with subprocess.Popen(command(path, first), cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline()]
            time.sleep(rng.random() * 0.25)
            process.kill()
            lines += process.stdout.readlines()
        new, deletions = told(lines)
        additions, deleted = additions | new, deleted | deletions
        present = prove(path, additions, deleted)
        first = max(present | additions, default=-1) + 1
        total += len(new)
        additions &= present  # the last commit, though not acknowledged, may have deleted one
        first += -first % 4  # so that no batch deletes one of an earlier run
    assert total > RUNS


def test_kill_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After many kills amid requests and commands, what was acknowledged is there, and all goes on."""
    monkeypatch.setenv("SLEUTH_CACHE", str(tmp_path / "cache"))
    rng = random.Random(51)
    facts: list[tuple[str, actions.Fact]] = []
    for first in range(SERVER_RUNS):
        command = actions.command(tmp_path, first)
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(rng.randint(1, 4))]
            time.sleep(rng.random())
            os.killpg(process.pid, signal.SIGKILL)
            lines += process.stdout.readlines()
        new = actions.told(lines)
        assert new
        actions.prove(tmp_path, [*rng.sample(facts, min(10, len(facts))), *new])
        facts += new
    actions.prove(tmp_path, facts)
