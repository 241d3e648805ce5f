"""Finds terms of a dictionary by how they are written: by their beginning, or by a few edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.lexical.edits import terms_near
from sleuth.store.legs.searching import greatest

if TYPE_CHECKING:
    from sleuth.lexical.postings import FieldPostings
    from sleuth.lexical.terms import FieldIndex

MOST_EXAMINED: Final = 1_000
"""Terms of a segment that are looked at for one request: those of the most rows, deleted ones included."""


def beginning_with(postings: FieldPostings, prefix: str) -> dict[str, int]:
    """Return the terms of a segment that begin with `prefix`, each with its number of rows, deleted ones included.

    Of more than `MOST_EXAMINED` terms, only those of the most rows are returned.
    """
    data, starts = postings.arrays["term_bytes"], postings.arrays["term_starts"].astype(np.int64)
    start = prefix.encode()
    term_numbers = np.flatnonzero(np.diff(starts) >= len(start))
    for place, byte in enumerate(start):
        term_numbers = term_numbers[data[starts[term_numbers] + place] == byte]
    return _counted(postings, term_numbers)


def near(postings: FieldPostings, word: str, edits: int) -> dict[str, int]:
    """Return the terms of a segment that differ from a word by 1 to `edits` edits, as `beginning_with` does."""
    data, starts = postings.arrays["term_bytes"], postings.arrays["term_starts"]
    if not (word and data.size):
        return {}
    if postings.by_first_byte is None:  # kept: to make it takes as long as to compare all terms a few times
        firsts = data[np.minimum(starts[:-1], data.size - 1)]
        order = np.argsort(firsts, kind="stable").astype(np.uint32)
        postings.by_first_byte = np.split(order, np.searchsorted(firsts[order], np.arange(1, 256)))
    first_bytes = {letter.encode("utf-8", "surrogatepass")[0] for letter in word[:2]}
    candidates = np.concatenate([postings.by_first_byte[byte] for byte in first_bytes])
    return _counted(postings, terms_near(data, starts, candidates, word, edits))


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


def _counted(postings: FieldPostings, numbers: NDArray[np.integer[Any]]) -> dict[str, int]:
    """Return terms by number as texts, with the rows of each: those of the most rows where there are more."""
    if not len(numbers):  # as of most fields of many languages
        return {}
    arrays = postings.arrays
    data, starts, list_starts = arrays["term_bytes"], arrays["term_starts"], arrays["list_starts"]
    rows = list_starts[numbers + 1].astype(np.int64) - list_starts[numbers]
    places = np.searchsorted(arrays["dense_terms"], numbers)
    if len(arrays["dense_terms"]):
        places = np.minimum(places, len(arrays["dense_terms"]) - 1)
        rows = np.where(arrays["dense_terms"][places] == numbers, arrays["dense_df"][places], rows)
    if len(numbers) > MOST_EXAMINED:
        top = np.argsort(-rows, kind="stable")[:MOST_EXAMINED]
        numbers, rows = numbers[top], rows[top]
    begins, ends = starts[numbers].tolist(), starts[numbers + 1].tolist()
    texts = (
        bytes(data[begin:end]).decode("utf-8", "replace") for begin, end in zip(begins, ends, strict=True)
    )
    return dict(zip(texts, rows.tolist(), strict=True))
