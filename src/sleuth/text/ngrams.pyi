import numpy as np
from numpy.typing import NDArray

def add_rows(text: str, table: NDArray[np.int8]) -> NDArray[np.int32]: ...
