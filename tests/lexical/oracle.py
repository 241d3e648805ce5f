"""Slow, simple implementations of BM25 and TF-IDF in float64, for rows given as token lists."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from sleuth.lexical import LexicalLeg
from sleuth.text.analyzers import get_analyzer

Row = Mapping[str, str]


def field_tokens(leg: LexicalLeg, row: Row, field: str) -> Counter[str]:
    """Return the weighted counts of the tokens of a row in a field."""
    spec = leg.fields[field]
    counts: Counter[str] = Counter()
    for source, weight in spec.sources.items():
        for token in get_analyzer(spec.analyzer).tokens(row.get(source, "")):
            counts[token] += weight
    return counts


def scores(leg: LexicalLeg, rows: Sequence[Row], query: str) -> list[float]:
    """Return the score of every row, all of them live."""
    out = [0.0] * len(rows)
    for field, spec in leg.fields.items():
        token_counts = [field_tokens(leg, row, field) for row in rows]
        lengths = [sum(counts.values()) for counts in token_counts]
        filled = [length for length in lengths if length]
        n, average = len(filled), sum(filled) / len(filled) if filled else 0.0
        for token, times in Counter(get_analyzer(spec.analyzer).tokens(query)).items():
            df = sum(token in counts for counts in token_counts)
            for i, counts in enumerate(token_counts):
                if not counts[token]:
                    continue
                tf, length = counts[token], lengths[i]
                idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
                norm = leg.k1 * (1 - leg.b + leg.b * length / average)
                out[i] += times * idf * tf / (tf + norm)
    return out
