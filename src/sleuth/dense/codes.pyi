from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sleuth.dense.lists import ClusterLists
from sleuth.store.legs.leg import Bitmap

Part = tuple[
    NDArray[np.uint8],
    NDArray[np.float32],
    NDArray[np.uint8],
    NDArray[np.float32],
    NDArray[np.uint32] | None,
    NDArray[np.int64],
    Bitmap | None,
]

def bytes_of_row(dimension: int) -> int: ...
def pack(vectors: NDArray[np.float32]) -> NDArray[np.uint8]: ...
def unpack(rows: NDArray[np.uint8], dimension: int) -> NDArray[np.float32]: ...
def dots(
    rows: NDArray[np.uint8], query: NDArray[np.float32], ordinals: NDArray[np.uint32] | None = None
) -> NDArray[np.float32]: ...
def direction(vector: NDArray[np.float32]) -> NDArray[np.float32]: ...
def encode(
    vectors: NDArray[np.float32], centre: NDArray[np.float32], left_out: float = 0
) -> tuple[NDArray[np.uint8], NDArray[np.float32], float]: ...
def scan(
    parts: list[Part],
    query: NDArray[np.float32],
    k: int,
    depth: int,
    certainty: float = -1,
    spread: float = 0,
    few: int = 0,
    exact: bool = True,
    width: int = 512,
    lists: Sequence[ClusterLists | None] | None = None,
    list_spread: float = 0,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float32], bool]: ...
def assign(
    vectors: NDArray[np.float32],
    centres: NDArray[np.uint8],
    codes: NDArray[np.uint8],
    factors: NDArray[np.float32],
    width: int = 512,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]: ...
