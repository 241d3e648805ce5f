"""Merges the postings of several segments in little memory.

Terms are numbered first, and how many postings each has; then postings are made for some terms at a time, and each such
part is appended to the arrays of the result. What was read of the segments is let go in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError
from sleuth.lexical.arrays import Arrays, dictionary
from sleuth.lexical.postings import GONE, FieldPostings, PostingsWriter, is_dense, sizes_of, tally_segment
from sleuth.store import Growing, Scratch, SegmentView, let_go, unpack

if TYPE_CHECKING:
    from sleuth.text import TermTable

WINDOW = 8 << 20
"""Bytes of postings that are made at a time, about."""

Norm = Callable[[NDArray[np.uint32]], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a segment.

    Attributes:
        rows: the new ordinal of each row, GONE where it is not live; uint32.
        whole: whether all of them are live.
    """

    rows: NDArray[np.uint32]
    whole: bool


def number_rows(segments: Iterable[SegmentView]) -> tuple[list[Kept], int]:
    """Return what is kept of each segment, and how many rows there are in all."""
    live_rows: list[Kept] = []
    n = 0
    for segment in segments:
        if segment.live is None:
            live_rows.append(Kept(np.arange(n, n + len(segment), dtype=np.uint32), whole=True))
            n += len(segment)
        else:
            live = unpack(segment.live, len(segment))
            rows = np.full(len(segment), GONE, np.uint32)
            alive = int(np.count_nonzero(live))
            rows[live] = np.arange(n, n + alive, dtype=np.uint32)
            live_rows.append(Kept(rows, whole=False))
            n += alive
    return live_rows, n


def merge_field(
    parts: Sequence[FieldPostings], rows: Sequence[Kept], n: int, norm: Norm, scratch: Scratch
) -> Arrays:
    """Return the arrays of one field over the `n` rows kept.

    Args:
        norm: what impacts are made with, of rows of these lengths.
    """
    lengths = np.zeros(n, np.uint32)
    for part, its in zip(parts, rows, strict=True):
        alive = its.rows != GONE
        lengths[its.rows[alive]] = part.arrays["lengths"][alive]
    _let_go(parts)
    numbers, df, long_counts, words = _terms(parts, rows, n, scratch)
    output = _Joined(scratch)
    c0, c1 = norm(lengths)
    for first, last in _windows(sizes_of(df, long_counts, n)):
        writer = PostingsWriter(df[first:last], long_counts[first:last], lengths, c0, c1)
        for part, its, its_numbers in zip(parts, rows, numbers, strict=True):
            writer.add_segment(part, its_numbers, its.rows, first)
        _let_go(parts)
        output.add(writer.finish(), first)
    return {"lengths": scratch.keep(lengths), **output.arrays(), **words}


def _terms(
    parts: Sequence[FieldPostings], live_rows: Sequence[Kept], n: int, scratch: Scratch
) -> tuple[list[NDArray[np.uint32]], NDArray[np.uint32], NDArray[np.uint32], Arrays]:
    """Per part the new number of each term, GONE where no row is left of it; rows and long counts of each term, as
    `PostingsWriter` takes them; and the arrays of the dictionary.
    """
    numbers, table = _union(parts)
    df, long_counts = _count(parts, live_rows, numbers, len(table), n)
    is_present = df > 0
    data, starts = table.select(is_present.view(np.uint8))
    del table
    _let_go(parts)
    words = dictionary(data, starts)
    del data, starts
    for name in words:
        words[name] = scratch.keep(words[name])
    if not is_present.all():
        renumbered = np.full(len(is_present), GONE, np.uint32)
        renumbered[is_present] = np.arange(int(np.count_nonzero(is_present)), dtype=np.uint32)
        numbers = [renumbered[its] for its in numbers]
        df, long_counts = df[is_present], long_counts[is_present]
    return numbers, df, long_counts, words


def _union(parts: Sequence[FieldPostings]) -> tuple[list[NDArray[np.uint32]], TermTable]:
    """Per part the number of each of its terms among all, and all."""
    from sleuth.text import TermTable

    table = TermTable()
    numbers = []
    for part in parts:
        arrays = part.arrays
        numbers.append(table.add(arrays["term_bytes"], arrays["term_starts"], arrays["slots"]))
        if part is not parts[0]:  # whose terms are looked up further on
            _let_go([part])
    return numbers, table


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
        if its.whole:
            df[terms] += _rows_of(part)
            continue
        for first, last in _windows(4 * _rows_of(part).astype(np.int64)):
            some = np.full(len(terms), GONE, np.uint32)
            some[first:last] = terms[first:last]
            tally_segment(part, some, its.rows, df, long_counts)
            _let_go([part])
    dense = is_dense(df, n)
    for part, its, terms in zip(parts, live_rows, numbers, strict=True):
        if not its.whole:
            continue
        own = part.arrays["dense_terms"]
        # In the stream of a dense term each long count takes a byte more.
        long_counts[terms[own]] += (np.diff(part.arrays["dense_starts"]) - part.arrays["dense_df"]).astype(
            np.uint32
        )
        in_lists = dense[terms]
        in_lists[own] = False
        for number in np.flatnonzero(in_lists).tolist():
            _, frequencies = part.postings(number)
            long_counts[terms[number]] += np.count_nonzero(frequencies >= 16)
        _let_go([part])
    return df, long_counts


def _rows_of(part: FieldPostings) -> NDArray[np.uint32]:
    """Return how many rows each term of a segment is in."""
    df: NDArray[np.uint32] = np.diff(part.arrays["list_starts"])
    df[part.arrays["dense_terms"]] = part.arrays["dense_df"]
    return df


def _windows(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Half-open ranges of about WINDOW bytes that cover all; at least one."""
    ends, first = np.cumsum(sizes), 0
    while True:
        before = int(ends[first - 1]) if first else 0
        last = min(max(first + 1, int(np.searchsorted(ends, before + WINDOW))), len(sizes))
        yield first, last
        if last >= len(sizes):
            return
        first = last


class _Joined:
    """Arrays of ranges of terms, one after the other, on their way to become those of all."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._grown: dict[str, Growing] = {}
        self._ends = {"list_starts": 0, "dense_starts": 0}

    def add(self, arrays: Arrays, first: int) -> None:
        """Append the arrays of terms from `first` on."""
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


def _let_go(parts: Sequence[FieldPostings]) -> None:
    """Drop a reference to a segment's pages, which all lie in one file."""
    for part in parts:
        let_go(part.arrays["lengths"])
