import numpy as np
from numpy.typing import NDArray

Part = tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16], NDArray[np.uint64]]

def distinct(
    ids: NDArray[np.int32], table: NDArray[np.uint16]
) -> tuple[NDArray[np.uint16], NDArray[np.float64], NDArray[np.float64], NDArray[np.float32]]: ...
def match(
    asked: NDArray[np.uint16],
    directions: NDArray[np.float32],
    weights: NDArray[np.float64],
    table: NDArray[np.uint16],
    parts: list[Part],
    keys: NDArray[np.int64],
) -> NDArray[np.float64] | None: ...
