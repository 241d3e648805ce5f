"""Checks of arguments that functions of many rooms take."""

from __future__ import annotations

import operator
from typing import Any

from sleuth.errors import ArgumentError


def check_count(value: Any, argument: str = "k", *, least: int = 0) -> int:
    """Return a count as an int; integers of NumPy are accepted, booleans are not.

    Raises:
        ArgumentError: the value is not an integer, or is below `least`.
    """
    if type(value) is int and value >= least:
        return value
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ArgumentError(f"{argument} must be an int of {least} or more, got {value!r}")
    return number
