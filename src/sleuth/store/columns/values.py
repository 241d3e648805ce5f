"""Reads values back out of columns: which values some rows have, and of which kinds."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.filters.tree import Scalar
from sleuth.store.columns.column import BARE, FALSE, FIRST_INTEGER, Column, text_of

KINDS: Final = ("boolean", "integer", "number", "string", "array", "bare")
"""Kinds of values, in the order of their codes; "bare" is an empty list or an object."""


class RowCodes(NamedTuple):
    """Rows that have a key and the codes of their scalars; a row with a list comes once for each element.

    Attributes:
        rows: shape (m,), int64, ordinals.
        codes: shape (m,), int64.
    """

    rows: NDArray[np.int64]
    codes: NDArray[np.int64]


def scalar_rows(column: Column, rows: NDArray[np.int64]) -> RowCodes:
    """Return the scalars that these rows have, as codes of the column.

    Args:
        rows: ordinals, shape (n,).
    """
    codes = column.row_codes()[rows].astype(np.int64)
    is_list = codes >= column.first_list
    is_scalar = (codes >= FALSE) & ~is_list
    owners, elements = column.lists.elements_of(codes[is_list] - column.first_list)
    return RowCodes(
        np.concatenate((rows[is_scalar], rows[is_list][owners])),
        np.concatenate((codes[is_scalar], elements)),
    )


def values_of(column: Column, codes: NDArray[np.int64]) -> list[Scalar]:
    """Return the scalars that these codes mean.

    Args:
        codes: of scalars, ascending, shape (n,).
    """
    booleans, integers, floats, strings = np.split(
        codes, np.searchsorted(codes, [FIRST_INTEGER, column.first_float, column.first_string])
    )
    values: list[Scalar] = [bool(code - FALSE) for code in booleans]
    values += column.integers[integers - FIRST_INTEGER].tolist()
    values += column.floats[floats - column.first_float].tolist()
    return values + [text_of(column.strings.item(code)) for code in strings - column.first_string]


def kinds_of(column: Column, rows: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the rows that have a value of each kind, as ordinals; kinds without a row are left out."""
    codes = column.row_codes()[rows]
    starts = (FALSE, FIRST_INTEGER, column.first_float, column.first_string, column.first_list)
    places = np.searchsorted(starts, codes, side="right") - 1
    rows_by_kind = {kind: rows[places == place] for place, kind in enumerate(KINDS[:-1])}
    rows_by_kind[KINDS[-1]] = rows[codes == BARE]
    return {kind: members for kind, members in rows_by_kind.items() if len(members)}
