"""Would one more step help the default ranking: feedback, spelling, titles, proximity, and others?

    python -m benchmarks.studies.steps

Each step is tried for all queries, and for those that a gate lets through: by the agreement of the legs or by the
length of the query. Prints the difference to the default in nDCG@10, and the difference that remains if
setting and gate are chosen on all collections except the judged one. Collections: those of `benchmarks.studies.gains`.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.studies.gains import folders
from benchmarks.studies.pools import Asked, Laboratory, laboratory, summary
from sleuth.engine.spelling import suggestions
from sleuth.store import Hits

Terms = Mapping[str, Mapping[str, float]]
TOLERATED = 0.003
"""What a choice may lose on a collection that it is made on."""
NEAR = 8
"""Words between two that are near each other."""
FIRST = 30


class Setting(NamedTuple):
    """A step with its settings.

    Attributes:
        family: settings among which one is chosen.
        ndcg: of the changed ranking; None where it is the default's.
    """

    family: str
    name: str
    ndcg: Callable[[Asked], float | None]


def saturated(question: Asked, weigh: Callable[[float], float]) -> float | None:
    """Count a word that a query repeats less often."""
    terms = question.lab.engine.searcher("lexical").analyse(question.query)
    if all(times == 1 for counts in terms.values() for times in counts.values()):
        return None
    weights = {name: {term: weigh(times) for term, times in counts.items()} for name, counts in terms.items()}
    return with_words(question, question.lab.lexical(weights))


def with_words(question: Asked, hits: Hits) -> float:
    """Return nDCG@10 with another pool of words."""
    return question.ndcg(question.fused(hits)[0])


def summed(question: Asked, decay: float) -> float:
    """Score a document by the sum of its passages, each weighing `decay` of the one before."""
    keys, scores = question.fused()
    sums: dict[str, float] = {}
    counts: Counter[str] = Counter()
    for name, value in zip(question.documents(keys), scores.tolist(), strict=True):
        sums[name] = sums.get(name, 0.0) + value * decay ** counts[name]
        counts[name] += 1
    return question.ndcg_of(sorted(sums, key=lambda name: -sums[name]))


def fed_back(question: Asked, hits: int, terms: int, own: float, *, rare: bool) -> float | None:
    """Add terms of the first hits to the query (RM3); `own` is what the query itself weighs."""
    keys, scores = question.lexical.keys[:hits].tolist(), question.lexical.scores[:hits].astype(float)
    if not keys:
        return None
    term_weights: dict[str, float] = defaultdict(float)
    for text, share in zip(question.lab.texts(keys), (scores / scores.sum()).tolist(), strict=True):
        tokens = question.lab.analyzer.tokens(text)
        for token in tokens:
            term_weights[token] += share / len(tokens)
    if rare:
        idf = question.lab.engine.searcher("lexical").idf(term_weights)
        term_weights = {token: weight * idf[token] for token, weight in term_weights.items()}
    best = dict(sorted(term_weights.items(), key=lambda pair: -pair[1])[:terms])
    query: dict[str, dict[str, float]] = {}
    for name, counts in question.lab.engine.searcher("lexical").analyse(question.query).items():
        weights = {term: own * times / sum(counts.values()) for term, times in counts.items()}
        for term, weight in best.items():
            weights[term] = weights.get(term, 0.0) + (1 - own) * weight / sum(best.values())
        query[name] = weights
    return with_words(question, question.lab.lexical(query))


def spelled(question: Asked) -> float | None:
    """Replace words that no passage holds with the nearest ones that one holds."""
    lab, text = question.lab, question.query
    for note in suggestions(text, lab.searchers, lab.snapshot, lab.analyzer):
        unknown, _, nearest = note.partition("; did you mean ")
        if nearest:
            text = text.replace(unknown.removeprefix("no passage holds ")[1:-1], nearest[1:-2])
    return None if text == question.query else with_words(question, lab.lexical(text))


def near(question: Asked, weight: float, measure: Callable[[Sequence[str], Sequence[str]], float]) -> float:
    """Lift the first hits in which words of the query stand together; the best by `weight` of the best score."""

    def adjust(keys: Sequence[int], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        tokens = question.lab.analyzer.tokens
        query = tokens(question.query)
        values = np.array([measure(query, tokens(text)) for text in question.lab.texts(keys[:FIRST])])
        lifted = scores.copy()
        if len(values) and values.max() > values.min():
            lifted[:FIRST] += weight * scores.max() * (values - values.min()) / (values.max() - values.min())
        return lifted

    return question.ndcg(question.fused(adjust=adjust)[0])


def adjacent(query: Sequence[str], text: Sequence[str]) -> float:
    """Return which share of the query's pairs of neighbours the text holds."""
    pairs = set(pairwise(query))
    return len(pairs & set(pairwise(text))) / max(1, len(pairs))


