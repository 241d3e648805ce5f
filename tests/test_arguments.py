"""Argument checks that many packages use."""

import ast
from pathlib import Path

import pytest

from sleuth.arguments import check_count
from sleuth.errors import ArgumentError

SRC = Path(__file__).parents[1] / "src" / "sleuth"


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
