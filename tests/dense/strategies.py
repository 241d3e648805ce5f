"""An embedder without a model."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


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
