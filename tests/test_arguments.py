"""Argument checks that many packages use."""

import ast
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "sleuth"


def test_k_is_checked_in_one_place() -> None:
    """No other module checks the type of `k` or `limit` itself."""
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                assert ast.unparse(node.args[0]) not in ("k", "limit", "num_results"), path
