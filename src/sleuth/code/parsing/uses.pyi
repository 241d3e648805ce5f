from typing import Any

import numpy as np
from numpy.typing import NDArray

def read_uses(
    matches: list[tuple[int, dict[str, list[Any]]]], roles: NDArray[np.int32], kinds: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], list[tuple[int, dict[str, list[Any]]]]]: ...
def place_uses(
    uses: NDArray[np.int32], newlines: NDArray[np.int64], spans: NDArray[np.int32], most_qualifier: int
) -> NDArray[np.int32]: ...
def place_bindings(bindings: NDArray[np.int32], spans: NDArray[np.int32]) -> NDArray[np.int32]: ...
