import numpy as np
from numpy.typing import NDArray

def fuse(
    pools: list[NDArray[np.int64]],
    scores: list[NDArray[np.float64]],
    weights: NDArray[np.float64],
    method: str,
    rank_constant: float,
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], bool]: ...
def overlap(
    keys: NDArray[np.int64],
    scores: NDArray[np.float32],
    other_keys: NDArray[np.int64],
    other_scores: NDArray[np.float32],
    first: int,
    among: int,
) -> float: ...
def normalise(scores: NDArray[np.float64], method: str, rank_constant: float) -> NDArray[np.float64]: ...
def best(scores: NDArray[np.float64], k: int) -> tuple[NDArray[np.int64], bool]: ...
