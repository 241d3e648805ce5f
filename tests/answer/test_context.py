"""Passages are selected and ordered for the prompt of a model."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.answer import assemble
from sleuth.answer.context import drop_repeats, join_overlapping
from sleuth.errors import ArgumentError
from sleuth.text.budget import approximate_tokens
from tests.answer.conftest import item

A = "The token bucket is refilled every second with as many tokens as the limit allows."
B = "Requests above the limit are refused with status 429 and a header that says when to try again."
C = "Limits are kept per key, and a key belongs to one project."


def words(n: int, of: str = "word") -> str:
    return " ".join(f"{of}{i}" for i in range(n))


def test_best_first_and_numbers() -> None:
    """Passages are numbered by rank and keep the ids of their items."""
    passages = assemble([item("a", A, 3.0), item("b", B, 2.0), item("c", C, 1.0)], order="best-first")
    assert [(p.number, p.ids, p.text) for p in passages] == [(1, ("a",), A), (2, ("b",), B), (3, ("c",), C)]


def test_best_at_the_ends() -> None:
    """By default the best passage comes first and the second best last."""
    items = [item(str(i), words(20, f"w{i}x")) for i in range(5)]
    assert [passage.number for passage in assemble(items)] == [1, 3, 5, 4, 2]


def test_budget_is_kept_best_first() -> None:
    """A passage that exceeds the budget is skipped, a shorter one after it may follow, and the best is always
    included.
    """
    items = [item("long", words(50, "l")), item("longer", words(900, "m")), item("short", words(5, "s"))]
    assert [p.ids[0] for p in assemble(items, budget=400, order="best-first")] == ["long", "short"]


def test_a_best_passage_that_does_not_fit_is_cut() -> None:
    """If no passage fits the budget, the first sentences of the best one are used."""
    (passage,) = assemble([item("a", f"{A} {B} {C}")], budget=45)
    assert passage.text == A
    (tiny,) = assemble([item("a", words(500))], budget=30)
    assert 0 < approximate_tokens(tiny.text) <= 30


def test_neighbours_become_one_passage() -> None:
    """Neighbouring chunks of a document are merged in document order, at the better rank, without their overlap."""
    beginning, shared, right = "First part of it. ", "This stands in both chunks. ", "Last part of it."
    items = [
        item("g.md#5", shared + right, source="g.md", start_line=10, end_line=20),
        item("other.md#4", B, source="other.md"),
        item("g.md#4", beginning + shared, source="g.md", start_line=1, end_line=12),
        item("g.md#7", C, source="g.md"),
    ]
    passages = assemble(items, order="best-first")
    assert [p.ids for p in passages] == [("g.md#4", "g.md#5"), ("other.md#4",), ("g.md#7",)]
    assert passages[0].text == beginning + shared + right
    assert passages[0].source == "g.md:1-20"


def test_near_duplicates_are_dropped() -> None:
    """A passage is dropped if a better one repeats it as a copy, as a part, or with other spacing."""
    repeats = [item("a", f"{A} {B}"), item("copy", f"{A}  {B.upper()}"), item("part", B), item("c", C)]
    assert [passage.id for passage in drop_repeats(repeats)] == ["a", "c"]


def test_texts_without_words_are_not_repeats() -> None:
    """Texts without words do not count as repeats of each other."""
    assert len(drop_repeats([item("a", "+++"), item("b", "---")])) == 2


@pytest.mark.parametrize(
    ("metadata", "source"),
    [
        ({"path": "a/b.md", "source": "x"}, "a/b.md"),
        ({"source": "b.pdf", "page": 3, "start_line": 1, "end_line": 2}, "b.pdf p.3"),
        ({"source": "b.md", "start_line": 4, "end_line": 9}, "b.md:4-9"),
        ({}, "the-id"),
    ],
)
def test_sources(metadata: dict[str, Any], source: str) -> None:
    """A source is a path or an id, with its page or lines if they are known."""
    (passage,) = assemble([item("the-id", A, **metadata)])
    assert passage.source == source
    assert passage.to_dict()["source"] == source


def test_arguments() -> None:
    """A budget below 1 and an unknown order raise ArgumentError."""
    with pytest.raises(ArgumentError, match="budget must be an int of 1 or more, got 0"):
        assemble([], budget=0)
    with pytest.raises(ArgumentError, match="order must be 'ends' or 'best-first', got 'random'"):
        assemble([], order="random")  # type: ignore[arg-type]
    assert assemble([]) == []


@given(st.text("ab ", min_size=8, max_size=30), st.text("cd ", max_size=30), st.text("ef ", max_size=30))
def test_overlap_stands_once(shared: str, beginning: str, right: str) -> None:
    """Joining two texts keeps their overlap once."""
    assert join_overlapping(beginning + shared, shared + right) == beginning + shared + right


@given(st.lists(st.integers(1, 400), max_size=12), st.integers(1, 1500))
def test_never_over_budget(lengths: list[int], budget: int) -> None:
    """For any items, the passages fit the budget together, and there is at least one."""
    items = [item(f"i{n}", words(length, f"q{n}x")) for n, length in enumerate(lengths)]
    passages = assemble(items, budget=budget)
    assert sum(approximate_tokens(passage.text) for passage in passages) <= budget
    assert bool(passages) == bool(items)
