"""Argument checks that many packages use."""

import ast
import pickle
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from sleuth.errors import LoadError, MissingPackageError
from sleuth.knowledge_base.errors import wrapped

SRC = Path(__file__).parents[1] / "src" / "sleuth"


def test_k_is_checked_in_one_place() -> None:
    """No other module checks the type of `k` or `limit` itself."""
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                assert ast.unparse(node.args[0]) not in ("k", "limit", "num_results"), path


MADE = type("Made", (ClientError,), {})({"Error": {"Code": "Slow"}}, "Retrieve")
ERRORS = [LoadError("a.txt", "bad"), MissingPackageError("ray", "ray", "a cluster"), wrapped(MADE, "slow")]


@pytest.mark.parametrize("error", ERRORS)
def test_errors_cross_processes(error: BaseException) -> None:
    """Errors are pickled with their message and attributes."""
    read = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(read), vars(read), type(read).__name__) == (str(error), vars(error), type(error).__name__)
