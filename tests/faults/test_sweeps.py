"""Another process may sweep the folder of segments at any moment while one adds."""

import os
import subprocess
from pathlib import Path

from sleuth.store.store import Store
from tests.faults.adder import legs
from tests.faults.proof import ROOT, command, prove, told

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
