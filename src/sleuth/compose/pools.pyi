from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sleuth.compose.fuse import RankedKeys

def normalise(
    scores: NDArray[np.float64], method: str = "minmax", rank_constant: float = 0
) -> NDArray[np.float64]: ...
def unite(
    pools: Sequence[RankedKeys],
    weights: NDArray[np.float64],
    method: str,
    rank_constant: float,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def best(scores: NDArray[np.float64], k: int) -> tuple[NDArray[np.int64], bool]: ...
def agreement(one: RankedKeys, other: RankedKeys) -> float: ...
