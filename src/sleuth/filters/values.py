"""Values of Python and of data frames as the strings, numbers and booleans that metadata and filters hold."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from math import isnan
from pathlib import PurePath
from typing import Any, Final, TypeAlias
from uuid import UUID

Value: TypeAlias = str | int | float | bool | date | time | Decimal | UUID | PurePath
"""What a filter takes for a scalar; numpy's scalars too, which this file does not import."""
PLAIN: Final = frozenset({str, int, float, bool})


def plain_scalar(value: Any) -> Any:
    """Return a scalar as one of the four plain types; other values as they are.

    - a date, a time and a datetime: ISO 8601, so that strings compare as dates;
    - a whole Decimal: an integer; another one: the nearest float;
    - UUID and path: a string;
    - scalars of numpy and pandas: what they are equal to;
    - NaN, `pandas.NA` and `NaT`: None.
    """
    if value is None or (type(value) in PLAIN and type(value) is not float):
        return value
    for kinds, plain in _FORMS:
        if isinstance(value, kinds):
            return plain(value)
    return _plain_numpy_or_pandas(value)


def _float(value: float) -> float | None:
    return None if isnan(value) else float.__float__(value)


def _number(value: Decimal) -> int | float | None:
    if value.is_nan():
        return None
    return (
        int(value)
        if value.is_finite() and abs(value.adjusted()) < 19 and value == int(value)
        else float(value)
    )


_FORMS: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, _float),
    (Decimal, _number),
    ((UUID, PurePath), str),
    ((date, time), lambda value: value.isoformat() if value == value else None),  # noqa: PLR0124  # NaT is a datetime
)
"""Types with the function that gives their plain form."""


def _plain_numpy_or_pandas(value: Any) -> Any:
    """Return a scalar of numpy or pandas as a plain one, NA, NaN and NaT as None, other values as they are.

    Neither package is imported: a scalar of it can exist only if it is loaded already.
    """
    pandas, numpy = sys.modules.get("pandas"), sys.modules.get("numpy")
    if pandas is not None and value is getattr(pandas, "NA", object()):
        return None
    if numpy is None or not isinstance(value, numpy.generic):
        return value
    if isinstance(value, numpy.datetime64):
        return None if numpy.isnat(value) else _moment(value.astype("datetime64[us]").item(), value)
    is_plain = isinstance(value, numpy.integer | numpy.bool_) and not isinstance(value, numpy.timedelta64)
    if is_plain:
        return value.item()
    return _float(float(value)) if isinstance(value, numpy.floating) else value


def _moment(moment: Any, value: Any) -> Any:
    """Return a date for a value of whole days, months or years, and else a datetime; years beyond 9999 as they are."""
    if not isinstance(moment, datetime):
        return value
    is_day = str(value.dtype) in ("datetime64[D]", "datetime64[W]", "datetime64[M]", "datetime64[Y]")
    return (moment.date() if is_day else moment).isoformat()
