"""Four processes add, delete, merge, query and re-open for long: every answer is right, and nothing grows.

`make soak MINUTES=60` runs it for an hour.
"""

import json
import os
import statistics
import sys
from pathlib import Path

import pytest

from sleuth import Engine
from tests.dense.strategies import HashEmbedder
from tests.faults.proof import outputs_of

MINUTES = float(os.environ.get("SLEUTH_SOAK", "0.2"))
ROUNDS = 20
"""Of each process at least: halves of fewer are not worth a comparison."""
GROWTH = {"memory": 24 << 20, "files": 8, "disk": 16 << 20}
"""What the median of the second half may be above that of the first: a file left open in each round makes it 10 more.
Five more are usual, of segments that outgrow the record while the index fills."""


@pytest.mark.slow
def test_soak(tmp_path: Path) -> None:
    """Answers equal a model's; memory, open files and disk of the second half are those of the first."""
    path = tmp_path / "index"
    Engine.open(path, create=True, embedder=HashEmbedder()).close()
    arguments = [str(MINUTES * 60), str(ROUNDS)]
    command = [sys.executable, "-m", "tests.faults.soak", str(path)]
    outputs = outputs_of([*command, f"p{number}", *arguments] for number in range(4))
    print(f"\n{'process':10}{'rounds':>8}" + "".join(f"{name:>12}{'later':>12}" for name in GROWTH))
    for number, output in enumerate(outputs):
        rounds = [json.loads(line) for line in output.splitlines()][1:]  # the first one imports and allocates
        half = len(rounds) // 2
        medians = {
            name: [statistics.median(each[name] for each in part) for part in (rounds[:half], rounds[half:])]
            for name in GROWTH
        }
        print(f"p{number:<9}{len(rounds):8}" + "".join(f"{a:12.0f}{b:12.0f}" for a, b in medians.values()))
        assert {name: pair for name, pair in medians.items() if pair[1] - pair[0] > GROWTH[name]} == {}
    with Engine.open(path, embedder=HashEmbedder()) as engine:
        assert not engine.repairs
        assert [finding for finding in engine.check(full=True) if finding.level != "ok"] == []
