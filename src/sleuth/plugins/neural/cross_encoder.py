"""Scores pairs of query and passage with a cross-encoder in ONNX."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import EmbeddingError
from sleuth.plugins.neural.session import OnnxModel


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
