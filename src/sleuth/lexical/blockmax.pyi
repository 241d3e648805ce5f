from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sleuth.lexical.postings import FieldPostings
from sleuth.lexical.query_terms import Term
from sleuth.text import WordRule

MOST_PRUNED: int

class Found:
    df: int
    bm25: float
    tfidf: float
    numbers: list[int]

Weighed = tuple[float, str, str, float, Found]

class FieldIndex:
    def __init__(
        self,
        postings: list[FieldPostings],
        lives: list[NDArray[np.uint64] | None],
        n: int,
        c0: float,
        c1: float,
        drifts: list[float],
        room: int = ...,
        frequencies: Mapping[str, int] | None = None,
    ) -> None: ...
    def holds(self, token: str) -> bool: ...
    def find(self, token: str) -> Found: ...

def terms_of_word(
    word: str, rules: Sequence[tuple[str, WordRule, Callable[[str], bool]]]
) -> list[tuple[str, str]]: ...
def weigh(
    times_of: Mapping[Term, float],
    indexes: dict[str, FieldIndex],
    factors: Mapping[str, float] | None = None,
    classic: bool = False,
) -> list[Weighed]: ...

Segment = tuple[int, NDArray[np.int64], NDArray[np.uint32] | None]

def search(
    terms: list[Weighed],
    segments: list[Segment],
    k: int,
    masks: list[NDArray[np.uint64] | None],
    tfidf: bool = False,
    path: Literal["auto", "blocks", "all", "few"] = "auto",
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float32], bool]: ...
def score(
    terms: list[Weighed], segment: int, ordinals: NDArray[np.uint32], tfidf: bool = False
) -> NDArray[np.float32]: ...
