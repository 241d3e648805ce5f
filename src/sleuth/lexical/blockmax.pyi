from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sleuth.lexical.postings import FieldPostings

class Located:
    def __init__(self, field: FieldPostings, number: int, c0: float, c1: float, drift: float) -> None: ...

Term = tuple[float, Located]

def search(
    terms: list[Term],
    n: int,
    k: int,
    mask: NDArray[np.uint64] | None,
    ties: NDArray[np.uint32] | None,
    threshold: float = 0,
    tfidf: bool = False,
    path: Literal["auto", "blocks", "all", "few"] = "auto",
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]: ...
def score(terms: list[Term], ordinals: NDArray[np.uint32], tfidf: bool = False) -> NDArray[np.float32]: ...
