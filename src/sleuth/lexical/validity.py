"""Checks that the arrays of a lexical segment are such as the leg makes, before kernels trust them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError
from sleuth.lexical.fields import FieldLengths, lengths_by_field
from sleuth.lexical.postings import GONE, GROUP, LARGE, MOST_ROWS, FieldPostings, stride_of
from sleuth.store import array_of, check_offsets, require
from sleuth.store.disk.scratch import windows
from sleuth.store.legs.arrays import arrays_of, check_rising, integer_of

_MOST_TOTAL: Final = 1 << 62
"""Greatest sum of row lengths that a segment may state."""


def validate_fields(
    fields: Mapping[str, Mapping[str, NDArray[Any]]], facts: Mapping[str, Any], n: int, *, full: bool
) -> None:
    """Check the arrays of a field and of those of its languages; raise if `PostingsWriter` cannot have written them.

    Args:
        fields: arrays by name of the field; the first tells of which field each row is, where there are several.
        facts: what the segment stores of each field: {"total": sum of lengths, "filled": rows of length above 0}.
        n: how many rows the segment has.
        full: whether the postings of every term are checked, too; otherwise those of a term are checked when they are
            first read (`FieldPostings.locate`).

    Raises:
        ValueError: says what is wrong.
    """
    require(n <= MOST_ROWS, f"a segment must have at most {MOST_ROWS} rows, got {n}")
    first = next(iter(fields.values()))
    lengths, languages = array_of(first, "lengths", np.uint32, (n,)), np.zeros(n, np.uint8)
    if len(fields) > 1:
        languages = array_of(first, "languages", np.uint8, (n,))
        require(languages.max(initial=0) < len(fields), f"'languages' must be below {len(fields)}")
    for name, counted in lengths_by_field([*fields], lengths, languages).items():
        try:
            _validate_field(fields[name], facts.get(name), counted, n, full=full)
        except ValueError as error:
            raise ValueError(f"field {name!r}: {error}") from error


def _validate_field(
    arrays: Mapping[str, NDArray[Any]], facts: object, counted: FieldLengths, n: int, *, full: bool
) -> None:
    total, filled = integer_of(facts, "total", 0, _MOST_TOTAL), integer_of(facts, "filled", 0, n)
    require((total, filled) == counted, "the lengths of rows are not those that were counted")
    n_terms = _check_dictionary(arrays)
    dense_terms = _check_lists(arrays, n_terms)
    n_dense, stride = len(dense_terms), stride_of(n)
    df, starts, stream, *_ = arrays_of(
        arrays,
        {
            "dense_df": (np.uint32, (n_dense,)),
            "dense_starts": (np.uint64, (n_dense + 1,)),
            "stream": (np.uint8, (None,)),
            "maxima": (np.uint8, (n_dense * stride,)),
            "sizes": (np.uint8, (n_dense * stride,)),
            "anchors": (np.uint32, (n_dense * (stride // GROUP),)),
        },
    )
    check_offsets("dense_starts", starts, len(stream))
    sizes = np.diff(starts)
    require(
        np.all((df > 0) & (df <= n) & (sizes >= df) & (sizes <= 2 * df.astype(np.uint64))),
        "'dense_df' must fit the stream",
    )
    counts = array_of(arrays, "large_counts", np.uint32, (None,))
    arrays_of(arrays, dict.fromkeys(("large_terms", "large_docs"), (np.uint32, counts.shape)))
    is_large = all(not len(piece) or int(piece.min()) >= LARGE for piece in windows(counts))
    require(is_large, f"'large_counts' must be {LARGE} and more")
    if full:
        try:
            FieldPostings(arrays, "its arrays").check()
        except IndexDamagedError as error:
            raise ValueError(str(error)) from error


def _check_dictionary(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return how many terms there are."""
    term_bytes, starts, slots = arrays_of(
        arrays,
        {
            "term_bytes": (np.uint8, (None,)),
            "term_starts": (np.uint32, (None,)),
            "slots": (np.uint32, (None,)),
        },
    )
    check_offsets("term_starts", starts, len(term_bytes))
    n_terms = len(starts) - 1
    greatest, free = 0, 0
    for piece in windows(slots):
        greatest, free = (
            max(greatest, int(piece.max(initial=0))),
            free + len(piece) - int(np.count_nonzero(piece)),
        )
    require(
        len(slots) > n_terms and len(slots) & (len(slots) - 1) == 0 and greatest <= n_terms,
        f"'slots' must be a power of two of places of {n_terms} terms",
    )
    require(free > 0, "'slots' must leave a place free")
    return n_terms


def _check_lists(arrays: Mapping[str, NDArray[Any]], n_terms: int) -> NDArray[np.uint32]:
    """Return the terms that are dense: all that have no list."""
    starts, entries, dense_terms = arrays_of(
        arrays,
        {
            "list_starts": (np.uint32, (n_terms + 1,)),
            "entries": (np.uint32, (None,)),
            "dense_terms": (np.uint32, (None,)),
        },
    )
    array_of(arrays, "impacts", np.uint8, entries.shape)
    require(len(entries) < GONE, f"'entries' must be fewer than {GONE}")
    check_offsets("list_starts", starts, len(entries))
    check_rising("dense_terms", dense_terms, n_terms)
    without, first = [np.zeros(0, np.int64)], 0
    for piece in windows(starts, 1):
        without.append(first + np.flatnonzero(piece[1:] == piece[:-1]))
        first += len(piece) - 1
    require(
        np.array_equal(np.concatenate(without), dense_terms), "'dense_terms' must be the terms without a list"
    )
    return dense_terms
