"""The memory that indexing takes does not grow with the corpus."""

import re
from pathlib import Path

import numpy as np
import pytest

from sleuth import Document, Engine
from sleuth.columns.leg import ColumnsLeg
from sleuth.lexical import LexicalLeg
from sleuth.lexical.leg import FieldSpec
from sleuth.store import Rows, SegmentView
from sleuth.store.catalogue.manifest import SegmentEntry
from sleuth.store.catalogue.merging import merge
from tests.commands import python

STATUS = Path("/proc/self/status")
WORDS = ["river", "stone", "light", "paper", "garden", "engine", "window", "letter", "winter", "market"]

pytestmark = pytest.mark.skipif(not STATUS.is_file(), reason="the peak of a process is read from /proc")


def document(n: int) -> Document:
    text = f"The {WORDS[n % 10]} and the {WORDS[n // 10 % 10]} of w{n}"
    return Document(text, {"year": n % 50, "name": f"{n * 7919 % 1_000_003:060}"}, id=f"row-{n}")


def index(folder: str, count: int) -> None:
    with Engine.open(folder, create=True) as engine:
        engine.add(map(document, range(count)))
        engine.compact()


def merge_copies(folder: str, name: str, copies: int, n: int = 20_000) -> None:
    """Merge a segment with copies of itself."""
    leg = LexicalLeg({"text": FieldSpec()}) if name == "lexical" else ColumnsLeg()
    documents = [document(i) for i in range(n)]
    texts, metadata = [each.page_content for each in documents], [each.metadata for each in documents]
    data = leg.build(Rows(np.arange(n), None, {"text": texts}, metadata))
    ranges = [range(i * n, i * n + n) for i in range(copies)]
    views = [SegmentView(str(keys), keys, None, None, data.arrays, data.meta) for keys in ranges]
    entries = [
        SegmentEntry(str(keys), leg.name, leg.fingerprint, keys[0], keys[-1], n, 0, 0, False)
        for keys in ranges
    ]
    Path(folder).mkdir()
    merge(leg, entries, views, Path(folder))


def peak(call: str) -> float:
    """Return the MB that a process takes for a call of a function of this module."""
    run = python(f"from tests.engine.test_memory import *; {call}; print(STATUS.read_text())")
    return int(re.findall(r"VmHWM:\s*(\d+) kB", run.stdout)[0]) / 1000


@pytest.mark.slow
def test_the_peak_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """Five times as many documents take at most 50 MB more; their vectors alone are 61 MB more."""
    small, large = (peak(f"index('{tmp_path / str(count)}', {count})") for count in (30_000, 150_000))
    assert large < small + 50, (small, large)
    assert large < 300


@pytest.mark.parametrize("leg", ["lexical", "columns"])
def test_a_merge_takes_few_bytes_a_row(tmp_path: Path, leg: str) -> None:
    """A merge of 2,000,000 rows takes at most 33 MB more than one of 200,000: 18 bytes a row."""
    small, large = (
        peak(f"merge_copies('{tmp_path / str(copies)}', '{leg}', {copies})") for copies in (10, 100)
    )
    assert large < small + 33, (small, large)
