"""Which legs answer a query, and how do their answers become one ranking?"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

from sleuth.arguments import check_count
from sleuth.compose.fuse import RANK_CONSTANT, Fused, Method, best_places, fuse_hits
from sleuth.dense import late
from sleuth.dense.texts import embedded_text
from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.lexical import LexicalLeg, LexicalSearcher
from sleuth.store.catalogue.alignment import align
from sleuth.store.columns import ColumnsSearcher
from sleuth.types import Explanation, PartReport

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.dense.leg import DenseLeg
    from sleuth.dense.search import DenseSearcher
    from sleuth.filters import Filter
    from sleuth.store.legs import Bitmap, Hits
    from sleuth.store.reading import Snapshot
    from sleuth.store.record.values import Row

    Order: TypeAlias = Callable[[NDArray[np.int64]], Sequence[Any]]
    Asked: TypeAlias = str | NDArray[np.float32]
    """What a leg is asked: words, or the query's vector."""

LEGS = ("lexical", "dense")
"""The legs that rank, in the order in which they are reported."""

WEIGHTS = {"lexical": 1.0, "dense": 0.4}
"""Of the default fusion, chosen over all test collections at once (docs/hybrid.md)."""

POOL_DEPTH = 5
"""Rows that the dense leg scores exactly for each hit of a pool."""

MOST = 1 << 40
"""As many passages as no index holds."""

ALIGNED = 32
"""Filters kept as bitmaps over the segments of a leg; a million rows take 125 kB."""

_NUMBERS = ("pool", "tokens", "rank_constant")
_SPELLING = re.compile(r"(\w+)(?:\(([^()]*)\))?")


@dataclass(frozen=True, slots=True)
class Fusion:
    """How the rankings of several legs become one. Prints as `minmax(lexical=1,dense=0.4,pool=200,tokens=0.25)`.

    Attributes:
        method: "minmax" (default), "zscore", "rrf", "max" or "combmnz"; see `sleuth.compose.fuse`.
        weights: by leg, 0 and more; 1 where not named, which is then named.
        pool: how many hits of each leg are fused, an int from 1 to 2**40; k where that is larger.
        rank_constant: of "rrf", above 0.
        tokens: of the best score, what the best match of tokens gains among the best hits, 0 for none; where None,
            what was measured best for "minmax" over the default embedder, and none otherwise.
    """

    method: Method = "minmax"
    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    pool: int = 200
    rank_constant: float = RANK_CONSTANT
    tokens: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Mapping):
            raise ArgumentError(f"weights must be a mapping of legs to numbers, got {self.weights!r}")
        for leg, weight in self.weights.items():
            if leg not in LEGS:
                raise ArgumentError(f"fusion must weigh legs among {', '.join(LEGS)}, got {leg!r}")
            _check_number(f"fusion weight of {leg}", weight)
        if self.tokens is not None:
            _check_number("tokens", self.tokens)
        if check_count(self.pool, "pool", least=1) > MOST:
            raise ArgumentError(f"pool must be an int from 1 to {MOST}, got {self.pool!r}")
        _check_number("rank_constant", self.rank_constant)
        fuse_hits({}, None, self.method, 0, rank_constant=self.rank_constant)
        object.__setattr__(self, "weights", {leg: self.weights.get(leg, 1.0) for leg in LEGS})

    def __str__(self) -> str:
        settings: dict[str, float] = {**self.weights, "pool": self.pool}
        if self.tokens is not None:
            settings["tokens"] = self.tokens
        if self.method == "rrf" or self.rank_constant != RANK_CONSTANT:
            settings["rank_constant"] = self.rank_constant
        return f"{self.method}({','.join(f'{name}={_shortest(value)}' for name, value in settings.items())})"

    @classmethod
    def parse(cls, text: str) -> Fusion:
        """A fusion from its printed form; what is not named has its default, weights apart: they are 1.

        Raises:
            ArgumentError: shows the form.
        """
        match = _SPELLING.fullmatch(text.strip())
        given: dict[str, Any] = {}
        for part in (match[2] or "").split(",") if match and (match[2] or "").strip() else ():
            name, _, value = (word.strip() for word in part.partition("="))
            try:
                number = int(value) if name == "pool" else float(value)
            except ValueError:
                match = None
                break
            if name in given or name not in (*LEGS, *_NUMBERS):
                known = ", ".join((*LEGS, *_NUMBERS))
                raise ArgumentError(
                    f"fusion must name each of {known} once at most, got {name!r} in {text!r}"
                )
            given[name] = number
        if match is None:
            raise ArgumentError(
                f"fusion must be written as in 'minmax(lexical=1,dense=0.4,pool=200)', got {text!r}"
            )
        numbers = {name: given.pop(name) for name in _NUMBERS if name in given}
        weights = given or (WEIGHTS if match[1] == "minmax" else {})
        return cls(match[1], weights, **numbers)  # type: ignore[arg-type]


def _check_number(name: str, value: Any) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= sys.float_info.max):
        raise ArgumentError(f"{name} must be a number of 0 and more, got {value!r}")


