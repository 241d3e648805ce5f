"""The hits that a list shows."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sleuth import RetrievedItem
from sleuth.compose.variety import choose, choose_among
from tests.examples import examples
from tests.text.test_repeats import prose


def item(id: str, text: int | None = None) -> RetrievedItem:
    """Return an item whose text is like that of others with the same number; another text for each id without one."""
    return RetrievedItem(id=id, text=" ".join(prose(hash(id) if text is None else text, 40)))


def ids(
    items: Sequence[RetrievedItem], k: int = 10, *, fold_copies: bool = True, per_document: int = 3
) -> list[str]:
    """Return the ids of the hits to show."""
    return [each.id for each in choose_among(items, k, fold_copies=fold_copies, per_document=per_document)]


def test_copies_give_way_and_are_named() -> None:
    """A hit names the passages that repeat it; unless they are folded, they are hits."""
    items = [item("a.html#0", 1), item("b#0", 2), item("a.txt#4", 1), item("c#0", 3), item("a.info#9", 1)]
    selection = choose_among(items, 3, fold_copies=True, per_document=3)
    assert [(each.id, each.copies) for each in selection] == [
        ("a.html#0", ("a.txt#4", "a.info#9")),
        ("b#0", ()),
        ("c#0", ()),
    ]
    assert ids(items, 3, fold_copies=False) == ["a.html#0", "b#0", "a.txt#4"]
    assert items[0].copies == ()


def test_one_document_has_three_of_the_first_ten() -> None:
    """Further passages of a document follow behind the first ten, in their order."""
    long = [item(f"long#{n}") for n in range(8)]
    others = [item(f"other-{n}#0") for n in range(12)]
    expected = [*(f"long#{n}" for n in range(3)), *(f"other-{n}#0" for n in range(7))]
    assert ids(long + others) == expected
    rest = [*(f"long#{n}" for n in range(3, 8)), *(f"other-{n}#0" for n in range(7, 12))]
    assert ids(long + others, 100) == expected + rest
    assert ids(long + others, per_document=0) == [each.id for each in (long + others)[:10]]
    assert ids(long + others, 5, per_document=1) == ["long#0", *(f"other-{n}#0" for n in range(4))]


def test_a_document_of_rows_is_no_limit() -> None:
    """Rows of a file are documents of their own, and hits of code and the web have no passages."""
    items = [*(item(f"b.csv#{n}#0") for n in range(6)), *(item(f"src/a.py:{n}") for n in range(6))]
    assert ids(items, 12) == [each.id for each in items]


def by_the_rule(
    items: Sequence[RetrievedItem], k: int, *, fold_copies: bool, per_document: int
) -> list[RetrievedItem]:
    """Return what the docstring of `choose` says, hit by hit, of items whose copies have equal texts."""
    best_of_text = dict[str, str]()  # ids of the hits that are shown
    places = dict[str, int]()  # by document, of the first ten
    copies = dict[str, list[str]]()
    first: list[RetrievedItem] = []
    waiting: list[RetrievedItem] = []

    def is_copy(each: RetrievedItem) -> bool:
        original = best_of_text.setdefault(each.text, each.id)
        if not fold_copies or original == each.id:
            return False
        copies.setdefault(original, []).append(each.id)
        return True

    for each in items[:100]:
        places.setdefault(each.document_id, 0)
        if len(first) == 10 or 0 < per_document <= places[each.document_id]:
            waiting.append(each)
        elif not is_copy(each):
            first.append(each)
            places[each.document_id] += 1
    others = [each for each in waiting if not is_copy(each)] + list(items[100:])
    missing = 10 - len(first)
    first = sorted(first + others[:missing], key=items.index) + others[missing:]
    return [each.with_extra(copies=copies[each.id]) if each.id in copies else each for each in first[:k]]


@settings(max_examples=examples(300))
@given(
    st.integers(0, 20).flatmap(
        lambda most: st.lists(st.tuples(st.integers(0, most), st.integers(0, 90)), max_size=140)
    ),
    st.sampled_from([0, 1, 2, 3, 5, 10, 11, 12, 50, 130, 1_000]),
    st.integers(0, 4),
    st.booleans(),
)
@example([(0, 1), (1, 1), (1, 2), *((9 + n, 3 + n) for n in range(12))], 2, 1, True)
@example([(0, 1), (1, 0), (1, 1), (1, 2), (1, 3), *((9 + n, 4 + n) for n in range(12))], 4, 3, True)
@example([*((0, n) for n in range(9)), (1, 9), *((0, n) for n in range(10, 31))], 40, 3, True)
@example([*((0, n) for n in range(9)), (1, 9), *((0, n) for n in range(10, 31))], 5, 3, False)
def test_the_hits_are_those_of_the_rule(
    hits: list[tuple[int, int]], k: int, per_document: int, fold_copies: bool
) -> None:
    """A hit that repeats a better one takes no place of its document, and the places are filled as the rule says, for
    every k from the same list; the longest list lacks copies alone, which it names.
    """
    items = [item(f"d{document}#{place}", text) for place, (document, text) in enumerate(hits)]
    expected = by_the_rule(items, k, fold_copies=fold_copies, per_document=per_document)
    chosen = choose_among(items, k, fold_copies=fold_copies, per_document=per_document)
    assert [each.id for each in chosen] == [each.id for each in expected]
    for each, other in zip(chosen, expected, strict=True):  # a list for k may name fewer copies, see `choose`
        assert each.copies == (other.copies if k == 1_000 else other.copies[: len(each.copies)])


@pytest.mark.parametrize(("copies", "most"), [((), 10), ((3,), 15), ((0, 1, 2, 3, 4, 5), 17)])
def test_few_hits_are_read(copies: Sequence[int], most: int) -> None:
    """A ranking is read only as far as hits have to be replaced."""
    items = [item("best"), *(item(f"d{n}", hash("best") if n in copies else None) for n in range(200))]
    reads: list[int] = []

    def read(places: range) -> Sequence[RetrievedItem]:
        reads.extend(places)
        return items[places.start : places.stop]

    hits = choose(items[:10], 10, read, fold_copies=True, per_document=3)
    assert len(hits) == 10
    assert reads == list(range(10, most))


def test_a_ranking_that_has_ended_is_not_read_on() -> None:
    """Fewer hits than asked for are all there are."""

    def read(places: range) -> Sequence[RetrievedItem]:
        raise AssertionError(places)

    items = [item("a"), item("b", hash("a")), item("c")]
    hits = choose(items, 10, read, fold_copies=True, per_document=3)
    assert [each.id for each in hits] == ["a", "c"]


def test_a_huge_k_takes_no_memory() -> None:
    """As many hits as no ranking has are all there are."""
    hits = choose_among([item("a"), item("b", hash("a"))], 1 << 40, fold_copies=True, per_document=3)
    assert [each.id for each in hits] == ["a"]
