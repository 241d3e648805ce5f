"""Merges the postings of several segments in little memory.

Terms are numbered first, and how many postings each has; then postings are made for some terms at a time, and each such
part is appended to the arrays of the result. What was read of the segments is let go in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError
from sleuth.lexical.postings import (
    GONE,
    FieldPostings,
    PostingsWriter,
    empty_slots,
    fill_slots,
    is_dense,
    sizes_of,
    tally_segment,
    term_starts,
)
from sleuth.store import Scratch, SegmentView, unpack
from sleuth.store.disk.scratch import Growing, let_go

WINDOW = 8 << 20
"""Bytes of postings that are made at a time, about."""
_BYTES_OF_A_TERM = 48
"""What a term takes beside its postings while they are made."""
TERMS = 1 << 16
"""Terms of a segment that are read at a time."""
TERMS_OF_A_TABLE = 1 << 18
"""Terms that are compared with each other at a time, about: of more, some are, by their hash."""
MOST_TABLES = 16
"""All terms are read for each table; so very many terms have larger tables, of about as many bytes as their numbers."""

Arrays = dict[str, NDArray[Any]]
"""Of a field as segments keep them."""


class Kept(NamedTuple):
    """What is kept of a segment.

    Attributes:
        base: the new ordinal of its first live row.
        rows: the new ordinal of each row, GONE where it is not live; uint32. None where all are live.
    """

    base: int
    rows: NDArray[np.uint32] | None

    def values_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return those of the rows that are kept, given one of each row."""
        return values if self.rows is None else values[self.rows != GONE]


def number_rows(segments: Iterable[SegmentView]) -> tuple[list[Kept], int]:
    """Return what is kept of each segment, and how many rows there are in all."""
    live_rows: list[Kept] = []
    n = 0
    for segment in segments:
        if segment.live is None:
            live_rows.append(Kept(n, None))
            n += len(segment)
        else:
            live = unpack(segment.live, len(segment))
            rows = np.full(len(segment), GONE, np.uint32)
            alive = int(np.count_nonzero(live))
            rows[live] = np.arange(n, n + alive, dtype=np.uint32)
            live_rows.append(Kept(n, rows))
            n += alive
    return live_rows, n


def merge_field(
    parts: Sequence[FieldPostings],
    rows: Sequence[Kept],
    lengths: NDArray[np.uint32],
    norm: tuple[float, float],
    scratch: Scratch,
) -> Arrays:
    """Return the arrays of one field over the rows kept.

    Args:
        lengths: of the rows kept, shape (n,).
        norm: c0 and c1, as `PostingsWriter` takes them.
    """
    n = len(lengths)
    numbers, df, long_counts, words = _terms(parts, rows, n, scratch)
    output = _Joined(scratch)
    for first, stop in _windows(len(df), lambda some: sizes_of(df[some], long_counts[some], n)):
        writer = PostingsWriter(df[first:stop], long_counts[first:stop], lengths, *norm)
        for part, its, its_numbers in zip(parts, rows, numbers, strict=True):
            for begin in range(0, part.n_terms, TERMS):
                writer.add_segment(part, its_numbers, its.rows, its.base, first, begin, begin + TERMS)
                let_go(part.arrays["lengths"])  # and all pages of its segment, which lie in one file
            let_go(its_numbers)
        output.add(writer.finish(), first)
        for array in (lengths, df, long_counts):
            let_go(array)
    return {"lengths": lengths, **output.arrays(), **words}