def _shortest(value: float) -> str:
    """The shortest text that reads as this number."""
    return str(int(value)) if value == int(value) else repr(float(value))


_DEFAULT = Fusion()


def as_fusion(value: Fusion | str | None) -> Fusion:
    """A fusion from what users give: one, its printed form, or None for the default."""
    if value is None:
        return _DEFAULT
    if isinstance(value, str):
        return Fusion.parse(value)
    if not isinstance(value, Fusion):
        raise ArgumentError(f"fusion must be a Fusion, its printed form or None, got {value!r}")
    return value


@dataclass(frozen=True, slots=True)
class RankedRows:
    """The rows of a ranking: keys and scores best first, what each leg did, and why each hit is where it is.

    Attributes:
        explain: the explanation of hit i; of use while the snapshot is open.
    """

    keys: list[int]
    scores: list[float]
    parts: tuple[PartReport, ...]
    explain: Callable[[int], Explanation]


class Searchers:
    """The searchers of one version, shared by all threads.

    Attributes:
        version, generation: of the snapshot that they were made from.
        legs: names of the legs that rank, in order.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        lexical: LexicalLeg,
        dense: DenseLeg | None,
        previous: Searchers | None,
    ) -> None:
        """Searchers of the snapshot's segments; what did not change since `previous` is taken from it."""
        self.version, self.generation = snapshot.version, snapshot.generation
        self._views = {name: snapshot.segments(name) for name in ("columns", "lexical")}
        self.columns: ColumnsSearcher = ColumnsSearcher(
            self._views["columns"], previous.columns.cache if previous else None
        )
        self.lexical: LexicalSearcher = LexicalSearcher(
            lexical, self._views["lexical"], previous=previous.lexical if previous else None
        )
        self.dense: DenseSearcher | None = None
        if dense is not None:
            from sleuth.dense.search import DenseSearcher

            self._views["dense"] = snapshot.segments("dense")
            self.dense = DenseSearcher(dense, self._views["dense"])
        self._aligned: dict[tuple[Filter, str], list[Bitmap]] = {}
        self.legs = LEGS if dense is not None else LEGS[:1]

    def show(self, snapshot: Snapshot) -> bool:
        """Whether these are the searchers of a snapshot: of its rows, in its segments."""
        if self.generation == snapshot.generation:
            return True
        if self.version != snapshot.version or any(
            [view.name for view in views] != [view.name for view in snapshot.segments(leg)]
            for leg, views in self._views.items()
        ):
            return False
        # What else the record holds has changed, such as cached vectors.
        self.generation = snapshot.generation
        return True

    def search(
        self,
        query: str,
        k: int,
        tree: Filter | None,
        legs: Sequence[str],
        fusion: Fusion,
        *,
        snapshot: Snapshot,
        explain: bool = False,
    ) -> RankedRows:
        """The best `k` rows that match the filter.

        Args:
            snapshot: one that these searchers show: names rows that tie, and gives texts where tokens are matched.
            explain: whether explanations will be asked for: they tell ranks, which hits that tie have by id.

        Raises:
            EmbeddingError: the embedder failed and no other leg was asked for.
        """
        # The dense leg alone is asked for a pool as well: how sure it is of a row depends on how many are asked for.
        depth = k if list(legs) == ["lexical"] else max(k, fusion.pool)
        ordered = len(legs) == 1 or explain or fusion.method == "rrf"
        asked: dict[str, Asked] = {}
        hits: dict[str, Hits] = {}
        parts: list[PartReport] = []
        for leg in legs:
            started = time.perf_counter()
            try:
                asked[leg] = self.dense.embed(query) if leg == "dense" and self.dense else query
                hits[leg] = self._search(
                    leg, asked[leg], depth, tree, snapshot, pooled=len(legs) > 1, ordered=ordered
                )
            except EmbeddingError as error:
                if len(legs) == 1:
                    raise
                seconds = time.perf_counter() - started
                parts.append(PartReport(leg, "failed", seconds, error=str(error), exception=error))
            else:
                parts.append(PartReport(leg, "ok", time.perf_counter() - started, len(hits[leg])))
        if len(legs) == 1:
            (only,) = hits.values()
            keys = only.keys[:k].tolist()
            return RankedRows(
                keys, only.scores[:k].tolist(), (), lambda i: self._explain(legs[0], asked, keys[i])
            )
        weights = {leg: fusion.weights.get(leg, 1.0) for leg in hits}
        tokens = self._token_weight(fusion)
        fused = fuse_hits(
            hits,
            weights,
            fusion.method,
            max(k, late.READ) if tokens else k,
            rank_constant=fusion.rank_constant,
            order=partial(self._rank, snapshot),
        )
        if tokens and len(fused) > 1:
            return self._match(fused, query, asked, k, snapshot, weight=tokens, parts=tuple(parts))
        return RankedRows(
            fused.keys.tolist(), fused.scores.tolist(), tuple(parts), lambda i: self._unfold(fused, asked, i)
        )

    def _token_weight(self, fusion: Fusion) -> float:
        """What matching tokens may add, of the best score."""
        if fusion.tokens is not None:
            return fusion.tokens
        return self.dense.leg.token_weight if self.dense and fusion.method == "minmax" else 0.0

    def _match(
        self,
        fused: Fused,
        query: str,
        asked: Mapping[str, Asked],
        k: int,
        snapshot: Snapshot,
        *,
        weight: float,
        parts: tuple[PartReport, ...],
    ) -> RankedRows:
        """The best `k` of a fused ranking, after the first of them were read."""
        read = fused.keys[: late.READ]
        values = self.dense.match(query, read) if self.dense else None
        if values is None:
            values = late.match(query, list(map(embedded_row, snapshot.rows(read.tolist()))))
        scores = fused.scores.copy()
        scores[: len(values)] = late.lift(scores[: len(values)], values, weight)
        places = best_places(fused.keys, scores, min(k, len(scores)), partial(self._rank, snapshot)).tolist()

        def explain(i: int) -> Explanation:
            place = places[i]
            below = self._unfold(fused, asked, place)
            if place >= len(values):
                return below
            return late.explain(float(scores[place]), float(values[place]), below.value, weight, below)

        return RankedRows(fused.keys[places].tolist(), scores[places].tolist(), parts, explain)

    def _rank(self, snapshot: Snapshot, keys: NDArray[np.int64]) -> Sequence[Any]:
        """By what these keys tie: their ranks where one segment holds them all, which is at hand, and ids elsewhere."""
        least, greatest = keys.min(), keys.max()
        for view in self._views["lexical"]:
            if len(view) and view.keys[0] <= least and greatest <= view.keys[-1]:
                rows = view.keys.searchsorted(keys)
                ranks: list[int] = (rows if view.tie_ranks is None else view.tie_ranks[rows]).tolist()
                return ranks
        return snapshot.order(keys.tolist())

    def allowed(self, tree: Filter | None, leg: str) -> list[Bitmap] | None:
        """The rows that a filter lets answer, over the segments of a leg; None for all."""
        if tree is None:
            return None
        found = self._aligned.get((tree, leg))
        if found is None:
            found = align(self.columns.bitmap(tree), self._views["columns"], self._views[leg])
            if len(self._aligned) >= ALIGNED:
                self._aligned.clear()
            self._aligned[tree, leg] = found
        return found

    def _search(
        self,
        leg: str,
        asked: Asked,
        k: int,
        tree: Filter | None,
        snapshot: Snapshot,
        *,
        pooled: bool,
        ordered: bool,
    ) -> Hits:
        allowed, ids = self.allowed(tree, leg), order_of(snapshot)
        if isinstance(asked, str) or self.dense is None:
            return self.lexical.search(str(asked), k, allowed=allowed, ordered=ordered, ids=ids)
        # The near end of a pool decides a fused ranking: its far end need not be certain.
        depth = POOL_DEPTH * k if pooled else None
        return self.dense.search(asked, k, allowed=allowed, depth=depth, ordered=ordered, ids=ids)

    def _explain(self, leg: str, asked: Mapping[str, Asked], key: int) -> Explanation:
        query = asked[leg]
        if isinstance(query, str) or self.dense is None:
            return self.lexical.explain(str(query), key)
        return self.dense.explain(query, key)

    def _unfold(self, fused: Fused, asked: Mapping[str, Asked], i: int) -> Explanation:
        key = int(fused.keys[i])
        found = [leg for leg, ranks in zip(fused.legs, fused.ranks, strict=True) if ranks[i]]
        return fused.explain(i, {leg: self._explain(leg, asked, key) for leg in found})


