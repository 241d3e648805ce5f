"""BM25 as its formula reads, over a dict of passages: the slow reference of every fast implementation."""

import math
from collections import Counter
from collections.abc import Callable, Mapping


def bm25(
    passages: Mapping[str, list[str]], query: list[str], *, k1: float = 1.2, b: float = 0.75
) -> dict[str, float]:
    """Return the scores of the passages with a query term (Lucene's idf: ln(1 + (n - df + .5) / (df + .5))).

    Args:
        passages: terms by id; all of them count for the statistics.
        query: terms; a repeated one counts again.
    """
    n = len(passages)
    mean = sum(map(len, passages.values())) / n if n else 0.0
    df = Counter(term for terms in passages.values() for term in set(terms))
    scores: dict[str, float] = {}
    for id, terms in passages.items():
        tf = Counter(terms)
        score = 0.0
        for term, times in Counter(query).items():
            if tf[term]:
                idf = math.log(1 + (n - df[term] + 0.5) / (df[term] + 0.5))
                score += times * idf * tf[term] / (tf[term] + k1 * (1 - b + b * len(terms) / mean))
        if score:
            scores[id] = score
    return scores


def ranking(scores: Mapping[str, float], k: int, order: Callable[[str], object]) -> list[str]:
    """Return ids best first, equal scores by `order`; scores that agree to 5 digits are equal."""
    return sorted(scores, key=lambda id: (-round(scores[id], 5), order(id)))[:k]
