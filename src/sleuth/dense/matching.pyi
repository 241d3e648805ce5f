import numpy as np
from numpy.typing import NDArray

Part = tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16], NDArray[np.uint64]]

def match(
    ids: NDArray[np.int32],
    table: NDArray[np.uint16],
    lengths: NDArray[np.float32],
    rarity: float,
    parts: list[Part],
    keys: NDArray[np.int64],
) -> NDArray[np.float64] | None: ...
def lift(scores: NDArray[np.float64], matches: NDArray[np.float64], weight: float) -> NDArray[np.float64]: ...
def are_sets(tokens: NDArray[np.uint8], sizes: NDArray[np.uint16], most: int) -> bool: ...
