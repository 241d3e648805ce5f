"""Weights of tokens as the postings of words keep them: a whole number in place of how often a word comes.

Block-max search scores a posting by tf / (tf + c). A weight is stored as the number for which that is nearest to it,
times `SCALE`: 14 levels, which four bits hold, finer where weights are small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from sleuth.lexical import Arrays, PostingsWriter, dictionary, tally

LEVELS: Final = 14
"""The greatest number that a posting holds in four bits."""
SATURATION: Final = 14.0
GREATEST: Final = 3.0
"""The weight of the last level; greater ones count as this. Weights of SPLADE are below, by its logarithm."""
SCALE: Final = GREATEST * (LEVELS + SATURATION) / LEVELS

_VALUES: Final = SCALE * np.arange(LEVELS + 1) / (np.arange(LEVELS + 1) + SATURATION)
_BORDERS: Final = (_VALUES[1:] + _VALUES[:-1]) / 2

Levels = Mapping[str, int]
"""Levels of a passage by token, from 1 to `LEVELS`."""


NORM: Final = (SATURATION, 0.0)
"""What impacts are made with: no row is held back for its length."""


def levels_of(weights: Mapping[str, float]) -> dict[str, int]:
    """Return the level of each token; tokens of little weight are left out."""
    levels = np.searchsorted(_BORDERS, list(weights.values())).tolist()
    return {token: level for token, level in zip(weights, levels, strict=True) if level}


def weight_of(level: int) -> float:
    """Return the weight of a level."""
    return float(_VALUES[level])


def postings_of(rows: Sequence[Levels]) -> Arrays:
    """Encode rows as the arrays of postings, with the dictionary of their tokens.

    For each token, in sorted order, they hold the rows that have it, with its level in place of a count.
    """
    tokens = sorted({token for row in rows for token in row})
    numbers = {token: number for number, token in enumerate(tokens)}
    terms = np.array([numbers[token] for row in rows for token in row], np.uint32)
    levels = np.array([level for row in rows for level in row.values()], np.uint32)
    lengths = np.array([len(row) for row in rows], np.uint32)
    df, long_counts = np.zeros(len(tokens), np.uint32), np.zeros(len(tokens), np.uint32)
    # Fills in how many rows hold each token (df), and in how many a count takes more than four bits (long_counts): no
    # level does.
    tally(terms, levels, df, long_counts)
    writer = PostingsWriter(df, long_counts, lengths, *NORM)
    writer.add_rows(0, np.cumsum(lengths, dtype=np.int64), terms, levels)
    raw = [token.encode() for token in tokens]
    starts = np.cumsum([0, *map(len, raw)], dtype=np.int64)
    return writer.finish() | dictionary(np.frombuffer(b"".join(raw), np.uint8), starts)


def facts_of(arrays: Arrays) -> dict[str, Any]:
    """Return what a segment notes of its rows: tokens in all, and rows that have some."""
    lengths = arrays["lengths"]
    return {"total": int(lengths.sum(dtype=np.int64)), "filled": int(np.count_nonzero(lengths))}
