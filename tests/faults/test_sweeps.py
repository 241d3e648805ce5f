"""Another process may sweep the folder of segments at any moment while one adds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sleuth.store import SegmentData
from sleuth.store.catalogue import segment_files, segments
from sleuth.store.disk.files import open_file
from sleuth.store.store import Store
from tests.faults.adder import legs
from tests.faults.proof import ROOT, command, prove, told

ADDS = 7 * int(os.environ.get("SLEUTH_RUNS", "2"))
"""Every add makes files of segments."""


def test_a_sweep_between_creation_and_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another process sweeps before its maker has locked it is made again, and then left alone."""
    names: list[str] = []

    def open_and_sweep(path: Path, flags: int, **more: Any) -> int:
        fd = open_file(path, flags, **more)
        if flags & os.O_CREAT:
            names.append(path.name)
            if len(names) < 3:
                segment_files.sweep(tmp_path, ())
                assert list(tmp_path.iterdir()) == []
        return fd

    monkeypatch.setattr(segment_files, "open_file", open_and_sweep)
    encoded = segments.encode(
        "sums", "sums/1", 1, 9, np.arange(1, 10), None, SegmentData({"a": np.arange(9)}, {})
    )
    segment_file = segment_files.Held(tmp_path, encoded)
    assert names == [f"{encoded.name}.tmp"] * 3
    segment_files.sweep(tmp_path, ())
    assert segment_file.path.read_bytes() == b"".join(encoded.parts)
    segment_file.release()
    segment_files.sweep(tmp_path, ())
    assert list(tmp_path.iterdir()) == []


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
