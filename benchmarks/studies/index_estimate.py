"""Does an estimate of the vector leg's worth in an index, made without judgements, help the estimate of each query?

    python -m benchmarks.studies.index_estimate

Known items are runs of 4 to 10 words of a passage, asked for with the rest of the passage to be found. Prints for each
feature of an index how its rank goes with the true gain of the vector leg and with the weight that would be best, and
the gain of the default where that weight is chosen by the feature: one threshold and two weights, chosen on all
collections but the one that is judged. Collections are those of `benchmarks.studies.gains`.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.studies.gains import folders
from benchmarks.studies.pools import DENSE, Asked, Laboratory, laboratory, summary
from sleuth.store import Hits

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
ITEMS = 120
TRIED = 400
FEWEST = 20


class Index(NamedTuple):
    """What was measured of a collection.

    Attributes:
        words: nDCG@10 of words alone.
        fused: of the default, by weight of the vector leg.
        features: by name, those that could be told.
    """

    words: float
    fused: Mapping[float, float]
    features: Mapping[str, float]

    @property
    def best(self) -> float:
        """The weight that ranks best."""
        return max(WEIGHTS, key=self.fused.__getitem__)


def measure(lab: Laboratory) -> Index:
    """Rank the queries of a collection with all weights, and take the features of its index."""
    words: list[float] = []
    ndcg_by_weight: dict[float, list[float]] = {weight: [] for weight in WEIGHTS}
    agreements = []
    for id in lab.queries:
        query = Asked.of(lab, id)
        words.append(query.ndcg(query.lexical.keys.tolist()))
        agreements.append(query.agreement)
        for weight in WEIGHTS:
            ndcg_by_weight[weight].append(query.ndcg(query.fused(dense=weight)[0]))
    features = {
        "passages": float(len(lab.engine.searcher("lexical"))),
        "agreement of the legs, queries": statistics.fmean(agreements),
    }
    means = {weight: statistics.fmean(values) for weight, values in ndcg_by_weight.items()}
    return Index(statistics.fmean(words), means, {**features, **known_items(lab)})


def known_items(lab: Laboratory) -> dict[str, float]:
    """Return what known items tell; nothing where passages are too short."""
    rng = random.Random(3)
    keys = lab.keys()
    ranks: list[tuple[float, float]] = []
    agreements: list[float] = []
    lengths: list[int] = []
    for key in rng.sample(keys, min(TRIED, len(keys))):
        if len(ranks) == ITEMS:
            break
        text = lab.texts([key])[0]
        lengths.append(len(text))
        words = text.split()
        if len(words) < 24:
            continue
        n = rng.randint(4, 10)
        start = rng.randint(0, len(words) - n)
        query, rest = " ".join(words[start : start + n]), " ".join(words[:start] + words[start + n :])
        lexical, dense = lab.lexical(query), lab.dense(query)
        ranks.append(
            (1 / place(lexical, key, bm25(lab, query, rest)), 1 / place(dense, key, cosine(lab, query, rest)))
        )
        first = set(lexical.keys[:20].tolist())
        agreements.append(len(first & set(dense.keys[:100].tolist())) / (len(first) or 1))
    features = {"characters of a passage": statistics.fmean(lengths)}
    if len(ranks) >= FEWEST:
        by_words, by_meaning = (statistics.fmean(values) for values in zip(*ranks, strict=True))
        features |= {
            "known items by words": by_words,
            "known items by meaning": by_meaning,
            "known items, meaning / words": by_meaning / by_words,
            "agreement of the legs, known items": statistics.fmean(agreements),
        }
    return features


def place(hits: Hits, key: int, score: float) -> int:
    """Return the place of a passage that has this score among the others."""
    return 1 + int(np.count_nonzero((hits.scores > score) & (hits.keys != key)))


def bm25(lab: Laboratory, query: str, text: str) -> float:
    """Return the score of a text that is not in the index."""
    lexical = lab.engine.searcher("lexical")
    tokens = lab.analyzer.tokens(text)
    counts, query_counts = Counter(tokens), Counter(lab.analyzer.tokens(query))
    idf = lexical.idf(query_counts)
    k1, b = lexical.leg.k1, lexical.leg.b
    norm = k1 * (1 - b + b * len(tokens) / lexical.statistics["text"].average)
    shares = (
        times * idf[term] * counts[term] / (counts[term] + norm) for term, times in query_counts.items()
    )
    return float(sum(shares))


def cosine(lab: Laboratory, query: str, text: str) -> float:
    """Return the cosine of two texts."""
    embedder = lab.engine.embedder
    assert embedder is not None
    return float(np.dot(embedder.embed_query(query), embedder.embed_documents([text])[0]))


def best_weight(some: Sequence[Index]) -> float:
    """Return the weight that ranks these best on average."""
    return max(WEIGHTS, key=lambda weight: sum(one.fused[weight] for one in some))


def chosen(feature: str, judged: str, measured: Mapping[str, Index]) -> float:
    """Return the weight for a collection: below and above a threshold of the feature, what is best on the others."""
    others = [one for name, one in measured.items() if name != judged and feature in one.features]
    value = measured[judged].features.get(feature)
    if value is None:
        return DENSE
    weight, most = DENSE, sum(one.fused[DENSE] for one in others)
    values = sorted(one.features[feature] for one in others)
    for sixth in range(1, 6):
        threshold = values[len(values) * sixth // 6]
        below = [one for one in others if one.features[feature] < threshold]
        above = [one for one in others if one.features[feature] >= threshold]
        weights = [best_weight(part) for part in (below, above)]
        total = sum(one.fused[w] for part, w in zip((below, above), weights, strict=True) for one in part)
        if total > most:
            most, weight = total, weights[value >= threshold]
    return weight


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Spearman's correlation."""
    places = [
        [sorted(values).index(value) + (values.count(value) - 1) / 2 for value in values] for values in (a, b)
    ]
    return statistics.correlation(*places)


def main() -> None:
    measured: dict[str, Index] = {}
    for folder in folders():
        print(folder.name, file=sys.stderr)
        with laboratory(folder) as lab:
            measured[folder.name] = measure(lab)
    default = {name: one.fused[DENSE] - one.words for name, one in measured.items()}
    print(f"default: {summary(default)}")
    best = {name: one.fused[one.best] - one.words for name, one in measured.items()}
    print(f"best weight for each collection: {summary(best)}")
    print(
        "\n| feature of the index | with the gain | with the best weight | difference, left out in turn | worst |"
    )
    print("|---|---|---|---|---|")
    for feature in dict.fromkeys(name for one in measured.values() for name in one.features):
        rows = [one for one in measured.values() if feature in one.features]
        values = [one.features[feature] for one in rows]
        gain = rank_correlation(values, [one.fused[DENSE] - one.fused[0.0] for one in rows])
        with_best = rank_correlation(values, [one.best for one in rows])
        differences = {
            name: one.fused[chosen(feature, name, measured)] - one.fused[DENSE]
            for name, one in measured.items()
        }
        print(f"| {feature} | {gain:+.2f} | {with_best:+.2f} | {summary(differences)} |")


if __name__ == "__main__":
    main()
