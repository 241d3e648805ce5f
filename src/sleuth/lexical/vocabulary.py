"""Finds terms of a dictionary by how they are written: by their beginning, or by a few edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.store.legs.searching import greatest

if TYPE_CHECKING:
    from sleuth.lexical.postings import FieldPostings
    from sleuth.lexical.terms import FieldIndex

MOST_EXAMINED: Final = 1_000
"""Terms of a segment that are looked at for one request: those of the most rows, deleted ones included."""
_BYTES_OF_LETTER: Final = 4


def beginning_with(postings: FieldPostings, prefix: str) -> dict[str, int]:
    """Return the terms of a segment that begin with `prefix`, each with its number of rows, deleted ones included.

    Of more than `MOST_EXAMINED` terms, only those of the most rows are returned.
    """
    data, starts = _dictionary(postings)
    start = prefix.encode()
    term_numbers = np.flatnonzero(np.diff(starts) >= len(start))
    for place, byte in enumerate(start):
        term_numbers = term_numbers[data[starts[term_numbers] + place] == byte]
    return _counted(postings, term_numbers)


def near(postings: FieldPostings, word: str, edits: int) -> dict[str, int]:
    """Return the terms of a segment that differ from a word in a few places, and how many rows hold each.

    A letter left out, added, replaced or swapped with the next is one edit. The first letter stays, or changes places
    with the second: few typing mistakes are there.
    """
    data, starts = _dictionary(postings)
    sizes, size = np.diff(starts), len(word.encode())
    room = _BYTES_OF_LETTER * edits
    numbers = np.flatnonzero((sizes > 0) & (sizes >= size - room) & (sizes <= size + room))
    firsts = {letter.encode()[0] for letter in word[:2]}
    numbers = numbers[np.isin(data[starts[numbers]], list(firsts))]
    rows_by_term = _counted(postings, numbers, most=len(numbers))
    terms = [
        term
        for term in rows_by_term
        if (term[0] == word[0] or term[:2] == word[1::-1]) and abs(len(term) - len(word)) <= edits
    ]
    return {
        term: rows_by_term[term]
        for term, distance in zip(terms, distances(word, terms), strict=True)
        if 0 < distance <= edits
    }


def distances(word: str, others: Sequence[str]) -> list[int]:
    """Return by how many edits other words differ from a word: the optimal string alignment distance."""
    if not others:
        return []
    width = max(map(len, others))
    letters = np.array(others, f"U{width}").view(np.uint32).reshape(len(others), width)
    lengths = np.array(list(map(len, others)))
    word_letters = np.array([word]).view(np.uint32)
    rows = np.zeros(
        (width + 1, len(others), len(word) + 1), np.int32
    )  # [letters of other, other, letters of word]
    rows[0] = np.arange(len(word) + 1)
    for j in range(1, width + 1):
        row, row_before = rows[j], rows[j - 1]
        row[:, 0] = j
        is_other = letters[:, j - 1, None] != word_letters
        for i in range(1, len(word) + 1):
            row[:, i] = np.minimum(
                np.minimum(row[:, i - 1], row_before[:, i]) + 1, row_before[:, i - 1] + is_other[:, i - 1]
            )
            if i > 1 and j > 1:
                swaps = (letters[:, j - 1] == word_letters[i - 2]) & (
                    letters[:, j - 2] == word_letters[i - 1]
                )
                row[:, i] = np.where(swaps, np.minimum(row[:, i], rows[j - 2][:, i - 2] + 1), row[:, i])
    return rows[lengths, np.arange(len(others)), len(word)].tolist()  # type: ignore[no-any-return]


def most_frequent(index: FieldIndex, counts: Iterable[Mapping[str, int]], most: int) -> dict[str, int]:
    """Return the terms that most live rows hold, with how many do, the most frequent first, ties by term.

    Args:
        index: counts live rows, which may be few of all.
        counts: terms with their rows, deleted ones included, of each segment.
    """
    total = Counter[str]()
    for segment in counts:
        total.update(segment)
    live: dict[str, int] = {}
    least_rows = 0
    for place, (term, rows) in enumerate(greatest(total, MOST_EXAMINED).items()):
        if len(live) >= most and place % most == 0:
            least_rows = sorted(live.values(), reverse=True)[most - 1]
        if len(live) >= most and rows < least_rows:
            break
        if (entry := index.held(term)) is not None:
            live[term] = entry.df
    return greatest(live, most)


def _dictionary(postings: FieldPostings) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    arrays = postings.arrays
    return arrays["term_bytes"], arrays["term_starts"].astype(np.int64)


def _counted(
    postings: FieldPostings, numbers: NDArray[np.int64], most: int = MOST_EXAMINED
) -> dict[str, int]:
    """Return terms by number as texts, with the rows of each: those of the most rows where there are more."""
    arrays = postings.arrays
    data, starts, list_starts = arrays["term_bytes"], arrays["term_starts"], arrays["list_starts"]
    rows = list_starts[numbers + 1].astype(np.int64) - list_starts[numbers]
    places = np.searchsorted(arrays["dense_terms"], numbers)
    if len(arrays["dense_terms"]):
        places = np.minimum(places, len(arrays["dense_terms"]) - 1)
        rows = np.where(arrays["dense_terms"][places] == numbers, arrays["dense_df"][places], rows)
    if len(numbers) > most:
        top = np.argsort(-rows, kind="stable")[:most]
        numbers, rows = numbers[top], rows[top]
    begins, ends = starts[numbers].tolist(), starts[numbers + 1].tolist()
    texts = (
        bytes(data[begin:end]).decode("utf-8", "replace") for begin, end in zip(begins, ends, strict=True)
    )
    return dict(zip(texts, rows.tolist(), strict=True))
