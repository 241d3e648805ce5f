import numpy as np
from numpy.typing import NDArray

def normalise(
    scores: NDArray[np.float64], method: str = "minmax", rank_constant: float = 0
) -> NDArray[np.float64]: ...
def unite(
    pools: list[tuple[NDArray[np.int64], NDArray[np.float64]]],
    weights: NDArray[np.float64],
    method: str,
    rank_constant: float,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def best(scores: NDArray[np.float64], k: int) -> tuple[NDArray[np.int64], bool]: ...
def agreement(
    keys: NDArray[np.int64],
    scores: NDArray[np.float32],
    other_keys: NDArray[np.int64],
    other_scores: NDArray[np.float32],
) -> float: ...
