import numpy as np
from numpy.typing import NDArray

from sleuth.store.record.batch import DocumentBatch

def use_tables(portable: bool) -> None: ...
def coded(text: bytes) -> bytes: ...
def encode(
    batch: DocumentBatch, document_keys: NDArray[np.int64], salt: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]: ...
