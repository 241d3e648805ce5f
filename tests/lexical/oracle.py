"""Slow, simple implementations of BM25 and TF-IDF in float64, for rows given as token lists."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sleuth.lexical import LexicalLeg
from sleuth.store import Rows, SegmentView
from sleuth.store.legs.leg import pack
from sleuth.text.analyzers import get_analyzer

Row = Mapping[str, str]


def rows_of(rows: Sequence[Row], first: int = 0, ranks: Sequence[int] | None = None) -> Rows:
    """Return rows with keys from `first` on."""
    names = sorted({name for row in rows for name in row})
    return Rows(
        keys=np.arange(first, first + len(rows), dtype=np.int64),
        tie_ranks=None if ranks is None else np.array(ranks, np.uint32),
        texts={name: [row.get(name, "") for row in rows] for name in names},
    )


def view_of(leg: LexicalLeg, rows: Rows, name: str = "s", live: Sequence[bool] | None = None) -> SegmentView:
    """Return a segment of these rows."""
    data = leg.build(rows)
    bitmap = None if live is None else pack(np.array(live, bool))
    return SegmentView(name, rows.keys, rows.tie_ranks, bitmap, data.arrays, data.meta)


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
