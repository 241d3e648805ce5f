"""Argument checks that many packages use."""

import ast
import pickle
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sleuth.errors import FilterError, LoadError, MissingPackageError, StorageError
from sleuth.knowledge_base.errors import local_error, wrapped

SRC = Path(__file__).parents[1] / "src" / "sleuth"


def test_k_is_checked_in_one_place() -> None:
    """No other module checks the type of `k` or `limit` itself."""
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                assert ast.unparse(node.args[0]) not in ("k", "limit", "num_results"), path


THROTTLED: Any = {"Error": {"Code": "Throttled"}, "ResponseMetadata": {"HTTPStatusCode": 429}}
MADE = type("MadeByBoto", (ClientError,), {})(THROTTLED, "Retrieve")


ERRORS = [
    LoadError("a.txt", "broken", kind="limits"), MissingPackageError("ray", "ray", "a cluster"),
    FilterError("unknown", where="year"), StorageError("no such bucket", path="s3://bucket"),
    local_error("Throttled", "slow", "Retrieve"), wrapped(MADE, "slow down"),
]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS)
def test_errors_cross_processes(error: BaseException) -> None:
    """Errors are pickled and copied with their message and attributes, and are of the same kinds."""
    for copied in (pickle.loads(pickle.dumps(error)), copy(error)):  # noqa: S301 - our own bytes
        assert (str(copied), copied.args, vars(copied)) == (str(error), error.args, vars(error))
        assert {*type(error).__mro__} - {*type(copied).__mro__} <= {type(error), type(MADE)}
