"""Small indexes for tests: an embedder without a model, rows, and segments as a store presents them."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import DenseLeg
from sleuth.store import Rows, SegmentView
from sleuth.store.legs.leg import Bitmap, pack


class HashEmbedder:
    """An embedder whose vectors are drawn from the hash of the text; a blank text has the zero vector."""

    def __init__(self, dimension: int = 16, seed: str = "") -> None:
        self.dimension = dimension
        self.seed = seed
        self.calls: list[int] = []

    @property
    def fingerprint(self) -> str:
        return f"hash/{self.dimension}/{self.seed}"

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if not text.strip():
            return np.zeros(self.dimension, np.float32)
        digest = blake2b((self.seed + text).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        vector = np.random.default_rng(int.from_bytes(digest, "little")).standard_normal(self.dimension)
        return vector.astype(np.float32)

    def embed_documents(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        self.calls.append(len(texts))
        return [self.embed_query(text) for text in texts]


def rows_of(texts: Sequence[str], first_key: int = 1, ids: Sequence[str] | None = None) -> Rows:
    """Return rows with ascending keys, with tie ranks by `ids` if given."""
    ranks = None
    if ids is not None:
        ranks = np.empty(len(ids), np.uint32)
        ranks[sorted(range(len(ids)), key=lambda i: ids[i])] = np.arange(len(ids))
    keys = np.arange(first_key, first_key + len(texts), dtype=np.int64)
    return Rows(keys, ranks, {"text": list(texts)})


def view_of(leg: DenseLeg, rows: Rows, live: NDArray[np.bool_] | None = None, name: str = "s") -> SegmentView:
    """Return a segment as one version of the index presents it."""
    segment = leg.build(rows)
    bitmap: Bitmap | None = None if live is None else pack(live)
    return SegmentView(name, rows.keys, rows.tie_ranks, bitmap, segment.arrays, segment.meta)
