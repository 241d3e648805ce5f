"""The tables of docs/concepts/filters.md are true."""

from pathlib import Path

import sleuth.filters.match
from sleuth.filters.tree import MAX_DEPTH, OPERATORS

GUIDE = Path(__file__).parents[2] / "docs" / "concepts" / "filters.md"


def test_it_has_the_truth_table() -> None:
    """The truth table of the guide equals the one in the code."""
    lines = [line for line in str(sleuth.filters.match.__doc__).splitlines() if line.startswith("|")]
    assert len(lines) == 13
    assert "\n".join(lines) in GUIDE.read_text("utf8")


def test_it_names_every_operator_and_the_limit() -> None:
    """The guide names each operator of dicts and the maximum depth."""
    text = GUIDE.read_text("utf8")
    assert [name for name in OPERATORS if f"`${name}`" not in text] == []
    assert f"deeper than {MAX_DEPTH}" in text
