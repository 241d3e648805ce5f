from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sleuth.lexical.terms import Weighed

MOST_PRUNED: int

Segment = tuple[int, NDArray[np.int64], NDArray[np.uint32] | None]

def search(
    terms: list[Weighed],
    segments: list[Segment],
    k: int,
    masks: list[NDArray[np.uint64] | None],
    path: Literal["auto", "blocks", "all", "few"] = "auto",
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float32], bool]: ...
def score(terms: list[Weighed], segment: int, ordinals: NDArray[np.uint32]) -> NDArray[np.float32]: ...
