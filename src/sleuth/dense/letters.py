"""Tells words from gibberish by their letters, where a vocabulary knows a word only in pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

_WORD: Final = re.compile(rb"[a-z]{3,}")
_START: Final = b" "
_RARE: Final = 0.1
"""Added to the number of times that three letters stand together."""
_LIKELY, _UNLIKELY = -3.4, -3.9
"""Mean log-probability of letters: above the first it reads like a word, below the second it does not."""
_MOST_SIGNS: Final = 0.25
"""Share of a text that may be digits and signs."""


class LetterModel:
    """How likely each letter is after the two before it, in the words of a vocabulary of word pieces."""

    def __init__(self, tokens: Sequence[bytes]) -> None:
        """Count the letters of the tokens that begin a word."""
        words = [token.removeprefix(_START) for token in tokens if token.startswith(_START)]
        places = _places(b"```".join(word for word in words if _WORD.fullmatch(word)))
        inside = (places[1:-1] > 0) | (places[2:] > 0)  # not from one word into the next
        counts = np.bincount(_triples(places)[inside], minlength=27**3) + _RARE
        table = counts.reshape(27, 27, 27)
        self._logs: NDArray[np.float64] = np.log(table / table.sum(axis=2, keepdims=True)).ravel()

    def reads_like_words(self, text: str) -> bool:
        """Return whether all words of a text in Latin letters read like words, and it holds little else."""
        letters = text.lower().encode("utf-8", "replace")
        signs = sum(not (97 <= byte <= 122 or byte == 32) for byte in letters)
        words = _WORD.findall(letters)
        if not words or signs > _MOST_SIGNS * len(letters):
            return False
        return all(self._likelihood(word) > _LIKELY for word in words)

    def is_unlikely(self, text: str) -> bool:
        """Return whether a word of four letters or more is most unlikely in any language of the vocabulary."""
        words = _WORD.findall(text.lower().encode("utf-8", "replace"))
        return any(len(word) > 3 and self._likelihood(word) < _UNLIKELY for word in words)

    def _likelihood(self, word: bytes) -> float:
        return float(self._logs[_triples(_places(word))].mean())


def _places(word: bytes) -> NDArray[np.int64]:
    """Return the letters of a word as numbers, 0 for its edges and for "`", shape (letters + 3,)."""
    return np.concatenate([(0, 0), np.frombuffer(word, np.uint8) - 96, (0,)]).astype(np.int64)


def _triples(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each three neighbours, shape (len(places) - 2,)."""
    return places[:-2] * 729 + places[1:-1] * 27 + places[2:]
