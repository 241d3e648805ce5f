from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.lexical.postings import FieldPostings
from sleuth.text.analyzers import WordRule

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

class Index(Protocol[T_co]):
    def held(self, token: str, /) -> T_co | None: ...

class Found:
    field: str
    token: str
    df: int
    bm25: float
    @property
    def numbers(self) -> list[int]: ...

Weighed = tuple[float, str, str, float, Found]

class FieldIndex:
    def __init__(
        self,
        name: str,
        postings: list[FieldPostings],
        lives: list[NDArray[np.uint64] | None],
        n: int,
        c0: float,
        c1: float,
        drifts: list[float],
        sparse: list[bool],
        room: int = ...,
        frequencies: Mapping[str, int] | None = None,
    ) -> None: ...
    def held(self, token: str, /) -> Found | None: ...
    def find(self, token: str) -> Found: ...

def terms_of_word(word: str, rules: Sequence[tuple[Index[T], WordRule]]) -> tuple[list[T], set[str]]: ...
def tally(words: list[tuple[T, ...]]) -> dict[T, float]: ...
def weigh(times_of: dict[Found, float]) -> list[Weighed]: ...
