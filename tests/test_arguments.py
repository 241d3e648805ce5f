"""Argument checks that many packages use."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sleuth.arguments import check_count
from sleuth.errors import ArgumentError

SRC = Path(__file__).parents[1] / "src" / "sleuth"


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_integers_of_every_kind_are_counts(value: Any) -> None:
    """A count is returned as an int, also for an integer of NumPy."""
    assert check_count(value) == 3
    assert type(check_count(value)) is int


@pytest.mark.parametrize("value", [True, np.True_, -1, np.int64(-1), 1.0, "1", None])
def test_what_is_not_a_count_is_refused(value: Any) -> None:
    """Booleans, fractions, texts and negative numbers raise an error with argument, rule and value."""
    with pytest.raises(ArgumentError) as raised:
        check_count(value, "depth")
    assert str(raised.value) == f"depth must be an int of 0 or more, got {value!r}"


def test_a_count_may_have_a_lower_bound() -> None:
    """A count below the minimum is refused."""
    assert check_count(1, least=1) == 1
    with pytest.raises(ArgumentError, match="k must be an int of 1 or more, got 0"):
        check_count(0, least=1)


def test_k_is_checked_in_one_place() -> None:
    """No other module checks the type of `k` or `limit` itself."""
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                assert ast.unparse(node.args[0]) not in ("k", "limit", "num_results"), path
