from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sleuth.lexical.postings import FieldPostings

class Spellings:
    def __init__(self, term_bytes: NDArray[np.uint8], term_starts: NDArray[np.uint32]) -> None: ...
    def like(self, word: str, edits: int) -> list[int]: ...

def terms_like(fields: Sequence[FieldPostings], word: str, edits: int) -> list[tuple[int, list[int]]]: ...
