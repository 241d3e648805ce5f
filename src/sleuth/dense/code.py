"""The default embedder of code: what words say in any text, beside what they say in code.

A vector has two halves of 128 numbers, each of length 1 before they are joined. One is the beginning of WordLlama's,
which was trained so that the first numbers serve alone (Matryoshka representations: Kusupati et al., NeurIPS 2022). The
other is the mean of token vectors that we trained on functions of public repositories, their docstrings, and the
messages of commits that changed them (`tools/train_code_vectors.py`; docs/measured/code.md has what they bring).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sleuth.dense.embedding import Reading
from sleuth.dense.legibility import legible, legible_query
from sleuth.dense.wordllama import WordLlamaEmbedder, load_model
from sleuth.vectors import unit

TRAINED: Final = Path(__file__).with_name("code_vectors.npy")
"""Shape (32000, 128), int8: a row for each token of WordLlama's vocabulary; only their directions count."""
_HALF: Final = 128
_INNER_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where the next part of a name begins with a capital."""


class CodeEmbedder(WordLlamaEmbedder):
    """Vectors of code and of questions about it; capitals divide names: `getUserName` is read as "get user name"."""

    fingerprint = f"{WordLlamaEmbedder.fingerprint}/code-1"
    unrelated = 0.25
    """Cosine that a question and code without anything in common rarely reach (docs/measured/code.md)."""
    code_weight = 0.001
    """Of its ranks beside those of words in code search (docs/measured/code.md has the table)."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return one vector, shape (256,)."""
        model = load_model()
        tokens = model.vocabulary.encode(legible_query(_divided(text)))
        sums = np.concatenate(
            [part[tokens].sum(axis=0, dtype=np.float32) for part in (model.table[:, :_HALF], _trained())]
        )
        vector: NDArray[np.float32] = _balanced(sums[None])[0]
        return vector

    def _read(self, texts: Sequence[str], most: int) -> Reading:
        vectors = np.empty((len(texts), self.dimension), np.float32)
        if not len(texts):
            return Reading(vectors, np.zeros(0, np.uint8), np.zeros(0, np.uint16))
        columns = load_model().vocabulary.read([readable(text) for text in texts], most, _both(), vectors)
        return Reading(_balanced(vectors), *columns)


def readable(text: str) -> bytes:
    """Return code, or what is said of it, as its tokens are read: in small letters, names divided."""
    return legible(_divided(text))


def _divided(text: str) -> str:
    return _INNER_CAPITAL.sub(" ", text)


def _balanced(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors whose halves have the same length, of length 1 or zero."""
    return unit(unit(vectors.reshape(-1, _HALF)).reshape(-1, 2 * _HALF))


@cache
def _trained() -> NDArray[np.int8]:
    table: NDArray[np.int8] = np.load(TRAINED, mmap_mode="r")
    return table


@cache
def _both() -> NDArray[np.uint16]:
    """Return both halves of each token, shape (32000, 256), the bits of float16."""
    return np.concatenate([load_model().table[:, :_HALF], _trained().astype(np.float16)], axis=1).view(
        np.uint16
    )