def _terms(
    parts: Sequence[FieldPostings], live_rows: Sequence[Kept], n: int, scratch: Scratch
) -> tuple[list[NDArray[np.uint32]], NDArray[np.uint32], NDArray[np.uint32], Arrays]:
    """Per part the new number of each term, GONE where no row is left of it; rows and long counts of each term, as
    `PostingsWriter` takes them; and the arrays of the dictionary.
    """
    from sleuth.text.tokens import TermTable, number_terms

    ends = np.cumsum([part.n_terms for part in parts])
    firsts = np.zeros(int(ends[-1]), np.uint32)
    shares = min(MOST_TABLES, max(1, -(-len(firsts) // TERMS_OF_A_TABLE)))
    for share in range(shares):
        table = TermTable(share, shares)
        for part, end in zip(parts, ends.tolist(), strict=True):
            for first, data, starts in _terms_of(part):
                table.add(data, starts, firsts, end - part.n_terms + first)
        del table
    count = number_terms(firsts)
    numbers, n_terms = [scratch.keep(numbers) for numbers in np.split(firsts, ends[:-1])], count
    df, long_counts = _count(parts, live_rows, numbers, n_terms, n)
    is_present = df > 0
    if not is_present.all():
        renumbered = np.full(len(is_present), GONE, np.uint32)
        renumbered[is_present] = np.arange(int(np.count_nonzero(is_present)), dtype=np.uint32)
        numbers = [scratch.keep(renumbered[its]) for its in numbers]
        df, long_counts = df[is_present], long_counts[is_present]
    df, long_counts = scratch.keep(df), scratch.keep(long_counts)
    return numbers, df, long_counts, _dictionary(parts, numbers, len(df), scratch)


def _terms_of(part: FieldPostings) -> Iterator[tuple[int, NDArray[np.uint8], NDArray[np.uint32]]]:
    """Yield terms some at a time: the number of the first, their bytes end to end, and where they begin and end."""
    data, starts = part.arrays["term_bytes"], part.arrays["term_starts"]
    for first in range(0, part.n_terms, TERMS):
        piece_starts = starts[first : first + TERMS + 1]
        yield first, data[piece_starts[0] : piece_starts[-1]], piece_starts
        let_go(part.arrays["lengths"])


def _dictionary(
    parts: Sequence[FieldPostings], numbers: Sequence[NDArray[np.uint32]], n_terms: int, scratch: Scratch
) -> Arrays:
    """Return the arrays of the dictionary of so many terms, of which each part has those with these numbers."""
    data, starts, slots = scratch.growing(np.uint8), scratch.growing(np.uint32), empty_slots(n_terms)
    starts.append(np.zeros(1, np.uint32))
    count = size = 0
    for part, numbers_of_part in zip(parts, numbers, strict=True):
        first_new = count
        for first, data_of_terms, starts_of_terms in _terms_of(part):
            term_numbers, lengths = numbers_of_part[first : first + TERMS], np.diff(starts_of_terms)
            is_new = (term_numbers >= first_new) & (term_numbers != GONE)
            new_data = data_of_terms[np.repeat(is_new, lengths)]
            bounds = size + np.cumsum(np.append(0, lengths[is_new]))
            size = int(bounds[-1])
            bounds_of_new = term_starts(bounds)
            fill_slots(slots, new_data, bounds_of_new, count)
            count += len(bounds) - 1
            data.append(new_data)
            starts.append(bounds_of_new[1:])
        let_go(numbers_of_part)
    return {"term_bytes": data.array(), "term_starts": starts.array(), "slots": scratch.keep(slots)}


def _count(
    parts: Sequence[FieldPostings],
    live_rows: Sequence[Kept],
    numbers: Sequence[NDArray[np.uint32]],
    n_terms: int,
    n: int,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Count the rows of each term, and its long counts, for all terms that will be dense and maybe others.

    Postings are read of segments only that have lost rows, and of few terms of others.
    """
    df, long_counts = np.zeros(n_terms, np.uint32), np.zeros(n_terms, np.uint32)
    for part, its, terms in zip(parts, live_rows, numbers, strict=True):
        if its.rows is not None:
            _tally_live(part, its.rows, terms, df, long_counts)
            continue
        starts = part.arrays["list_starts"]
        for first in range(0, part.n_terms, TERMS):
            df[terms[first : first + TERMS]] += np.diff(starts[first : first + TERMS + 1])
            let_go(part.arrays["lengths"])
        df[terms[part.arrays["dense_terms"]]] += part.arrays["dense_df"]
        let_go(terms)
    dense = is_dense(df, n)
    for part, its, terms in zip(parts, live_rows, numbers, strict=True):
        if its.rows is not None:
            continue
        part_dense_terms = part.arrays["dense_terms"]
        # In the stream of a dense term each long count takes a byte more.
        long_counts[terms[part_dense_terms]] += (
            np.diff(part.arrays["dense_starts"]) - part.arrays["dense_df"]
        ).astype(np.uint32)
        in_lists = dense[terms]
        in_lists[part_dense_terms] = False
        for number in np.flatnonzero(in_lists).tolist():
            _, frequencies = part.postings(number)
            long_counts[terms[number]] += np.count_nonzero(frequencies >= 16)
            let_go(part.arrays["lengths"])
        let_go(terms)
    return df, long_counts


def _tally_live(
    part: FieldPostings,
    rows: NDArray[np.uint32],
    terms: NDArray[np.uint32],
    df: NDArray[np.uint32],
    long_counts: NDArray[np.uint32],
) -> None:
    """Add the rows of each term, and its long counts, of a segment that has lost rows."""
    starts, rows_of_term = part.arrays["list_starts"], np.zeros(part.n_terms, np.uint32)
    np.subtract(starts[1:], starts[:-1], out=rows_of_term)
    rows_of_term[part.arrays["dense_terms"]] = part.arrays["dense_df"]
    let_go(part.arrays["lengths"])
    for first, stop in _windows(len(terms), lambda some: 4 * rows_of_term[some].astype(np.int64)):
        some_terms = np.full(len(terms), GONE, np.uint32)
        some_terms[first:stop] = terms[first:stop]
        tally_segment(part, some_terms, rows, df, long_counts)
        let_go(part.arrays["lengths"])


def _windows(count: int, sizes: Callable[[slice], NDArray[np.int64]]) -> Iterator[tuple[int, int]]:
    """Half-open ranges of about WINDOW bytes that cover so many terms; at least one.

    Args:
        sizes: gives the bytes of the postings of some terms.
    """
    first = size = 0
    for begin in range(0, count, TERMS):
        ends, window_start = size + np.cumsum(sizes(slice(begin, begin + TERMS)) + _BYTES_OF_A_TERM), 0
        while (place := int(np.searchsorted(ends, window_start + WINDOW))) < len(ends):
            yield first, begin + place + 1
            first, window_start = begin + place + 1, int(ends[place])
        size = int(ends[-1]) - window_start
    if first < count or not count:
        yield first, count


class _Joined:
    """Arrays of ranges of terms, one after the other, on their way to become those of all."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._grown: dict[str, Growing] = {}
        self._ends = {"list_starts": 0, "dense_starts": 0}

    def add(self, arrays: Arrays, first: int) -> None:
        """Append the arrays of a range of terms, which begins at the term `first`.

        Offsets and numbers of terms begin at 0 in each range, so what was appended before is added to them.
        """
        for name, array in arrays.items():
            piece = array
            if name in self._ends:
                piece = array + array.dtype.type(self._ends[name])
                self._ends[name] += int(array[-1])
                if self._ends[name] >= GONE and name == "list_starts":
                    raise ArgumentError(
                        f"a segment must hold fewer than {GONE} postings of rare terms, got {self._ends[name]}"
                    )
                piece = piece[1:] if first else piece
            elif name in ("dense_terms", "large_terms"):
                piece = array + np.uint32(first)
            if name != "lengths":
                self._grown.setdefault(name, self._scratch.growing(piece.dtype)).append(piece)

    def arrays(self) -> Arrays:
        """Return those of all terms."""
        return {name: piece_list.array() for name, piece_list in self._grown.items()}
