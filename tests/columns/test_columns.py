"""Columns of metadata, and the rows that they select in the segments of other legs."""

import math
import random
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.columns import leg
from sleuth.columns.column import (
    NO_FLOATS,
    NO_INTEGERS,
    NO_LISTS,
    NO_STRINGS,
    Column,
    Strings,
    below,
    read_column,
    text_of,
    up_to,
    utf8,
)
from sleuth.columns.leg import ColumnsLeg
from sleuth.columns.search import ColumnsSearcher, FilterCache, align
from sleuth.errors import IndexDamagedError
from sleuth.filters import Compare, Filter, Not, field, matches
from sleuth.filters.text import from_text
from sleuth.store import Rows, SegmentData, SegmentView, unpack
from sleuth.store.legs.leg import Bitmap, Leg, pack
from tests.examples import examples
from tests.filters.strategies import filters, metadata

Row = dict[str, Any]


def view(data: SegmentData, n: int, *, name: str = "s", live: Bitmap | None = None) -> SegmentView:
    """Return a segment as the store presents it, with read-only arrays."""
    for array in data.arrays.values():
        array.setflags(write=False)
    return SegmentView(name, np.arange(n, dtype=np.int64), None, live, data.arrays, data.meta)


def built(rows: list[Row], *, name: str = "s", live: list[bool] | None = None) -> SegmentView:
    data = ColumnsLeg().build(Rows(np.arange(len(rows), dtype=np.int64), None, {}, rows))
    return view(data, len(rows), name=name, live=None if live is None else pack(np.array(live, np.bool_)))