def together(query: Sequence[str], text: Sequence[str]) -> float:
    """Return how often different words of the query are near each other, by distance, from 0 to 1."""
    words = set(query)
    places = [(place, token) for place, token in enumerate(text) if token in words]
    near = sum(1 / (b - a) for (a, one), (b, other) in pairwise(places) if one != other and b - a <= NEAR)
    return near / (near + len(words)) if words else 0.0


REPEATED, SUMS, FEEDBACK = (
    "a repeated word of the query counts less",
    "documents by the sum of their passages",
    "feedback",
)
SETTINGS = [
    Setting(REPEATED, "root", partial(saturated, weigh=math.sqrt)),
    Setting(REPEATED, "1 + log", partial(saturated, weigh=lambda times: 1 + math.log(times))),
    *(Setting(SUMS, f"decay {decay}", partial(summed, decay=decay)) for decay in (0.05, 0.1, 0.2, 0.4)),
    Setting(FEEDBACK, "RM3, 3 hits, 10 terms, .8", partial(fed_back, hits=3, terms=10, own=0.8, rare=False)),
    *(
        Setting(
            FEEDBACK,
            f"RM3 times idf, {n} hits, 20 terms, .9",
            partial(fed_back, hits=n, terms=20, own=0.9, rare=True),
        )
        for n in (3, 10)
    ),
    Setting("spelling", "nearest word", spelled),
    *(
        Setting(name, f"{weight}", partial(near, weight=weight, measure=measure))
        for name, measure in (("words side by side", adjacent), ("words near each other", together))
        for weight in (0.05, 0.1)
    ),
]
TITLES = Setting("titles", "twice", lambda _: None)
"""Measured in an index of its own."""

GATES: dict[str, Callable[[Asked], bool]] = {
    "all queries": lambda _: True,
    "agreement below .3": lambda asked: asked.agreement < 0.3,
    "agreement of .3 and more": lambda asked: asked.agreement >= 0.3,
    "agreement of .5 and more": lambda asked: asked.agreement >= 0.5,
    "up to 4 words": lambda asked: asked.words <= 4,
    "12 words and more": lambda asked: asked.words >= 12,
    "30 words and more": lambda asked: asked.words >= 30,
}

Differences = dict[tuple[Setting, str], dict[str, float]]
"""By setting and gate, by collection: the mean difference to the default."""


def measure(lab: Laboratory, titled: Laboratory) -> dict[tuple[Setting, str], float]:
    """Return the mean difference of each setting behind each gate, for one collection."""
    differences: dict[tuple[Setting, str], list[float]] = {}
    for id in lab.queries:
        question = Asked.of(lab, id)
        default = question.ndcg(question.fused()[0])
        for setting in (*SETTINGS, TITLES):
            if setting is TITLES:
                other = Asked.of(titled, id)
                value: float | None = other.ndcg(other.fused()[0])
            else:
                value = setting.ndcg(question)
            for gate, lets in GATES.items():
                difference = 0.0 if value is None or not lets(question) else value - default
                differences.setdefault((setting, gate), []).append(difference)
    return {key: statistics.fmean(values) for key, values in differences.items()}


def left_out(choices: Sequence[Mapping[str, float]], names: Sequence[str]) -> dict[str, float]:
    """Return what each collection gains by the choice that is best on the others and loses little on any of them."""
    gains = {}
    for name in names:
        best, most = None, 0.0
        for choice in choices:
            others = [value for other, value in choice.items() if other != name]
            if min(others) >= -TOLERATED and statistics.fmean(others) > most:
                best, most = choice, statistics.fmean(others)
        gains[name] = best[name] if best else 0.0
    return gains


def main() -> None:
    differences: Differences = {}
    for folder in folders():
        print(folder.name, file=sys.stderr)
        with laboratory(folder) as lab, laboratory(folder, title_weight=2) as titled:
            for key, value in measure(lab, titled).items():
                differences.setdefault(key, {})[folder.name] = value
    names = list(next(iter(differences.values())))
    print("| step | setting | for all queries | worst |\n|---|---|---|---|")
    for (setting, gate), values in differences.items():
        if gate == "all queries":
            print(f"| {setting.family} | {setting.name} | {summary(values)} |")
    print("\n| step, left out in turn | gain | worst |\n|---|---|---|")
    for family in dict.fromkeys(setting.family for setting, _ in differences):
        choices = [values for (setting, _), values in differences.items() if setting.family == family]
        print(f"| {family} | {summary(left_out(choices, names))} |")


if __name__ == "__main__":
    main()