def order_of(snapshot: Snapshot) -> Order:
    """Return what names rows, for equal scores: by document id, then by place in the document."""
    return lambda keys: snapshot.order(keys.tolist())


def embedded_row(row: Row) -> str:
    """Return what was embedded of a passage."""
    heading = row.fields.get("heading")
    return embedded_text({"title": row.metadata.get("title"), "heading": heading, "text": row.text})


def check_legs(legs: Sequence[str] | None, available: Sequence[str]) -> Sequence[str]:
    """The legs to search, in order, each once.

    Raises:
        ArgumentError: none, or one that this index does not have; lists those it has.
    """
    if legs is None:
        return available
    wanted = [legs] if isinstance(legs, str) or not isinstance(legs, Iterable) else list(legs)
    unknown = [leg for leg in wanted if leg not in available]
    if unknown or not wanted:
        raise ArgumentError(f"legs must be among {', '.join(available)} in this index, got {legs!r}")
    return [leg for leg in available if leg in wanted]


def check_query(query: str, k: int) -> int:
    """Refuse what no retriever can answer.

    Returns:
        k, or as many as no index holds.

    Raises:
        ArgumentError: says which argument, its rule and its value.
    """
    if not isinstance(query, str):
        raise ArgumentError(f"query must be a string, got {query!r}")
    return min(check_count(k), MOST)
