"""Scores files by adjacent words of a query's title that are adjacent in the file too.

"Broken pipe" in a message, a comment, or a name such as `broken_pipe` or `BrokenPipe` says more than both words apart.
An index of pairs would be as large as the rest; so the few files that are best without them are read.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

READ = 20
"""Files that are read: those that are best by all else."""

_MOST_PAIRS = 24
_MOST_BYTES = 300_000

Pair = tuple[str, str]


def pairs_of(words: Sequence[str | None]) -> tuple[Pair, ...]:
    """Neighbouring words, each pair once.

    Args:
        words: stems in the order of the text, None for a word that says too little.
    """
    pairs = dict.fromkeys((a, b) for a, b in pairwise(words) if a and b and len(a) + len(b) > 4)
    return tuple(pairs)[:_MOST_PAIRS]


def phrase_scores(pairs: Sequence[Pair], texts: Sequence[bytes]) -> list[float]:
    """Return the share of the pairs in each text, in [0, 1]; a pair counts more the rarer it is among these texts.

    Args:
        texts: UTF-8; the first 300,000 bytes of each count.
    """
    lowered = [text[:_MOST_BYTES].lower() for text in texts]
    matches = [[pair for pair in pairs if _pattern(*pair).search(text)] for text in lowered]
    counts = Counter(pair for text_pairs in matches for pair in text_pairs)
    weights = {pair: math.log1p(len(texts) / max(1, counts[pair])) for pair in pairs}
    total = sum(weights.values()) or 1.0
    return [sum(weights[pair] for pair in text_pairs) / total for text_pairs in matches]


@lru_cache(maxsize=1024)
def _pattern(first: str, second: str) -> re.Pattern[bytes]:
    """Both stems, the first with any ending, with at most three signs between them and nothing else."""
    # without the last vowel, which stemming may have changed: "retri" stands for "retry"
    a, b = (re.escape((s.rstrip("iy") if len(s) > 3 else s).encode()) for s in (first, second))
    return re.compile(a + rb"[a-z]{0,5}[^a-z0-9]{0,3}" + b)
