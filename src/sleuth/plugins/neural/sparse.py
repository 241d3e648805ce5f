"""Gives texts weights over the tokens of a vocabulary with a learned sparse encoder in ONNX."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.plugins.neural.folder import QUERY_WEIGHTS, read_json
from sleuth.plugins.neural.session import OnnxModel

_TWICE: Final = ("log1p_relu", "l0")
"""Activations that take the logarithm twice."""

TokenWeights = Mapping[str, float]
"""Weights above 0 by token of the vocabulary."""


class OnnxSparseEncoder(OnnxModel):
    """A masked language model that was trained to weigh tokens, as SPLADE is. Safe to share between threads.

    The weight of a token is ln(1 + x), where x is its greatest logit over the places of a text, if that is above 0
    (Formal et al., "SPLADE v2", 2021). A model may give logits, shape (texts, places, vocabulary), or their greatest
    values, shape (texts, vocabulary).

    Attributes:
        query_weights: of tokens of queries; empty where the model encodes queries.
    """

    kind = "sparse encoder"

    def __init__(self, model: str | Path, *, threads: int | None = None) -> None:
        super().__init__(model, threads=threads)
        path = self.folder.path
        table = read_json(path / QUERY_WEIGHTS)
        if not all(isinstance(value, int | float) and 0 <= value < math.inf for value in table.values()):
            raise ArgumentError(
                f"{path / QUERY_WEIGHTS} must hold a number of 0 and more for each token, got {json.dumps(table):.80}"
            )
        self.query_weights: TokenWeights = {token: float(weight) for token, weight in table.items() if weight}
        pooling = read_json(path / "1_SpladePooling" / "config.json")
        self._takes_log_twice = pooling.get("activation_function") in _TWICE

    @property
    def fingerprint(self) -> str:
        """Name and content of the model, and its length."""
        twice = "/twice" if self._takes_log_twice else ""
        return f"onnx/{self.folder.name}/{self._digest}/{self.folder.max_tokens}{twice}"

    def encode_query(self, text: str) -> TokenWeights:
        """Return the weights of a query: by the table where the model has one, else by the model.

        Raises:
            EmbeddingError: the model does not load, or fails.
        """
        if not self.query_weights:
            return self.encode_documents([text])[0]
        tokens = dict.fromkeys(self._encoded(text).tokens)
        return {token: self.query_weights[token] for token in tokens if token in self.query_weights}

    def encode_documents(self, texts: Sequence[str]) -> list[TokenWeights]:
        """Return the weights of each text.

        Raises:
            EmbeddingError: the model does not load, fails, or gives something else than a number for each token.
        """
        weights: list[TokenWeights] = [{}] * len(texts)
        for places, output, mask in self._run(texts):
            logits = output.astype(np.float32, copy=False)
            if logits.ndim == 3:
                padding = np.where(mask[:, :, None] > 0, 0, -np.inf).astype(np.float32)
                logits = (logits + padding).max(axis=1)
            if logits.ndim != 2 or logits.shape[1] <= max(self._vocabulary) or np.isnan(logits).any():
                raise EmbeddingError(
                    f"{self.folder.file} must give a number for each of {len(self._vocabulary)} tokens, "
                    f"got shape {output.shape}",
                    service=self.folder.name,
                )
            rows = np.log1p(np.maximum(logits, 0))  # shape (texts, vocabulary)
            for place, row in zip(places, np.log1p(rows) if self._takes_log_twice else rows, strict=True):
                tokens = np.flatnonzero(row > 0)
                weights[place] = {
                    self._vocabulary[token]: weight
                    for token, weight in zip(tokens.tolist(), row[tokens].tolist(), strict=True)
                    if token in self._vocabulary
                }
        return weights

    @cached_property
    def _vocabulary(self) -> Mapping[int, str]:
        """Tokens by number, without those that frame a text."""
        with self._loading:
            tokenizer = self._tokenizer
        special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
        return {number: token for token, number in tokenizer.get_vocab().items() if token not in special}
