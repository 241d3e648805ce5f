"""The memory that indexing takes does not grow with the corpus."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INDEX = """
import re, sys
from pathlib import Path
from sleuth import Document, Engine
folder, count = sys.argv[1], int(sys.argv[2])
words = "river stone light paper garden engine window letter winter market".split()
documents = (
    Document(
        f"The {words[n % 10]} and the {words[n // 10 % 10]} of w{n}",
        {"year": n % 50, "number": n * 7919, "name": f"{n * 7919 % 1_000_003:060}"},
        id=f"row-{n}",
    )
    for n in range(count)
)
with Engine.open(folder, create=True) as engine:
    engine.add(documents)
    engine.compact()
print(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""
"""Prints the largest resident memory of the process, in units of 1,024 bytes."""


def peak(folder: Path, count: int) -> float:
    """Return the MB that it takes to index so many short documents with the default legs."""
    command = [sys.executable, "-c", INDEX, str(folder), str(count)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1000


@pytest.mark.skipif(
    not Path("/proc/self/status").is_file(), reason="the peak of a process is read from /proc"
)
def test_the_peak_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """Five times as many documents take at most 50 MB more; their vectors alone are 61 MB more."""
    small, large = peak(tmp_path / "small", 30_000), peak(tmp_path / "large", 150_000)
    assert large < small + 50, (small, large)
    assert large < 300
