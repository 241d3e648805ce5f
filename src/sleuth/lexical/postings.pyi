from collections.abc import Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

BLOCK: int
GONE: int
GROUP: int
LARGE: int
MOST_ROWS: int
DENSE_SHARE: float
DENSE_LEAST: int

class FieldPostings:
    arrays: dict[str, NDArray[Any]]
    n_terms: int
    n_rows: int
    where: str
    spellings: Any
    def __init__(self, arrays: Mapping[str, NDArray[Any]], where: str = "a segment") -> None: ...
    def __len__(self) -> int: ...
    def find(self, token: str) -> int: ...
    def term(self, number: int) -> str: ...
    def rows(self, number: int) -> int: ...
    def check(self) -> None: ...
    def df(self, number: int, live: NDArray[np.uint64] | None = None) -> int: ...
    def count(self, number: int, row: int) -> int: ...
    def postings(self, number: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...

class PostingsWriter:
    arrays: dict[str, NDArray[Any]]
    def __init__(
        self,
        df: NDArray[np.uint32],
        long_counts: NDArray[np.uint32],
        lengths: NDArray[np.uint32],
        c0: float,
        c1: float,
    ) -> None: ...
    def add_rows(
        self, first: int, ends: NDArray[np.int64], terms: NDArray[np.uint32], counts: NDArray[np.uint32]
    ) -> None: ...
    def add_segment(
        self,
        source: FieldPostings,
        terms: NDArray[np.uint32],
        rows: NDArray[np.uint32] | None,
        base: int,
        first: int,
        begin: int,
        end: int,
    ) -> None: ...
    def finish(self) -> dict[str, NDArray[Any]]: ...

def stride_of(n_rows: int) -> int: ...
@overload
def is_dense(df: int, n_rows: int) -> bool: ...
@overload
def is_dense(df: NDArray[np.uint32], n_rows: int) -> NDArray[np.bool_]: ...
def sizes_of(df: NDArray[np.uint32], long_counts: NDArray[np.uint32], n_rows: int) -> NDArray[np.int64]: ...
def dictionary(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> dict[str, NDArray[Any]]: ...
def term_starts(starts: NDArray[np.int64]) -> NDArray[np.uint32]: ...
def empty_slots(n_terms: int) -> NDArray[np.uint32]: ...
def fill_slots(
    slots: NDArray[np.uint32], data: NDArray[np.uint8], starts: NDArray[np.uint32], first: int
) -> None: ...
def tally(
    terms: NDArray[np.uint32],
    counts: NDArray[np.uint32],
    df: NDArray[np.uint32],
    long_counts: NDArray[np.uint32],
) -> None: ...
def tally_segment(
    source: FieldPostings,
    terms: NDArray[np.uint32],
    rows: NDArray[np.uint32],
    df: NDArray[np.uint32],
    long_counts: NDArray[np.uint32],
) -> None: ...