def found(segment: SegmentView, tree: Filter) -> list[bool]:
    [bitmap] = ColumnsSearcher([segment]).bitmap(tree)
    n = len(segment)
    assert bitmap.shape == ((n + 63) // 64,)
    assert not unpack(bitmap, 64 * len(bitmap))[n:].any(), "bits beyond the rows are 0"
    return [bool(one) for one in unpack(bitmap, n)]


def expected(rows: list[Row], tree: Filter) -> list[bool]:
    return [matches(tree, row) for row in rows]


def test_it_is_a_leg() -> None:
    """ColumnsLeg implements the protocol of legs."""
    leg: Leg = ColumnsLeg()
    assert leg.name == "columns"
    assert leg.fingerprint == ColumnsLeg().fingerprint


@settings(max_examples=examples(100))
@given(st.lists(metadata(), max_size=70), st.lists(filters(), min_size=1, max_size=5))
def test_columns_agree_with_the_truth_table(rows: list[Row], trees: list[Filter]) -> None:
    """For any rows and filters, the bitmap contains exactly the matching rows."""
    segment = built(rows)
    for tree in trees:
        assert found(segment, tree) == expected(rows, tree)


@st.composite
def segmented(draw: st.DrawFn) -> list[tuple[list[Row], list[bool] | None]]:
    """Generate several segments, some with deletions."""
    parts = []
    for rows in draw(st.lists(st.lists(metadata(), max_size=12), min_size=1, max_size=4)):
        live = draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
        parts.append((rows, live))
    return parts


def kept(part: tuple[list[Row], list[bool] | None]) -> list[Row]:
    rows, live = part
    return [row for row, is_live in zip(rows, live or [True] * len(rows), strict=True) if is_live]


@settings(max_examples=examples(100))
@given(segmented(), st.lists(filters(), min_size=1, max_size=5), st.sampled_from([1, 4, leg.PIECE]))
def test_merging_drops_dead_rows_and_nothing_else(
    parts: list[tuple[list[Row], list[bool] | None]], trees: list[Filter], piece: int
) -> None:
    """A merged segment equals, byte for byte, one that is built from the live rows; strings are read in pieces."""
    segments = [built(rows, live=live) for rows, live in parts]
    rows = [row for part in parts for row in kept(part)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leg, "PIECE", piece)
        merge_result = view(ColumnsLeg().merge(segments), len(rows))
    for tree in trees:
        assert found(merge_result, tree) == expected(rows, tree)
    fresh = built(rows)
    assert merge_result.arrays["columns"].tobytes() == fresh.arrays["columns"].tobytes()
    assert merge_result.meta == fresh.meta


@settings(max_examples=examples(100))
@given(st.lists(st.lists(metadata(), max_size=12), min_size=1, max_size=4), filters())
def test_segments_are_searched_each(parts: list[list[Row]], tree: Filter) -> None:
    """A search over several segments returns a bitmap for each, and again from the cache."""
    segments = [built(rows, name=f"s{at}") for at, rows in enumerate(parts)]
    searcher = ColumnsSearcher(segments)
    for _ in range(2):
        bitmaps = searcher.bitmap(tree)
        for rows, bitmap in zip(parts, bitmaps, strict=True):
            assert [bool(one) for one in unpack(bitmap, len(rows))] == expected(rows, tree)


def random_rows(seed: int, n: int) -> list[Row]:
    """Return rows like those of real documents: keys shared by runs of rows, few values, and unique values."""
    rng = random.Random(seed)
    rows = []
    for at in range(n):
        document = at // 7
        row: Row = {
            "source": f"docs/{document % 13}/{document:05d}.md",
            "year": 1990 + document % 30,
            "id": at * 37,
        }
        if document % 3:
            row["lang"] = rng.choice(["en", "de", "fr"])
        if rng.random() < 0.3:
            row["tags"] = rng.sample(["a", "b", "c", "d", 1, 2.5, True], rng.randint(0, 4))
        if rng.random() < 0.01:
            row["rare"] = rng.choice([0.5, "x", None, math.nan])
        row["score"] = rng.random()
        rows.append(row)
    return rows


@pytest.mark.parametrize("n", [1, 63, 64, 65, 5000])
def test_large_segments_agree_with_the_truth_table(n: int) -> None:
    """Runs, code tables and long bitmaps give the same rows, before and after a merge."""
    rows = random_rows(n, n)
    tests = [
        "source:docs/3/", 'source:"docs/1/00001.md"', "source:*0001*", "year>=2000 year<2010",
        "year:1990,1993,1996,1999,2002,2005", "id>=370 id<3700.5", "id:0,37,38,74,111,148,185,222",
        "score<0.5", "lang:en,fr OR tags:a", "tags:[1] -tags:true", "tags:2.5,b", "rare:*",
        "rare!=x -rare:0.5", "nowhere:*", "nowhere!=*",
    ]  # fmt: skip
    half = built(rows[: n // 2], name="a"), built(rows[n // 2 :], name="b")
    merge_result = view(ColumnsLeg().merge(half), n, name="m")
    for text in tests:
        tree = from_text(text)
        assert found(built(rows), tree) == expected(rows, tree) == found(merge_result, tree), text


def test_keys_are_listed() -> None:
    """The searcher lists the keys of all segments."""
    searcher = ColumnsSearcher([built([{"b": 1}]), built([{"a": {"c": 1}}, {}])])
    assert searcher.keys() == ["a", "a.c", "b"]


def test_rows_without_metadata() -> None:
    """Rows without metadata have no keys, and no comparison matches them."""
    data = ColumnsLeg().build(Rows(np.arange(3, dtype=np.int64), None, {}))
    segment = view(data, 3)
    assert data.arrays["columns"].nbytes == 0
    assert found(segment, field("a") == 1) == [False] * 3
    assert found(segment, field("a") != 1) == [True] * 3


def test_a_key_of_no_row_costs_nothing() -> None:
    """Keys of only dead rows, and keys with only nulls, are not stored."""
    assert built([{"a": None}, {"a": None}]).meta["keys"] == {}
    dead = built([{"a": 1, "b": 2}, {"b": 3}], live=[False, True])
    assert list(ColumnsLeg().merge([dead]).meta["keys"]) == ["b"]


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        (["x"] * 10_000, 50),
        ([f"document {at // 50}" for at in range(10_000)], 5_000),
        ([None] * 9_999 + ["rare"], 50),
        ([at + 10**12 for at in range(10_000)], 100_050),
        ([at % 7 for at in range(10_000)], 10_100),
        ([f"corpus/part-{at // 100:03d}/file-{at:06d}.txt" for at in range(10_000)], 410_000),
    ],
)
def test_columns_are_small(values: list[Any], limit: int) -> None:
    """Constants, runs, rare keys, integers, few values and paths take their expected size."""
    assert built([{"k": value} for value in values]).arrays["columns"].nbytes <= limit


def test_bitmaps_are_read_only_and_cached() -> None:
    """A repeated filter returns the same read-only bitmap; True and 1 are two filters."""
    segment = built([{"k": True}, {"k": 1}])
    searcher = ColumnsSearcher([segment])
    [first] = searcher.bitmap(field("k") == True)  # noqa: E712
    assert searcher.bitmap(field("k") == True)[0] is first  # noqa: E712
    assert not first.flags.writeable
    assert [bool(one) for one in unpack(searcher.bitmap(field("k") == 1)[0], 2)] == [False, True]


def test_the_cache_forgets_the_least_recently_used() -> None:
    """The cache evicts the least recently used bitmap above its limit in bytes."""
    cache = FilterCache(16, lambda bitmap: bitmap.nbytes)
    tests = [Compare("k", "eq", at) for at in range(3)]
    for at, test in enumerate(tests[:2]):
        cache.put(("s", test), np.array([at], np.uint64))
    assert cache.get(("s", tests[0])) is not None
    cache.put(("s", tests[2]), np.array([2], np.uint64))
    assert cache.get(("s", tests[1])) is None
    assert cache.get(("s", tests[0])) is not None
    assert cache.get(("s", tests[2])) is not None


@settings(max_examples=examples(100))
@given(st.data())
def test_damaged_columns_do_not_crash(data: st.DataObject) -> None:
    """Damaged bytes give a result or a typed error, and no read beyond the array."""
    segment = built(random_rows(1, 200))
    raw = segment.arrays["columns"].copy()
    for _ in range(data.draw(st.integers(1, 20))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    damaged = SegmentView("d", segment.keys, None, None, {"columns": raw}, segment.meta)
    searcher = ColumnsSearcher([damaged])
    for text in ("source:*1*", "source:docs/3/", "tags:a", "id>5", "year:1990,1992,1994,1996,1998,2001"):
        with suppress(IndexDamagedError):
            searcher.bitmap(from_text(text))


@pytest.mark.parametrize("piece", ["codes", "strings", "ends", "offsets", "elements"])
def test_a_column_without_a_piece_is_damaged(piece: str) -> None:
    """Where an array of a column is not there, reading it says so."""
    segment = built([{"k": ["a", "b"]}])
    del segment.meta["keys"]["k"][piece]
    with pytest.raises(IndexDamagedError, match="must have"):
        read_column(segment, "k")


@pytest.mark.parametrize("piece", [1, leg.PIECE])
def test_a_merge_refuses_strings_out_of_order(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strings that do not rise make a merge fail with the segment and the key, and not without end."""
    monkeypatch.setattr(leg, "PIECE", piece)
    segment = built([{"k": name} for name in "abcd"])
    raw = segment.arrays["columns"].copy()
    raw[raw == ord("b")] = ord("z")
    damaged = view(SegmentData({"columns": raw}, segment.meta), 4)
    with pytest.raises(IndexDamagedError, match=r"'k' of segment s.*strings must rise"):
        ColumnsLeg().merge([damaged, built([{"k": "q"}])])


@given(st.lists(st.text("aAé😀", max_size=6), max_size=60, unique=True), st.text("aAé😀", max_size=3))
def test_strings_are_searched_as_in_python(words: list[str], needle: str) -> None:
    """Strings are returned unchanged, and are counted and searched as in Python."""
    words = sorted(words)
    strings = Strings.of([utf8(word) for word in words])
    assert [text_of(string) for string in strings.all()] == words
    assert [text_of(strings.item(place)) for place in range(len(words))] == words
    assert below(strings, utf8(needle)) == sum(word < needle for word in words)
    assert up_to(strings, utf8(needle)) == sum(word <= needle for word in words)
    assert strings.containing(needle).tolist() == [needle in word for word in words]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=300), st.integers(1, 40))
def test_rows_are_laid_out_as_they_are(values: list[int], run: int) -> None:
    """Codes of rows are returned unchanged, stored as runs or one by one."""
    codes = np.repeat(np.array(values, np.uint8), run)
    column = Column.of(codes, NO_INTEGERS, NO_FLOATS, NO_STRINGS, NO_LISTS)
    assert column.row_codes().tolist() == codes.tolist()
    assert len(column.codes) <= len(codes)


def test_not_of_everything_is_nothing() -> None:
    """Negation sets the right bits at every size around a word."""
    for n in (0, 1, 63, 64, 65, 128):
        rows: list[Row] = [{"k": 1}] * n
        assert found(built(rows), Not(field("k") == 1)) == [False] * n
        assert found(built(rows), Not(field("k") == 2)) == [True] * n


def views(keys: list[int], cuts: list[int]) -> list[SegmentView]:
    """Return segments of these keys, divided at these keys."""
    parts = np.split(np.array(keys, np.int64), np.searchsorted(keys, sorted(cuts)))
    return [SegmentView(str(i), part, None, None, {}, {}) for i, part in enumerate(parts)]


keys = st.lists(st.integers(1, 200), unique=True, max_size=80).map(sorted)
cuts = st.lists(st.integers(1, 200), max_size=4)


@given(keys, keys, cuts, cuts, st.sets(st.integers(1, 200)))
def test_align_keeps_the_set(
    mine: list[int], yours: list[int], here: list[int], there: list[int], selection: set[int]
) -> None:
    """The aligned set contains the selected rows that both legs have, for any division into segments."""
    source, target = views(mine, here), views(yours, there)
    bitmaps = [pack(np.isin(view.keys, list(selection))) for view in source]
    aligned = align(bitmaps, source, target)
    members = [
        int(k) for view, bits in zip(target, aligned, strict=True) for k in view.keys[unpack(bits, len(view))]
    ]
    assert members == sorted(selection & set(mine) & set(yours))
