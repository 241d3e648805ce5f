from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def read_contents(evidence: Sequence[Mapping[str, Any]], n: int) -> tuple[list[str], NDArray[np.int64]]: ...
def weigh_by_term(
    ends: NDArray[np.int64], terms: NDArray[np.uint32], counts: NDArray[np.uint32], idf: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]: ...
