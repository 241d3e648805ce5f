import numpy as np
from numpy.typing import NDArray

def use_tables(portable: bool) -> None: ...
def encode(
    document_keys: NDArray[np.int64],
    counts: NDArray[np.int64],
    ids: list[str],
    sources: list[str | None],
    titles: list[str | None],
    metadata: list[str | None],
    texts: list[str],
    pages: list[int | None],
    starts: list[int],
    lines: list[int],
    breaks: list[int],
    fields: list[str | None],
    own: list[str | None],
    salt: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]: ...
