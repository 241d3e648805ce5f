"""Arranges hits: favours some by their metadata, orders them by a key, and folds those with an equal value into one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Final, NamedTuple

from sleuth.arguments import spelling_hint
from sleuth.compose.items import best_first, boosted
from sleuth.errors import ArgumentError
from sleuth.filters import Filter, as_filter, matches, to_text
from sleuth.filters.match import leaves
from sleuth.filters.tree import Scalar
from sleuth.types import Explanation, RetrievedItem

_SECONDS: Final = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0, "m": 2_629_746.0, "y": 31_556_952.0}
"""Of the units of a half-life: hours, days, weeks, months and years."""
_RECENCY: Final = re.compile(r"([^\s^]+):(\d{1,6}(?:\.\d{1,6})?)([hdwmy])(?:\^(\d{1,6}(?:\.\d{1,6})?))?")
_BOOST: Final = re.compile(r"([^^]+)\^(\d{1,6}(?:\.\d{1,6})?)")
_YEAR: Final = re.compile(r"\d{4}")
_MONTH: Final = re.compile(r"\d{4}-\d{2}")
_YEARS: Final = range(1000, 10_000)
_MILLISECONDS: Final = 1e11
"""Numbers from here on count milliseconds since 1970: seconds reach it in the year 5138."""


class NotedItems(NamedTuple):
    """Hits, best first, with notes for the caller."""

    items: Sequence[RetrievedItem]
    notes: Sequence[str] = ()


class Factor(NamedTuple):
    """What the score of a hit is multiplied by, and why."""

    name: str
    value: float
    facts: Mapping[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Recency:
    """Favours new hits: factor 1 + (most - 1) * 0.5 ** (age / half_life). Hits without a date have factor 1.

    Attributes:
        key: of the metadata: an ISO date, a year, or seconds or milliseconds since 1970; of a list, the newest counts.
        half_life: seconds after which half of the advantage is left, above 0.
        most: the factor of a hit of now, above 0.
    """

    key: str
    half_life: float
    most: float = 2.0

    @classmethod
    def parse(cls, text: str) -> Recency:
        """Return the recency that a text such as "date:30d" or "date:1y^3" describes.

        Raises:
            ArgumentError: shows the form.
        """
        match = _RECENCY.fullmatch(text.strip()) if isinstance(text, str) else None
        half_life = float(match[2]) * _SECONDS[match[3]] if match else 0.0
        most_times = float(match[4] or 2) if match else 0.0
        if match is None or not half_life or not most_times:
            raise ArgumentError(
                'recency must be a key and a half-life, as in "date:30d" or "date:1y^3" '
                f"(h, d, w, m, y; ^ is the factor of a passage of now), got {text!r}"
            )
        return cls(match[1], half_life, most_times)

    def factor(self, item: RetrievedItem, now: float) -> Factor | None:
        """Return the factor of a hit; None without a date."""
        moments = [moment_of(value) for value in values_of(item, self.key)]
        newest = max((moment for moment in moments if moment is not None), default=None)
        if newest is None:
            return None
        age = max(0.0, now - newest)
        value = 1 + (self.most - 1) * 0.5 ** (age / self.half_life)
        facts: dict[str, float | int | str] = {
            "key": self.key,
            "age_in_days": age / _SECONDS["d"],
            "half_life": self.half_life / _SECONDS["d"],
        }
        return Factor("recency", value, {**facts, "factor": value})


@dataclass(frozen=True, slots=True)
class Boost:
    """Multiplies the scores of the hits that match a filter by a factor above 0."""

    filter: Filter
    value: float

    def factor(self, item: RetrievedItem) -> Factor | None:
        """Return the factor of a hit; None if it does not match."""
        if not matches(self.filter, item.metadata):
            return None
        return Factor("boost", self.value, {"filter": to_text(self.filter), "factor": self.value})


def parse_boosts(value: Mapping[str, float] | str) -> tuple[Boost, ...]:
    """Return the boosts of a mapping of filters to factors, or of a text such as "kind:note^2; lang:en^1.5".

    Raises:
        ArgumentError: shows the form.
        FilterError: a filter that cannot be read.
    """
    pairs: list[tuple[Any, Any]]
    if isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        parts = [part.strip() for part in value.split(";")] if isinstance(value, str) else [""]
        pairs = [(match[1], float(match[2])) for part in parts if (match := _BOOST.fullmatch(part))]
        pairs = pairs if len(pairs) == len(parts) else []
    is_right = all(type(factor) in (int, float) and 0 < factor < float("inf") for _, factor in pairs)
    filters = [as_filter(text) for text, _ in pairs] if is_right else []
    if not filters or None in filters:
        raise ArgumentError(
            'boost must map filters to factors above 0, as in {"kind:note": 2} or "kind:note^2; lang:en^1.5", '
            f"got {value!r}"
        )
    return tuple(
        Boost(tree, float(factor))
        for tree, (_, factor) in zip(filters, pairs, strict=True)
        if tree is not None
    )


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the candidates of a search are arranged: boosted first, then sorted, then folded.

    Attributes:
        sort: metadata key that orders them; "" for the score.
        is_descending: whether the greatest value comes first.
        collapse: metadata key of which each value has one hit; "" for none.
        recency, boosts: what scores are multiplied by.
        now: moment from which ages count, in seconds since 1970.
    """

    sort: str = ""
    is_descending: bool = False
    collapse: str = ""
    recency: Recency | None = None
    boosts: tuple[Boost, ...] = ()
    now: float = 0.0

    @classmethod
    def of(
        cls,
        sort: str | None,
        collapse: str | None,
        recency: str | None,
        boost: Mapping[str, float] | str | None,
    ) -> Arrangement:
        """Return the arrangement of the options of a search, of which None asks for nothing.

        Ages count from the beginning of this hour, so that the pages of a ranking agree.

        Raises:
            ArgumentError: an option that breaks its rule.
            FilterError: a filter of `boost` that cannot be read.
        """
        for name, value in (("sort", sort), ("collapse", collapse)):
            if value is not None and not (isinstance(value, str) and value.removeprefix("-").strip()):
                raise ArgumentError(f"{name} must be a metadata key, got {value!r}")
        if collapse is not None and collapse.startswith("-"):
            raise ArgumentError(f"collapse must be a metadata key without a sign, got {collapse!r}")
        now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        return cls(
            (sort or "").removeprefix("-"),
            (sort or "").startswith("-"),
            collapse or "",
            None if recency is None else Recency.parse(recency),
            () if boost is None else parse_boosts(boost),
            now.timestamp(),
        )

    def factors(self, item: RetrievedItem) -> list[Factor]:
        """Return what the score of a hit is multiplied by, in order."""
        factors = [boost.factor(item) for boost in self.boosts]
        if self.recency is not None:
            factors.append(self.recency.factor(item, self.now))
        return [factor for factor in factors if factor is not None]

    def order(self, items: Iterable[RetrievedItem]) -> list[RetrievedItem]:
        """Return the hits rescored, sorted, then collapsed.

        With `collapse`, a hit has the number of hits that were folded into it in `extra["folded"]`, if there are any.

        Args:
            items: best first. Equal values keep this order.
        """
        ordered = list(items)
        if self.boosts or self.recency is not None:
            ordered = best_first(self._scored(item) for item in ordered)
        if self.sort:
            ordered = sorted_by(ordered, self.sort, is_descending=self.is_descending)
        return folded(ordered, self.collapse) if self.collapse else ordered

    def _scored(self, item: RetrievedItem) -> RetrievedItem:
        score = item.score
        if score is None:
            return item
        value = reduce(boosted, (factor.value for factor in self.factors(item)), score)
        return item if value == score else item.model_copy(update={"score": value})

    def explained(self, item: RetrievedItem, below: Explanation) -> Explanation:
        """Return why a hit has its score and its place.

        Args:
            below: why it had its score before.
        """
        for name, factor, facts in self.factors(item) if item.score is not None else ():
            formula = "score * factor" if below.value >= 0 else "score / factor"
            below = Explanation(name, boosted(below.value, factor), formula, facts, (below,))
        if self.sort:
            values = values_of(item, self.sort)
            order = "descending" if self.is_descending else "ascending"
            shown = values[0] if len(values) == 1 else ", ".join(map(str, values))
            facts = {"key": self.sort, "order": order, **({"value": shown} if values else {})}
            below = Explanation("sort", below.value, "the score decides among equal values", facts, (below,))
        return below

    def apply(self, hits: NotedItems) -> NotedItems:
        """Return hits in their new order, with notes; explanations are brought up to date."""
        items = [
            item
            if item.explanation is None
            else item.with_extra(explanation=self.explained(item, item.explanation))
            for item in self.order(hits.items)
        ]
        return NotedItems(items, [*hits.notes, *self.notes_on_missing_keys(hits.items)])

    def notes_on_missing_keys(self, items: Sequence[RetrievedItem]) -> list[str]:
        """Return a note for each key of this arrangement that none of the items has.

        A note suggests the nearest key that one of the items has.
        """
        keys = dict.fromkeys((self.sort, self.collapse, self.recency.key if self.recency else ""))
        absent_keys = [key for key in keys if key and not any(values_of(hit, key) for hit in items)]
        if not absent_keys or not items:
            return []
        names = sorted({name for item in items for name in leaves(item.metadata)})
        return [f"no result has the metadata key {key!r}{spelling_hint(key, names)}" for key in absent_keys]


