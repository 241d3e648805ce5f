import numpy as np
from numpy.typing import NDArray

def terms_near(
    term_bytes: NDArray[np.uint8],
    term_starts: NDArray[np.uint32],
    candidates: NDArray[np.uint32],
    word: str,
    edits: int,
) -> NDArray[np.uint32]: ...
