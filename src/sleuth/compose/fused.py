"""A retriever that asks several retrievers and fuses their rankings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from sleuth.arguments import check_count
from sleuth.compose.fuse import Pool, fuse_hits
from sleuth.compose.methods import RANK_CONSTANT, Method
from sleuth.compose.slices import run_slices
from sleuth.errors import ArgumentError, RetrievalError
from sleuth.remote import async_twin
from sleuth.types import Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.filters import FilterForm
    from sleuth.protocols import Retriever


@dataclass(frozen=True)
class FusedRetriever:
    """Asks retrievers at the same time and fuses their pools into one ranking. Thread-safe.

    Items with equal ids are the same item. Each hit carries an explanation: the share of each retriever in its score.

    Attributes:
        retrievers: by name; the text and metadata of an item come from the first that found it.
        weights: by name, at least 0; 1 for a retriever without one.
        method, rank_constant: see `sleuth.compose.fuse`.
        pool: hits requested from each. Hits beyond the pools are never returned, whatever k is.
        deadline: seconds that each has; None waits for all. If a retriever fails, is late or returns a score that is
            not finite, the ranking is degraded and `parts` reports why; if all do, RetrievalError is raised.
            A failed part inside a retriever that answered is reported too, as "retriever/part".
        prepare: called with the query and the rankings by name before they are fused; returns them with other scores.
    """

    retrievers: Mapping[str, Retriever]
    weights: Mapping[str, float] = field(default_factory=dict)
    method: Method = "minmax"
    pool: int = 1000
    rank_constant: float = RANK_CONSTANT
    deadline: float | None = None
    prepare: Callable[[str, Mapping[str, Ranking]], Mapping[str, Ranking]] | None = None

    def __post_init__(self) -> None:
        if not self.retrievers:
            raise ArgumentError(f"retrievers must name at least one, got {self.retrievers!r}")
        check_count(self.pool, "pool", least=1)
        empty = dict.fromkeys(self.retrievers, Pool(np.zeros(0, np.int64), np.zeros(0, np.float64)))
        fuse_hits(empty, self.weights, self.method, rank_constant=self.rank_constant)

    def retrieve(self, query: str, k: int = 10, *, filter: FilterForm = None) -> Ranking:
        """Return the best `k` of the fused pools, ties by id."""
        k = check_count(k)
        if not k:
            return Ranking(())
        rankings, reports = run_slices(
            {
                name: partial(_pool_of, name, retriever, query, self.pool, filter)
                for name, retriever in self.retrievers.items()
            },
            deadline=self.deadline,
        )
        # The caller's own mistakes are raised unchanged.
        failed = [report.exception for report in reports if report.exception is not None]
        for error in failed:
            if isinstance(error, ArgumentError):
                raise error
        if not rankings:
            reasons = "; ".join(f"{report.name}: {report.error}" for report in reports)
            context = {"query": query, "k": k, "parts": [report.to_dict() for report in reports]}
            raise RetrievalError(f"no retriever answered: {reasons}", context=context) from next(
                iter(failed), None
            )
        if self.prepare is not None:
            rankings = dict(self.prepare(query, rankings))
        item_by_id: dict[str, RetrievedItem] = {}
        for item in chain.from_iterable(rankings.values()):
            item_by_id.setdefault(item.id, item)
        items = dict(sorted(item_by_id.items()))
        place = {name: i for i, name in enumerate(items)}
        pools: dict[str, Pool] = {}
        for name, ranking in rankings.items():  # one without scores counts down from its length
            scores: dict[int, float] = {}
            for rank, item in enumerate(ranking):
                score = len(ranking) - rank if item.score is None else item.score
                scores.setdefault(place[item.id], score)
            pools[name] = Pool(np.array(list(scores), np.int64), np.array(list(scores.values()), np.float64))
        fusion = fuse_hits(
            pools,
            {name: weight for name, weight in self.weights.items() if name in rankings},
            self.method,
            k,
            rank_constant=self.rank_constant,
        )
        ids = list(items)
        parts = [
            replace(part, name=f"{name}/{part.name}") for name in rankings for part in rankings[name].failures
        ]
        notes = dict.fromkeys(note for ranking in rankings.values() for note in ranking.notes)
        hits = []
        for i, (key, score) in enumerate(zip(fusion.keys.tolist(), fusion.scores.tolist(), strict=True)):
            item, below = items[ids[key]], {}
            for name, rank in zip(fusion.legs, fusion.ranks[:, i].tolist(), strict=True):
                explained = (it.explanation for it in rankings[name][rank - 1 :] if rank and it.id == item.id)
                if (explanation := next(explained, None)) is not None:
                    below[name] = explanation
            extra = {**item.extra, "explanation": fusion.explain(i, below)}
            hits.append(item.model_copy(update={"score": score, "extra": extra}))
        return Ranking(hits, (*reports, *parts), tuple(notes))

    aretrieve = async_twin(retrieve)


def _pool_of(name: str, retriever: Retriever, query: str, pool: int, filter: FilterForm) -> Ranking:
    """Return the hits of one retriever; raise RetrievalError for a score that is not finite."""
    ranking = retriever.retrieve(query, pool, filter=filter)
    bad = next((item for item in ranking if item.score is not None and not math.isfinite(item.score)), None)
    if bad is not None:
        raise RetrievalError(
            f"scores must be finite to be fused, got {bad.score!r} of {bad.id!r} from {name!r}",
            context={"query": query, "k": pool},
        )
    return ranking