def sorted_by(items: Sequence[RetrievedItem], key: str, *, is_descending: bool) -> list[RetrievedItem]:
    """Return hits by a value of their metadata; those without it come last, equal ones keep their order.

    Booleans come before numbers and these before texts, which compare without case. Of a list, its least value counts
    in ascending order and its greatest in descending order.
    """
    pick = max if is_descending else min
    keyed = [(tuple(map(_order_of, values_of(item, key))), item) for item in items]
    keyed_items = [(pick(values), item) for values, item in keyed if values]
    keyed_items.sort(key=lambda pair: pair[0], reverse=is_descending)
    return [*(item for _, item in keyed_items), *(item for values, item in keyed if not values)]


def folded(items: Iterable[RetrievedItem], key: str) -> list[RetrievedItem]:
    """Return the first hit of each value of the metadata, with the number of the others in `extra["folded"]`.

    Hits without the key stand for themselves. Lists are equal if they have the same values.
    """
    firsts: dict[Any, RetrievedItem] = {}
    counts: dict[Any, int] = {}
    for number, item in enumerate(items):
        values = frozenset(map(_order_of, values_of(item, key))) or number
        firsts.setdefault(values, item)
        counts[values] = counts.get(values, 0) + 1
    return [
        item.with_extra(folded=counts[values] - 1) if counts[values] > 1 else item
        for values, item in firsts.items()
    ]


