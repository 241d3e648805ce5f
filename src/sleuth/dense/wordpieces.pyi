from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

class Vocabulary:
    size: int
    def __init__(self, tokens: list[bytes]) -> None: ...
    def encode(self, text: bytes) -> NDArray[np.int32]: ...
    def embed(self, text: bytes, table: NDArray[np.uint16]) -> NDArray[np.float32]: ...
    def read(
        self,
        texts: Sequence[bytes | str],
        most: int,
        table: NDArray[np.uint16] | None = None,
        out: NDArray[np.float32] | None = None,
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]: ...
