"""What both legs find for the judged queries of a collection, kept so that many rankings of it can be compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import DATA
from benchmarks.studies.gains import standard_error
from benchmarks.studies.robustness import sample
from sleuth import Engine
from sleuth.compose import fuse_hits
from sleuth.dense import late, matching
from sleuth.engine import PoolRequest, Searchers
from sleuth.engine.legs import WEIGHTS
from sleuth.engine.trust import agreement, trust_in
from sleuth.evaluate import open_collection
from sleuth.store import Hits, IndexSnapshot
from sleuth.text import Analyzer, get_analyzer

POOL = 200
K = 10
DENSE, TOKENS = WEIGHTS["dense"], late.WEIGHT

Adjust = Callable[[Sequence[int], NDArray[np.float64]], NDArray[np.float64]]
"""Gives keys, best first, other scores."""


class Laboratory(NamedTuple):
    """An index of a sample of a collection, opened."""

    engine: Engine
    searchers: Searchers
    snapshot: IndexSnapshot
    analyzer: Analyzer
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]

    def lexical(self, query: str | Mapping[str, Mapping[str, float]]) -> Hits:
        """Return the pool of words for a text, or for weighted terms."""
        return self._pool("lexical", query)

    def _pool(self, leg: str, query: Any) -> Hits:
        request = PoolRequest(POOL, None, True, True, False)
        return self.searchers.search_legs({leg: query}, request, self.snapshot)[leg]

    def dense(self, query: str) -> Hits:
        """Return the pool of meaning."""
        return self._pool("dense", self.searchers.by_leg["dense"].ask(query))

    def keys(self) -> list[int]:
        """Return the keys of all passages, ascending."""
        return sorted(key for view in self.snapshot.segments("dense") for key in view.keys.tolist())

    def texts(self, keys: Sequence[int]) -> list[str]:
        """Return the texts of passages."""
        return [item.text for item in self.snapshot.items(keys, [0.0] * len(keys))]


@contextmanager
def laboratory(folder: Path, title_weight: int = 1) -> Iterator[Laboratory]:
    """Open the index of a sample of a collection; it is made once, in .data/bench."""
    collection, documents = sample(open_collection(folder), 200, 20_000)
    home = DATA / "bench" / f"pools-{title_weight}" / folder.name
    with Engine.open(home, create=True, settings={"title_weight": title_weight}) as engine:
        if not engine.status()["documents"]:
            engine.add(documents)
        with engine.store.reader() as snapshot:
            searchers = engine.backend.searchers_of(snapshot)
            analyzer = get_analyzer(engine.settings.analyzer)
            yield Laboratory(engine, searchers, snapshot, analyzer, collection.queries, collection.qrels)


@dataclass
class Asked:
    """A query with its pools.

    Attributes:
        agreement: of the legs, see `sleuth.engine.trust`.
        words: how many the query has.
    """

    lab: Laboratory
    query: str
    judged: Mapping[str, int]
    lexical: Hits
    dense: Hits
    agreement: float
    trust: float
    knowledge: float
    words: int
    _documents: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, lab: Laboratory, id: str) -> Asked:
        """Ask both legs."""
        query = lab.queries[id]
        lexical, dense = lab.lexical(query), lab.dense(query)
        knowledge = lab.searchers.legs["dense"].knowledge(query)
        return cls(
            lab, query, lab.qrels[id], lexical, dense, agreement(lexical, dense),
            trust_in(dense, lexical), knowledge, len(lab.analyzer.tokens(query)),
        )  # fmt: skip

    def documents(self, keys: Sequence[int]) -> list[str]:
        """Return the document of each passage."""
        new = [key for key in keys if key not in self._documents]
        for key, item in zip(new, self.lab.snapshot.items(new, [0.0] * len(new)), strict=True):
            self._documents[key] = item.document_id
        return [self._documents[key] for key in keys]

    def fused(
        self,
        lexical: Hits | None = None,
        *,
        dense: float = DENSE,
        tokens: float = TOKENS,
        adjust: Adjust | None = None,
    ) -> tuple[list[int], NDArray[np.float64]]:
        """Return the passages as the default ranks them, best first, with one thing changed.

        Args:
            lexical: another pool of words.
            dense, tokens: weights of the default fusion.
            adjust: gives the ranking other scores.
        """
        pools = {"lexical": self.lexical if lexical is None else lexical, "dense": self.dense}
        weights = {"lexical": 1.0, "dense": dense * self.trust * self.knowledge}
        hits = fuse_hits(pools, weights, "minmax")
        scores = hits.scores.copy()
        if tokens:
            first = hits.keys[: late.READ]
            values = self.lab.searchers.match("dense", self.query, first, self.lab.snapshot)
            scores[: len(first)] = matching.lift(scores[: len(first)], values, tokens * self.knowledge)
        if adjust is not None:
            scores = adjust(hits.keys.tolist(), scores)
        places = np.argsort(-scores, kind="stable")
        return hits.keys[places].tolist(), scores[places]

    def ndcg(self, keys: Sequence[int]) -> float:
        """Return nDCG@10 of a ranking of passages; a document has the place of its best one."""
        documents = list(dict.fromkeys(self.documents(keys[: 6 * K])))
        return self.ndcg_of(documents)

    def ndcg_of(self, documents: Sequence[str]) -> float:
        """Return nDCG@10 of a ranking of documents."""
        ideal = discounted(sorted(self.judged.values(), reverse=True))
        return discounted([self.judged.get(name, 0) for name in documents]) / ideal if ideal else 0.0


def discounted(gains: Sequence[int]) -> float:
    """Return the discounted sum of the first ten gains."""
    return sum(max(gain, 0) / math.log2(place + 2) for place, gain in enumerate(gains[:K]))


def summary(values: Mapping[str, float]) -> str:
    """Return cells of a table: the mean over collections with its standard error, and the worst collection."""
    worst = min(values, key=values.__getitem__)
    mean = sum(values.values()) / len(values)
    return f"{mean:+.4f} ± {standard_error(list(values.values())):.4f} | {worst} {values[worst]:+.3f}"
