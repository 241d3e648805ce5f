"""How do several retrievers answer as one?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_count
from sleuth.compose.fuse import RANK_CONSTANT, Fused, Method, fuse_hits
from sleuth.compose.slices import run_slices
from sleuth.errors import ArgumentError, RetrievalError
from sleuth.types import PartReport, Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.filters import Filter
    from sleuth.protocols import Retriever


@dataclass(frozen=True, slots=True)
class _Pool:
    keys: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclass(frozen=True)
class FusedRetriever:
    """Retrievers asked at the same time, their pools fused into one ranking. Safe to share between threads.

    Items are the same where their ids are. Each hit carries an explanation: what each retriever gave to its score.

    Attributes:
        retrievers: by name; the first that found an item gives its text and metadata.
        weights: by name, 0 and more; 1 where not named.
        method, rank_constant: see `sleuth.compose.fuse`.
        pool: hits asked of each; nothing beyond them is ever found, whatever k is.
        deadline: seconds that each has; None waits for all. A retriever that fails, is late or gives a score that is
            not finite leaves a degraded ranking, with a report of it in `parts`; if all do, RetrievalError is raised.
            A part that failed inside one that answered is reported too, as "retriever/part".
    """

    retrievers: Mapping[str, Retriever]
    weights: Mapping[str, float] = field(default_factory=dict)
    method: Method = "minmax"
    pool: int = 1000
    rank_constant: float = RANK_CONSTANT
    deadline: float | None = None

    def __post_init__(self) -> None:
        if not self.retrievers:
            raise ArgumentError(f"retrievers must name at least one, got {self.retrievers!r}")
        check_count(self.pool, "pool", least=1)
        empty = _Pool(np.zeros(0, np.int64), np.zeros(0, np.float64))
        fuse_hits(
            dict.fromkeys(self.retrievers, empty), self.weights, self.method, rank_constant=self.rank_constant
        )

    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """The best `k` of the fused pools, ties by id."""
        k = check_count(k)
        if not k:
            return Ranking(())
        found, reports = run_slices(
            {
                name: partial(_pool_of, name, retriever, query, self.pool, filter)
                for name, retriever in self.retrievers.items()
            },
            deadline=self.deadline,
        )
        _raise_if_none(found, reports, query, k)
        items = _by_id(found)
        fused = fuse_hits(
            _pools(found, items),
            {name: weight for name, weight in self.weights.items() if name in found},
            self.method,
            k,
            rank_constant=self.rank_constant,
        )
        ids = list(items)
        parts = [replace(part, name=f"{name}/{part.name}") for name in found for part in found[name].failures]
        return Ranking([_hit(fused, i, ids, items, found) for i in range(len(fused))], (*reports, *parts))


def _pool_of(
    name: str, retriever: Retriever, query: str, pool: int, filter: Filter | Mapping[str, Any] | str | None
) -> Ranking:
    """What one retriever finds; RetrievalError for a score that cannot be compared."""
    found = retriever.retrieve(query, pool, filter=filter)
    bad = next((item for item in found if item.score is not None and not math.isfinite(item.score)), None)
    if bad is not None:
        raise RetrievalError(
            f"scores must be finite to be fused, got {bad.score!r} of {bad.id!r} from {name!r}",
            context={"query": query, "k": pool},
        )
    return found


def _raise_if_none(found: Mapping[str, Ranking], reports: Sequence[PartReport], query: str, k: int) -> None:
    """Raises what the caller got wrong as it is, and the failure of all as one error."""
    failed = [report.exception for report in reports if report.exception is not None]
    for error in failed:
        if isinstance(error, ArgumentError):
            raise error
    if not found:
        told = "; ".join(f"{report.name}: {report.error}" for report in reports)
        context = {"query": query, "k": k, "parts": [report.to_dict() for report in reports]}
        raise RetrievalError(f"no retriever answered: {told}", context=context) from next(iter(failed), None)


def _by_id(found: Mapping[str, Ranking]) -> dict[str, RetrievedItem]:
    """Each item once, in order of id."""
    first: dict[str, RetrievedItem] = {}
    for ranking in found.values():
        for item in ranking:
            first.setdefault(item.id, item)
    return dict(sorted(first.items()))


def _pools(found: Mapping[str, Ranking], items: Mapping[str, RetrievedItem]) -> dict[str, _Pool]:
    """Rankings as pools, keyed by place in order of id. One without scores counts down from its length."""
    place = {name: i for i, name in enumerate(items)}
    pools: dict[str, _Pool] = {}
    for name, ranking in found.items():
        scores: dict[int, float] = {}
        for rank, item in enumerate(ranking):
            score = len(ranking) - rank if item.score is None else item.score
            scores.setdefault(place[item.id], score)
        pools[name] = _Pool(
            np.fromiter(scores.keys(), np.int64, len(scores)),
            np.fromiter(scores.values(), np.float64, len(scores)),
        )
    return pools


def _hit(
    fused: Fused, i: int, ids: Sequence[str], items: Mapping[str, RetrievedItem], found: Mapping[str, Ranking]
) -> RetrievedItem:
    item = items[ids[fused.keys[i]]]
    below = {}
    for leg, name in enumerate(fused.legs):
        if rank := int(fused.ranks[leg, i]):
            told = next((it.explanation for it in found[name][rank - 1 :] if it.id == item.id), None)
            if told is not None:
                below[name] = told
    extra = {**item.extra, "explanation": fused.explain(i, below)}
    return item.model_copy(update={"score": float(fused.scores[i]), "extra": extra})
