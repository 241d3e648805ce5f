"""The memory that indexing takes does not grow with the corpus."""

from pathlib import Path

import pytest

from tests.commands import python

INDEX = Path(__file__).with_name("indexing.txt").read_text("utf8")
"""Prints the largest resident memory of the process, in units of 1,024 bytes."""
MERGE = Path(__file__).with_name("merging.txt").read_text("utf8")
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
