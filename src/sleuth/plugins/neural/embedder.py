"""Turns texts into vectors with an encoder in ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.plugins.neural.folder import ModelFolder, has_meaning
from sleuth.plugins.neural.known import known_model
from sleuth.plugins.neural.session import OnnxSession
from sleuth.vectors import unit


class OnnxEmbedder:
    """An `Embedder`: an encoder in ONNX, with vectors of length 1. Safe to share between threads.

    Batches of documents take turns, so that few threads run; a query does not wait for them.

    Args:
        model: a folder, or the name of a model that is installed (`sleuth index models`).
        threads: for one run of the model; None for as many as this process may use, at most four.
        query_prefix, passage_prefix: other ones than the model's; None keeps those.

    Attributes:
        folder: of the model.
        unrelated: the cosine that texts without anything in common reach, where it is known; else 0.
        batch_size: texts that are embedded, and kept in the cache of an index, at a time.

    Raises:
        MissingPackageError: the extra `neural` is not installed.
        EmbeddingError: there is no such model; gives the command that gets it.
        ArgumentError: the folder holds another kind of model, or does not say how its token vectors become one.
    """

    batch_size = 64
    opens_late = True  # the model is loaded by the first text

    def __init__(
        self,
        model: str | Path,
        *,
        threads: int | None = None,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
    ) -> None:
        self.folder = ModelFolder.open(model)
        if self.folder.kind != "encoder":
            raise ArgumentError(
                f"embedder must be an encoder, got the {self.folder.kind} {self.folder.name!r}"
            )
        self.query_prefix = self.folder.query_prefix if query_prefix is None else query_prefix
        self.passage_prefix = self.folder.passage_prefix if passage_prefix is None else passage_prefix
        model_facts = known_model(self.folder.name)
        self.unrelated = 0.0 if model_facts is None else model_facts.unrelated
        self._session = OnnxSession(self.folder, threads)
        self._turn = Lock()

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self.folder.name!r})"

    @cached_property
    def fingerprint(self) -> str:
        """Name and content of the model, pooling, length and prefixes."""
        folder = self.folder
        return (
            f"onnx/{folder.name}/{self._session.digest}/{folder.pooling}/{folder.max_tokens}"
            f"/{self.query_prefix!r}/{self.passage_prefix!r}"
        )

    def has_meaning(self, query: str) -> bool:
        """Return whether the tokenizer knows words of a query."""
        return has_meaning(query, self._session.pieces)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return one vector, shape (dimension,)."""
        vector: NDArray[np.float32] = self._embed([self.query_prefix + text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text, shape (len(texts), dimension); (0, 0) for no texts."""
        with self._turn:
            return self._embed([self.passage_prefix + text for text in texts])

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length 1 for each text, shape (n, dimension), read in batches of similar lengths."""
        vectors: NDArray[np.float32] | None = None
        for places, output, mask in self._session.run(texts):
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