def values_of(item: RetrievedItem, key: str) -> list[Scalar]:
    """Return the values of a key in the metadata of a hit, dotted if it is nested."""
    if "." not in key:  # no object holds it
        value = item.metadata.get(key)
        if value is None or isinstance(value, str):
            return [] if value is None else [value]
    leaf = leaves(item.metadata).get(key)
    return leaf if isinstance(leaf, list) else [] if leaf is None else [leaf]


def moment_of(value: Scalar) -> float | None:
    """Return a date as seconds since 1970; None for what is no date."""
    if isinstance(value, str):
        text = value.strip()
        text = f"{text}-01-01" if _YEAR.fullmatch(text) else f"{text}-01" if _MONTH.fullmatch(text) else text
        try:
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not abs(value) < float("inf"):
        return None
    if value in _YEARS:
        return datetime(int(value), 1, 1, tzinfo=UTC).timestamp()
    return value / 1000 if value >= _MILLISECONDS else float(value)


class _Order(NamedTuple):
    """A value as it sorts."""

    kind: int
    number: float
    text: str
    exact: str


def _order_of(value: Scalar) -> _Order:
    if isinstance(value, str):
        return _Order(2, 0.0, value.casefold(), value)
    return _Order(0 if isinstance(value, bool) else 1, value, "", "")
