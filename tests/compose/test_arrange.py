"""Hits arranged by their metadata: boosts, recency, order and folding."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth import RetrievedItem
from sleuth.compose.arrange import Arrangement, Recency, moment_of, parse_boosts, sorted_by
from sleuth.errors import ArgumentError, FilterError
from sleuth.types import Explanation

NOW = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def item(id: str, score: float | None = 1.0, **metadata: Any) -> RetrievedItem:
    """Return a hit."""
    return RetrievedItem(id=id, text="", metadata=metadata, score=score)


def arrangement(
    sort: str | None = None, collapse: str | None = None, recency: str | None = None, boost: Any = None
) -> Arrangement:
    """Return an arrangement of options."""
    value = Arrangement.of(sort, collapse, recency, boost)
    assert value is not None
    return value


def test_equal_values_keep_their_order_and_hits_without_the_key_come_last() -> None:
    """Numbers come before texts, which compare without case; the direction turns values and nothing else."""
    items = [
        item("b", n=2), item("a", n=2), item("none"), item("t", n="Zeta"), item("u", n="alpha"),
        item("c", n=1),
    ]  # fmt: skip
    assert [each.id for each in sorted_by(items, "n", is_descending=False)] == [
        "c", "b", "a", "u", "t", "none",
    ]  # fmt: skip
    assert [each.id for each in sorted_by(items, "n", is_descending=True)] == [
        "t", "u", "b", "a", "c", "none",
    ]  # fmt: skip


def test_of_a_list_the_value_nearest_to_the_top_counts() -> None:
    """Ascending order takes the least value of a list, descending order the greatest; nested keys are dotted."""
    items = [item("one", by={"year": 5}), item("many", by={"year": [1, 9]})]
    for key in ("by.year", "-by.year"):
        assert [each.id for each in arrangement(sort=key).order(items)] == ["many", "one"]


def test_folding_keeps_the_best_of_each_value() -> None:
    """A hit says how many more have its value; hits without the key stand for themselves; True is not 1."""
    values = {"a": 1, "b": None, "c": 1.0, "d": True, "e": None, "f": ["x", "y"], "g": ["y", "x"]}
    items = [item(id, n=value) for id, value in values.items()]
    folded = [(each.id, each.folded) for each in arrangement(collapse="n").order(items)]
    assert folded == [("a", 1), ("b", 0), ("d", 0), ("e", 0), ("f", 1)]


def test_half_of_the_advantage_is_left_after_a_half_life() -> None:
    """A hit of now counts the most, one of a half-life half of what is beyond 1, one without a date as before."""
    recency = Recency.parse("date:10d^3")
    days = {"2026-01-01": 3.0, "2025-12-22": 2.0, "2025-12-12": 1.5, "2027-01-01": 3.0}
    for date, expected in days.items():
        factor = recency.factor(item("a", date=date), NOW)
        assert factor is not None
        assert factor.value == pytest.approx(expected)
    half_lives = [Recency.parse(f"date:{age}").half_life for age in ("24h", "1d", "7d", "1w", "12m", "1y")]
    assert half_lives[::2] == half_lives[1::2]
    assert recency.factor(item("a", date="soon"), NOW) is None
    assert recency.factor(item("a"), NOW) is None


def test_dates_are_read_in_the_forms_that_metadata_has() -> None:
    """ISO dates with or without a time, months, years, seconds and milliseconds; nothing else is a date."""
    first = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
    for value in (
        "2024-01-01",
        "2024-01",
        "2024",
        2024,
        "2024-01-01T00:00:00Z",
        "2024-01-01 01:00+01:00",
        first,
        first * 1000,
    ):
        assert moment_of(value) == first
    assert moment_of(10_000) == 10_000.0
    for value in ("soon", "", True, float("inf"), "2024-13-01", "0000"):
        assert moment_of(value) is None


def test_boosts_multiply_and_explanations_say_how() -> None:
    """Each filter that matches multiplies the score; the explanation has its value, as has the score."""
    both = arrangement(boost={"kind:note": 2, "year>=2020": 0.5, "kind:page": 9})
    hit = item("a", 0.8, kind="note", year=2021)
    (after,) = both.order([hit])
    assert after.score == pytest.approx(0.8)
    explanation = both.explained(hit, Explanation("before", 0.8))
    assert explanation.value == after.score
    assert explanation.formula == explanation.parts[0].formula == "score * factor"
    assert [explanation.facts["factor"], explanation.parts[0].facts["factor"]] == [0.5, 2]
    scored = arrangement(boost="kind:note^2").order(
        [item("a", -1.0, kind="note"), item("b", None, kind="note")]
    )
    assert [hit.score for hit in scored] == [-0.5, None]


def test_ties_after_a_boost_are_in_order_of_id() -> None:
    items = [item("z", 2.0), item("a", 1.0, kind="note")]
    assert [each.id for each in arrangement(boost="kind:note^2").order(items)] == ["a", "z"]


def test_a_text_of_boosts_means_the_same_as_a_mapping() -> None:
    assert parse_boosts("kind:note^2; year>=2020 lang:en^1.5") == parse_boosts(
        {"kind:note": 2, "year>=2020 lang:en": 1.5}
    )


@given(st.lists(st.tuples(st.integers(0, 3) | st.none(), st.floats(-2, 2)), max_size=12))
def test_an_arrangement_keeps_every_hit(rows: list[tuple[int | None, float]]) -> None:
    """Sorting and boosting lose no hit; folding accounts for all."""
    items = [
        item(f"{n:02}", score, **({} if value is None else {"n": value}))
        for n, (value, score) in enumerate(rows)
    ]
    ordered = arrangement(sort="-n", boost="n:2^3", recency="n:1d").order(items)
    assert sorted(each.id for each in ordered) == sorted(each.id for each in items)
    folded = arrangement(sort="-n", collapse="n").order(items)
    assert len(folded) + sum(each.folded for each in folded) == len(items)


@pytest.mark.parametrize(
    "options",
    [
        *({"sort": value} for value in ("", "-", 3)),
        *({"collapse": value} for value in ("-a", " ", 3)),
        *({"recency": text} for text in ("date", "date:0d", "date:30", ":30d", "date:30d^0", 3)),
        *({"boost": text} for text in ("", "a:b", "a:b^0", "a:b^2;", 3, {}, {"": 2})),
        *({"boost": {"a:b": value}} for value in (-1, 0, True, "2", float("inf"))),
    ],
    ids=str,
)
def test_what_is_no_option_is_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ArgumentError, match=rf"{name} must .*, got"):
        arrangement(**options)


def test_a_boost_by_what_is_no_filter_is_refused() -> None:
    with pytest.raises(FilterError):
        arrangement(boost={"year>=": 2})
