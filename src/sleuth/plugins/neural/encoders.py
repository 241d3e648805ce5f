"""Encoders in ONNX, which turn texts into vectors, and cross-encoders, which score pairs of query and passage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import EmbeddingError
from sleuth.plugins.neural.session import OnnxModel
from sleuth.vectors import unit


class OnnxEmbedder(OnnxModel):
    """An `Embedder`: an encoder in ONNX, with vectors of length 1. Safe to share between threads.

    Batches of documents take turns, so that few threads run; a query does not wait for them.

    Attributes:
        unrelated: the cosine that texts without anything in common reach, where it is known; else 0.
        batch_size: texts that are embedded, and kept in the cache of an index, at a time.
    """

    kind = "encoder"
    batch_size = 64
    opens_late = True  # the model is loaded by the first text

    def __init__(self, model: str | Path, *, threads: int | None = None) -> None:
        super().__init__(model, threads=threads)
        self.unrelated = self.folder.unrelated
        self._turn = Lock()

    @cached_property
    def fingerprint(self) -> str:
        """Name and content of the model, pooling, length and prefixes."""
        folder = self.folder
        return (
            f"onnx/{folder.name}/{self._digest}/{folder.pooling}/{folder.max_tokens}"
            f"/{folder.query_prefix!r}/{folder.passage_prefix!r}"
        )

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return one vector, shape (dimension,)."""
        vector: NDArray[np.float32] = self._embed([self.folder.query_prefix + text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text, shape (len(texts), dimension); (0, 0) for no texts."""
        with self._turn:
            return self._embed([self.folder.passage_prefix + text for text in texts])

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length 1 for each text, shape (n, dimension), read in batches of similar lengths."""
        vectors: NDArray[np.float32] | None = None
        for places, output, mask in self._run(texts):
            pooled = self._pooled(output, mask)
            if vectors is None:
                vectors = np.zeros((len(texts), pooled.shape[1]), np.float32)
            vectors[places] = pooled
        return np.zeros((0, 0), np.float32) if vectors is None else unit(vectors)

    def _pooled(self, output: NDArray[Any], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return one vector per text: as the model has it, of the first token, or the mean over tokens."""
        if output.ndim == 2:
            return output.astype(np.float32)
        if output.ndim != 3:
            raise EmbeddingError(
                f"{self.folder.file} must give vectors, got shape {output.shape}", service=self.folder.name
            )
        if self.folder.pooling == "cls":
            return output[:, 0].astype(np.float32)
        if self.folder.pooling == "mean":
            weights = mask[:, None].astype(np.float32)
            means = (weights @ output.astype(np.float32))[:, 0] / np.maximum(weights.sum(2), 1)
            vectors: NDArray[np.float32] = means.astype(np.float32, copy=False)
            return vectors
        raise EmbeddingError(
            f"{self.folder.path} must say how token vectors become one, in 1_Pooling/config.json: "
            '{"pooling_mode_mean_tokens": true} or {"pooling_mode_cls_token": true}',
            service=self.folder.name,
        )


class OnnxCrossEncoder(OnnxModel):
    """A model that reads query and passage together. Safe to share between threads."""

    kind = "cross-encoder"

    def predict(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return how well each passage answers its query, from 0 to 1, shape (len(pairs),).

        Raises:
            EmbeddingError: the model fails, or gives something else than one score for a pair.
        """
        logits = np.zeros(len(pairs))
        for places, output, _ in self._run(pairs):
            if output.size != len(places):
                raise EmbeddingError(
                    f"{self.folder.file} must give one score for a pair, got shape {output.shape}",
                    service=self.folder.name,
                )
            logits[places] = output.reshape(-1)
        scores: NDArray[np.float64] = 1 / (1 + np.exp(-logits))
        return scores
