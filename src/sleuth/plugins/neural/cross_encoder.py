"""Scores pairs of query and passage with a cross-encoder in ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.plugins.neural.folder import ModelFolder
from sleuth.plugins.neural.session import OnnxSession


class OnnxCrossEncoder:
    """A model that reads query and passage together. Safe to share between threads.

    Args:
        model: a folder, or the name of a model that is installed (`sleuth index models`).
        threads: for one run of the model; None for as many as this process may use, at most four.

    Raises:
        MissingPackageError: the extra `neural` is not installed.
        EmbeddingError: there is no such model; gives the command that gets it.
        ArgumentError: the folder holds another kind of model.
    """

    def __init__(self, model: str | Path, *, threads: int | None = None) -> None:
        self.folder = ModelFolder.open(model)
        if not self.folder.is_cross_encoder:
            raise ArgumentError(
                f"model must be a cross-encoder, got the {self.folder.kind} {self.folder.name!r}"
            )
        self._session = OnnxSession(self.folder, threads)

    def __repr__(self) -> str:
        return f"OnnxCrossEncoder({self.folder.name!r})"

    def predict(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return how well each passage answers its query, from 0 to 1, shape (len(pairs),).

        Raises:
            EmbeddingError: the model fails, or gives something else than one score for a pair.
        """
        logits = np.zeros(len(pairs))
        for places, output, _ in self._session.run(pairs):
            if output.size != len(places):
                raise EmbeddingError(
                    f"{self.folder.file} must give one score for a pair, got shape {output.shape}",
                    service=self.folder.name,
                )
            logits[places] = output.reshape(-1)
        scores: NDArray[np.float64] = 1 / (1 + np.exp(-logits))
        return scores
