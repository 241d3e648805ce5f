"""Gives texts weights over the tokens of a vocabulary with a learned sparse encoder in ONNX."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.plugins.neural.folder import QUERY_WEIGHTS, ModelFolder, has_meaning, read_json
from sleuth.plugins.neural.session import OnnxSession

_TWICE: Final = ("log1p_relu", "l0")
"""Activations that take the logarithm twice."""

TokenWeights = Mapping[str, float]
"""Weights above 0 by token of the vocabulary."""


class OnnxSparseEncoder:
    """A masked language model that was trained to weigh tokens, as SPLADE is. Safe to share between threads.

    The weight of a token is ln(1 + x), where x is its greatest logit over the places of a text, if that is above 0
    (Formal et al., "SPLADE v2", 2021). A model may give logits, shape (texts, places, vocabulary), or their greatest
    values, shape (texts, vocabulary).

    Args:
        model: a folder, or the name of a model that is installed (`sleuth index models`).
        threads: for one run of the model; None for as many as this process may use, at most four.

    Attributes:
        folder: of the model.
        query_weights: of tokens of queries; empty where the model encodes queries.

    Raises:
        MissingPackageError: the extra `neural` is not installed.
        EmbeddingError: there is no such model; gives the command that gets it.
        ArgumentError: the folder holds another kind of model, or its table of weights cannot be read.
    """

    def __init__(self, model: str | Path, *, threads: int | None = None) -> None:
        self.folder = ModelFolder.open(model)
        if not self.folder.is_sparse:
            raise ArgumentError(
                f"the sparse leg must have a masked language model, got the {self.folder.kind} {self.folder.name!r}"
            )
        self._session = OnnxSession(self.folder, threads)
        self.query_weights = _query_weights(self.folder.path / QUERY_WEIGHTS)
        activation = read_json(self.folder.path / "1_SpladePooling" / "config.json").get(
            "activation_function"
        )
        self._takes_log_twice = activation in _TWICE

    def __repr__(self) -> str:
        return f"OnnxSparseEncoder({self.folder.name!r})"

    @property
    def fingerprint(self) -> str:
        """Name and content of the model, and its length."""
        twice = "/twice" if self._takes_log_twice else ""
        return f"onnx/{self.folder.name}/{self._session.digest}/{self.folder.max_tokens}{twice}"

    def has_meaning(self, query: str) -> bool:
        """Return whether the tokenizer knows words of a query."""
        return has_meaning(query, self._session.pieces)

    def encode_query(self, text: str) -> TokenWeights:
        """Return the weights of a query: by the table where the model has one, else by the model.

        Raises:
            EmbeddingError: the model does not load, or fails.
        """
        if not self.query_weights:
            return self.encode_documents([text])[0]
        tokens = dict.fromkeys(self._session.tokens(text))
        return {token: self.query_weights[token] for token in tokens if token in self.query_weights}

    def encode_documents(self, texts: Sequence[str]) -> list[TokenWeights]:
        """Return the weights of each text.

        Raises:
            EmbeddingError: the model does not load, fails, or gives something else than a number for each token.
        """
        weights: list[TokenWeights] = [{}] * len(texts)
        for places, output, mask in self._session.run(texts):
            greatest = self._greatest(output, mask)
            for place, row in zip(places, greatest, strict=True):
                tokens = np.flatnonzero(row > 0)
                weights[place] = {
                    self._vocabulary[token]: weight
                    for token, weight in zip(tokens.tolist(), row[tokens].tolist(), strict=True)
                    if token in self._vocabulary
                }
        return weights

    def _greatest(self, output: NDArray[Any], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return a weight for each text and token, shape (texts, vocabulary)."""
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
        weights = np.log1p(np.maximum(logits, 0))
        return np.log1p(weights) if self._takes_log_twice else weights

    @cached_property
    def _vocabulary(self) -> Mapping[int, str]:
        """Tokens by number, without those that frame a text."""
        return self._session.vocabulary()


def _query_weights(path: Path) -> TokenWeights:
    """Return the table of weights in a file; an empty one where there is no file.

    Raises:
        ArgumentError: something else is in it.
    """
    table = read_json(path)
    numbers = [value for value in table.values() if isinstance(value, int | float)]
    if len(numbers) != len(table) or not all(0 <= number < math.inf for number in numbers):
        raise ArgumentError(
            f"{path} must hold a number of 0 and more for each token, got {json.dumps(table):.80}"
        )
    return {token: float(weight) for token, weight in table.items() if weight}
