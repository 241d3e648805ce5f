"""The memory that indexing takes does not grow with the corpus."""

from pathlib import Path

import pytest

from tests.commands import python

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
MERGE = """
import re, sys
from pathlib import Path
import numpy as np
from sleuth.lexical.leg import FieldSpec, LexicalLeg
from sleuth.store import Rows, SegmentView
from sleuth.store.catalogue.manifest import SegmentEntry
from sleuth.store.catalogue.merging import merge
from sleuth.columns.leg import ColumnsLeg
folder, name, copies, n = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), 20_000
words = "river stone light paper garden engine window letter winter market".split()
texts = [f"The {words[i % 10]} and the {words[i // 10 % 10]} of w{i}" for i in range(n)]
metadata = [{"year": i % 50, "name": f"{i * 7919 % 1_000_003:060}"} for i in range(n)]
leg = LexicalLeg({"text": FieldSpec()}) if name == "lexical" else ColumnsLeg()
data = leg.build(Rows(np.arange(n), None, {"text": texts}, metadata))
ranges = [range(i * n, i * n + n) for i in range(copies)]
views = [SegmentView(str(keys), keys, None, None, data.arrays, data.meta) for keys in ranges]
entries = [
    SegmentEntry(str(keys), leg.name, leg.fingerprint, keys[0], keys[-1], n, 0, 0, False) for keys in ranges
]
folder.mkdir()
merge(leg, entries, views, folder)
print(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""
"""Merges a segment with copies of itself, and prints the same."""


pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").is_file(), reason="the peak of a process is read from /proc"
)


def peak(program: str, *arguments: object) -> float:
    """Return the MB that a program takes."""
    return int(python(program, *arguments).stdout) / 1000


@pytest.mark.slow
def test_the_peak_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """Five times as many documents take at most 50 MB more; their vectors alone are 61 MB more."""
    small, large = peak(INDEX, tmp_path / "small", 30_000), peak(INDEX, tmp_path / "large", 150_000)
    assert large < small + 50, (small, large)
    assert large < 300


@pytest.mark.parametrize("leg", ["lexical", "columns"])
def test_a_merge_takes_few_bytes_a_row(tmp_path: Path, leg: str) -> None:
    """A merge of 2,000,000 rows takes at most 33 MB more than one of 200,000: 18 bytes a row."""
    small, large = (peak(MERGE, tmp_path / str(copies), leg, copies) for copies in (10, 100))
    assert large < small + 33, (small, large)
