"""R2: after a power cut at any moment, what was acknowledged is there, and nothing that was deleted comes back.

The writes and syncs of a process are recorded, and replayed to each cut: without what was not synced, with all of it,
and with a random part of it, sector by sector.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.proof import command, prove, told
from tests.faults.recording import Call, Disk, record
from tests.faults.test_syncs import STRACE

pytestmark = pytest.mark.skipif(STRACE is None, reason="strace is not installed")
CUTS = int(os.environ.get("SLEUTH_CUTS", "9"))
"""Cuts of each recording; `make campaigns` makes hundreds."""


def moments(calls: list[Call]) -> list[int]:
    """Return after how many calls power is cut: before and after syncs, and at random moments."""
    syncs = [i + after for i, call in enumerate(calls) if call.kind == "sync" for after in (0, 1)]
    rng = random.Random(len(calls))
    chosen = rng.sample(syncs, min(len(syncs), CUTS * 2 // 3))
    return sorted([*chosen, *rng.choices(range(len(calls)), k=CUTS - len(chosen))])


def cut(calls: list[Call], source: Path, target: Path, proof: Callable[[Path, list[str]], None]) -> int:
    """Replay calls, and prove what is left at each cut; the number of cuts."""
    disk = Disk()
    said = b""
    done = 0
    for number, moment in enumerate(moments(calls)):
        for call in calls[done:moment]:
            said += call.data if call.kind == "say" else b""
            disk.apply(call)
        done = moment
        lost = (1.0, 0.5, 0.0)[number % 3]
        left = target / f"cut-{number}"
        left.mkdir(parents=True)
        disk.write(source, left, random.Random(number), lost)
        try:
            proof(left, said.decode().splitlines(keepends=True))
        except Exception as error:
            raise AssertionError(
                f"cut {number} after call {moment} of {len(calls)}, {lost:.0%} lost: {error}"
            ) from error
        shutil.rmtree(left)
    return number + 1


def prove_documents(path: Path, said: list[str]) -> None:
    added, deleted = told(said)
    prove(path / "index", added, deleted)


def test_documents(tmp_path: Path) -> None:
    """Adding, replacing, deleting and merging documents, in files and in the record."""
    source = tmp_path / "source"
    source.mkdir()
    calls = record([*command(source / "index", 0, 12), "files"], source, tmp_path / "trace")
    assert sum(call.kind == "sync" for call in calls) > 20
    assert cut(calls, source, tmp_path / "left", prove_documents) == CUTS
