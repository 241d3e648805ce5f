import numpy as np
from numpy.typing import NDArray

def union(pools: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]: ...
