"""Values of Python, numpy and pandas as metadata and filters keep them."""

import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from sleuth.filters import Compare, as_filter, field
from sleuth.filters.values import plain_scalar


@pytest.mark.parametrize(("value", "plain"), [
    (datetime(2024, 1, 31, 10, tzinfo=UTC), "2024-01-31T10:00:00+00:00"),
    (date(2024, 1, 31), "2024-01-31"), (time(10, 30), "10:30:00"), (Decimal("3.00"), 3),
    (Decimal("2.50"), 2.5), (Decimal("1e30"), 1e30), (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (PurePosixPath("a/b.md"), "a/b.md"), (np.int64(3), 3), (np.int64(-3), -3), (np.uint8(3), 3),
    (np.bool_(True), True), (np.float32(2.5), 2.5),
    (np.datetime64("2024-01"), "2024-01-01"), (np.datetime64("2024-01-31T10:00:00"), "2024-01-31T10:00:00"),
    (np.datetime64("2024-01-31T10:00:00.000000001"), "2024-01-31T10:00:00"),
])  # fmt: skip
def test_values_with_a_plain_form(value: Any, plain: Any) -> None:
    """Each value has one plain form, and a filter takes both."""
    assert (plain_scalar(value), type(plain_scalar(value))) == (plain, type(plain))
    assert as_filter({"key": value}) == Compare("key", "eq", plain)
    assert field("key").is_in([value]) == field("key").is_in([plain])
    assert field("key").not_in(np.array([value])) == field("key").not_in([plain])


@pytest.mark.parametrize(
    "value", [float("nan"), np.float32("nan"), np.datetime64("NaT"), Decimal("NaN"), Decimal("sNaN"), None]
)
def test_missing_values_are_null(value: Any) -> None:
    """NaN and NaT are the null of data frames."""
    assert plain_scalar(value) is None


@pytest.mark.parametrize("value", [b"x", {1}, np.timedelta64(3, "D"), np.complex64(1), object])
def test_other_values_stay(value: Any) -> None:
    """A value without a plain form is left as it is, for others to refuse."""
    assert plain_scalar(value) is value


def test_a_pandas_that_is_being_imported_changes_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """While another thread imports pandas, its module is there without NA."""
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    assert plain_scalar(b"x") == b"x"
    assert plain_scalar(np.int64(3)) == 3
