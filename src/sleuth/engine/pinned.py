"""Asks the legs of one version of an index, or of all its shards, for the rows of one query."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sleuth.engine.asking import OF_ALL_LEGS, PoolRequest, ask_leg, failed_leg
from sleuth.remote import check_cancelled
from sleuth.types import PartReport

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.engine.search import Searchers
    from sleuth.engine.wider import WiderQuery
    from sleuth.remote import Deadline
    from sleuth.store import Hits, IndexSnapshot
    from sleuth.types import Explanation


@dataclass(frozen=True, slots=True)
class Pools:
    """What the legs answered, by leg.

    Attributes:
        queries: what each leg was asked, in its own form.
        hits: best first; absent where a leg failed.
        parts: a report of each leg.
    """

    queries: Mapping[str, Any]
    hits: Mapping[str, Hits]
    parts: Sequence[PartReport]


@dataclass(frozen=True, slots=True)
class Pinned:
    """One version of an index, or of all its shards, during one query. Keys name rows in it.

    Attributes:
        searchers: of the version.
        deadline: legs that have not answered by then are abandoned.
        wider: what the leg for words searches in place of the query; None for the query itself.
    """

    searchers: Searchers
    snapshot: IndexSnapshot
    deadline: Deadline | None = None
    wider: WiderQuery | None = None

    def pools(self, query: str, legs: Sequence[str], request: PoolRequest) -> Pools:
        """Return the best rows of each leg: those of one index are asked one after the other, those of shards at once.

        Raises:
            EmbeddingError: the embedder failed and no other leg was asked for.
        """
        queries: dict[str, Any] = {}
        hits: dict[str, Hits] = {}
        parts: dict[str, PartReport] = {}
        failures: Sequence[PartReport] = ()
        is_alone = len(legs) == 1
        for together in [legs] if self.searchers.asks_together else zip(legs, strict=True):
            if queries:
                check_cancelled()
            started = time.perf_counter()
            forms: dict[str, Any] = {}
            for leg in together:
                try:
                    forms[leg] = (
                        self.wider.form
                        if self.wider is not None and leg == self.wider.leg
                        else ask_leg(
                            self.searchers.legs[leg], self.searchers.by_leg[leg], query, self.deadline
                        )
                    )
                except Exception as error:  # noqa: BLE001 - reported, or raised again
                    parts[leg] = failed_leg(leg, error, started, alone=is_alone)
            queries |= forms
            waiting = [forms] if forms else []
            while waiting:
                asked = waiting.pop(0)
                try:
                    answer, failures = self.searchers.gather(asked, request, self.snapshot)
                except Exception as error:
                    if len(asked) == 1:
                        parts |= {leg: failed_leg(leg, error, started, alone=is_alone) for leg in asked}
                    elif isinstance(error, OF_ALL_LEGS):
                        raise
                    else:  # one after the other, to report which one fails
                        waiting = [{leg: form} for leg, form in asked.items()]
                else:
                    hits |= answer
                    seconds = time.perf_counter() - started
                    for leg in asked:
                        parts[leg] = PartReport(leg, "ok", seconds, len(answer[leg].keys))
        return Pools(queries, hits, [*map(parts.__getitem__, legs), *failures])

    def order(self, keys: NDArray[np.int64]) -> Sequence[Any]:
        """Return the tie-break order of these keys: by document id, then by place in the document."""
        return self.searchers.order(self.snapshot, keys)

    def match(self, leg: str, query: str, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how well rows match the query, as the matcher of a leg says, shape (len(keys),)."""
        return self.searchers.match(leg, query, keys, self.snapshot)

    def explain(self, leg: str, query: Any, key: int) -> Explanation:
        """Return why a leg gives this row its score."""
        explanation = self.searchers.explain(self.snapshot, leg, query, key)
        return explanation if self.wider is None else self.wider.marked(explanation)
