from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

class TermCounter:
    def __init__(
        self,
        fold: bytes,
        expand: Callable[[list[str]], Sequence[str | Sequence[str]]],
        prepare: Callable[[str], str],
        verbatim: int = 0,
        kinds: bytes = ...,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def known(self) -> int: ...
    def restart(self) -> None: ...
    def count(
        self, sources: list[Sequence[str]], weights: list[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]: ...
    def dictionary(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...

class TermTable:
    def __init__(self, share: int = 0, shares: int = 1) -> None: ...
    def add(
        self, data: NDArray[np.uint8], starts: NDArray[np.uint32], firsts: NDArray[np.uint32], first: int
    ) -> None: ...

def number_terms(firsts: NDArray[np.uint32]) -> int: ...
