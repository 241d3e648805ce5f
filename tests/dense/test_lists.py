"""Lists of clusters: what they hold, what a search finds in them, and when they are read."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sleuth.dense import DenseLeg, codes, lists
from sleuth.dense.lists import ClusterLists, lists_in
from sleuth.dense.search import DenseSearcher
from sleuth.store import IN_MEMORY, Scratch, SegmentData, SegmentView
from sleuth.store.disk import scratch
from sleuth.store.legs.leg import pack
from sleuth.vectors import unit
from tests.segments import search

N, DIMENSION = 6_000, 40


class Clustered:
    """An embedder whose texts are numbers of rows around 50 centres."""

    fingerprint = "clustered"
    dimension = DIMENSION

    def __init__(self) -> None:
        random = np.random.default_rng(1)
        centres = random.standard_normal((50, DIMENSION))
        rows = centres[random.integers(0, 50, N)] + 0.7 * random.standard_normal((N, DIMENSION))
        self.rows = unit(rows.astype(np.float32))

    def embed_documents(self, texts: Any) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self.rows[[int(text) for text in texts]]
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.rows[int(text)]
        return vector


@pytest.fixture(scope="module")
def embedder() -> Clustered:
    """The rows that all tests share."""
    return Clustered()


@pytest.fixture(scope="module")
def segment_data(embedder: Clustered) -> SegmentData:
    """One segment of all rows, with lists."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lists, "LISTED_FROM", N)
        patched.setattr(lists, "ROWS_OF_A_LIST", N // 100)
        return DenseLeg(embedder).pack(codes.pack(embedder.rows), DIMENSION)


def view_of(data: SegmentData, live: NDArray[np.bool_] | None = None) -> SegmentView:
    bits = None if live is None else pack(live)
    return SegmentView("s", np.arange(N, dtype=np.int64), None, bits, data.arrays, data.meta)


def read_lists(patched: pytest.MonkeyPatch, probes: int) -> None:
    """Let a search read so many lists, even where all codes take no longer."""
    patched.setattr(lists, "PROBES", probes)
    patched.setattr(lists, "SPREAD_OF_MATCHING", 0)
    patched.setattr(lists, "READ_APART", 0)


def plain(data: SegmentData) -> SegmentData:
    """The same segment without its lists."""
    arrays = {name: array for name, array in data.arrays.items() if not name.startswith(lists.PREFIX)}
    return SegmentData(arrays, data.meta)


def lists_of(data: SegmentData) -> ClusterLists:
    row_lists = lists_in(data.arrays)
    assert row_lists is not None
    return row_lists


def test_a_small_segment_has_no_lists(embedder: Clustered) -> None:
    """Segments below `LISTED_FROM` rows have no lists, and `lists_in` says so."""
    data = DenseLeg(embedder).pack(codes.pack(embedder.rows), DIMENSION)
    assert lists_in(data.arrays) is None
    assert "list_spread" not in data.meta


def test_each_row_is_in_its_nearest_list_and_far_ones_in_one_apart(embedder: Clustered) -> None:
    """The kernel chooses the lists that the formula chooses among all centres, but for one row in twenty."""
    packed = codes.pack(embedder.rows)
    middles = lists.cluster(packed, DIMENSION, 100)
    rows, centres = codes.unpack(packed, DIMENSION), codes.unpack(middles, DIMENSION)
    products = rows @ centres.T
    first, nearness = products.argmax(axis=1), products.max(axis=1)
    residuals = rows - centres[first]
    residuals /= np.maximum(np.linalg.norm(residuals, axis=1, keepdims=True), 1e-3)
    along = (residuals * rows).sum(axis=1, keepdims=True) - residuals @ centres.T
    errors = 2 - 2 * products + 2 * along**2
    errors[np.arange(N), first] = np.inf
    second = errors.argmin(axis=1)
    owners: list[set[int]] = [set() for _ in range(N)]
    for owner, members in enumerate(lists.assign(packed, middles, DIMENSION)):
        for row in members.tolist():
            owners[row].add(owner)
    far = nearness < np.median(nearness)
    expected = [{int(first[i]), int(second[i])} if far[i] else {int(first[i])} for i in range(N)]
    assert sum(owners[i] == expected[i] for i in range(N)) >= 0.95 * N


def test_lists_do_not_depend_on_how_many_rows_are_read_at_once(
    segment_data: SegmentData, embedder: Clustered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists that are made a few rows at a time, through files, are the same bytes."""
    monkeypatch.setattr(lists, "ROWS_OF_A_LIST", N // 100)
    for name, value in {"_BATCH": 500, "_ROWS": 700}.items():
        monkeypatch.setattr(lists, name, value)
    monkeypatch.setattr(scratch, "ROOM", 1000)
    pieces, _ = lists.list_rows(codes.pack(embedder.rows), DIMENSION, Scratch(tmp_path))
    for name, array in pieces.arrays().items():
        assert array.tobytes() == segment_data.arrays[name].tobytes()


def test_rows_that_are_put_into_lists_take_no_memory_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60,000 more rows take less than half a byte each: what is known of all rows is in files."""
    for name, value in {"_BATCH": 512, "_ROWS": 2048}.items():
        monkeypatch.setattr(lists, name, value)
    monkeypatch.setattr(scratch, "ROOM", 1000)
    random = np.random.default_rng(5)
    centres = codes.pack(random.standard_normal((400, 8), np.float32))

    def peak(n: int) -> int:
        rows = codes.pack(random.standard_normal((n, 8), np.float32))
        tracemalloc.start()
        try:
            assert sum(map(len, lists.assign(rows, centres, 8, Scratch(tmp_path)))) >= n
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2_000)  # imports
    assert peak(80_000) - peak(20_000) < 30_000


def test_the_centre_of_a_list_is_the_middle_of_its_rows(
    segment_data: SegmentData, embedder: Clustered
) -> None:
    """At its scale, to the precision of rows; each row is in one list or in two."""
    row_lists = lists_of(segment_data)
    rows, centres = (
        codes.unpack(codes.pack(embedder.rows), DIMENSION),
        codes.unpack(row_lists.centres, DIMENSION),
    )
    times = np.zeros(N, int)
    for i, (begin, end) in enumerate(zip(row_lists.begins, row_lists.begins[1:], strict=False)):
        members = row_lists.rows[begin * 64 : end * 64]
        members = members[members != lists.NO_ROW]
        times[members] += 1
        centre = row_lists.scales[i] * centres[i]
        assert not len(members) or np.abs(centre - rows[members].mean(axis=0)).max() < 1e-3
    assert set(times.tolist()) == {1, 2}
    assert np.count_nonzero(times == 2) == pytest.approx(N / 2, abs=1)


@pytest.mark.parametrize("width", [0, 256, 512])
def test_the_lists_of_a_row_do_not_depend_on_the_machine(
    segment_data: SegmentData, embedder: Clustered, width: int
) -> None:
    """Registers of every width choose the same lists."""
    row_lists = lists_of(segment_data)
    arguments = (embedder.rows[:200], row_lists.centres, row_lists.centre_codes, row_lists.centre_factors)
    owners, products = codes.assign(*arguments, width=width)
    assert np.array_equal(owners, codes.assign(*arguments)[0])
    assert np.array_equal(products, codes.assign(*arguments)[1])


@pytest.fixture
def searchers(
    segment_data: SegmentData, embedder: Clustered, monkeypatch: pytest.MonkeyPatch
) -> tuple[DenseSearcher, DenseSearcher]:
    """A searcher with lists and one without, over the same rows; neither scores all rows."""
    monkeypatch.setattr("sleuth.dense.search.EXACT_BELOW", 0)
    leg = DenseLeg(embedder)
    return DenseSearcher(leg, [view_of(segment_data)]), DenseSearcher(leg, [view_of(plain(segment_data))])


def test_the_nearest_lists_hold_nearly_all_of_the_best(
    searchers: tuple[DenseSearcher, DenseSearcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fifth of the lists holds nine in ten of the best ten, and what is found has its exact score."""
    read_lists(monkeypatch, 20)
    by_lists, scanned = searchers
    same = 0
    for query in range(100):
        best = search(scanned, str(query), 10)
        hits = search(by_lists, str(query), 10, depth=100)
        same += len(set(best.keys.tolist()) & set(hits.keys.tolist()))
        assert hits.scores.tolist() == by_lists.scores(str(query), hits.keys).tolist()
    assert same >= 900


def test_exact_search_reads_everything(
    searchers: tuple[DenseSearcher, DenseSearcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`exact` finds the true best, however few lists a search reads."""
    read_lists(monkeypatch, 1)
    by_lists, scanned = searchers
    few = everything = 0
    for query in range(20):
        best = set(search(scanned, str(query), 50, exact=True).keys.tolist())
        everything += len(best & set(search(by_lists, str(query), 50, exact=True).keys.tolist()))
        few += len(best & set(search(by_lists, str(query), 50).keys.tolist()))
    assert everything == 20 * 50
    assert few < 20 * 50


@pytest.mark.parametrize("matching", [0, 1, N // 100, N // 10, N // 2, N])
@pytest.mark.parametrize(("segments", "dead"), [(1, 0.0), (1, 0.2), (2, 0.2)])
def test_a_filter_by_lists_finds_what_every_row_scored_finds(
    matching: int,
    segments: int,
    dead: float,
    searchers: tuple[DenseSearcher, DenseSearcher],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With every list read, filters of any share give the ranking of the exact products of rows that match and live."""
    monkeypatch.setattr("sleuth.dense.search.SPARSE", N + 1)
    read_lists(monkeypatch, N)
    random = np.random.default_rng(matching)
    masks = [np.zeros(N, bool) for _ in range(segments)]
    lives = [random.random(N) >= dead for _ in range(segments)]
    for mask in masks:
        mask[random.permutation(N)[:matching]] = True
    by_lists, scanned = searchers
    listed, other = by_lists._segments[0], scanned._segments[0]
    views = [SegmentView("s", listed.keys, None, pack(lives[0]), listed.arrays, listed.meta)]
    if segments == 2:  # the same rows once more, without lists
        keys = np.arange(N, 2 * N, dtype=np.int64)
        views.append(SegmentView("t", keys, None, pack(lives[1]), other.arrays, other.meta))
    searcher = DenseSearcher(by_lists.leg, views)
    is_match = np.concatenate(masks) & np.concatenate(lives)
    rows = np.tile(listed.arrays["vectors"], (segments, 1))
    for query in range(20):
        scores = np.where(is_match, codes.dots(rows, codes.direction(searcher.ask(str(query)))), -2)
        expected = np.argsort(-scores, kind="stable")[: min(10, np.count_nonzero(is_match))]
        depth = None if segments == 1 else 2 * N
        hits = search(searcher, str(query), 10, allowed=[pack(mask) for mask in masks], depth=depth)
        assert hits.keys.tolist() == expected.tolist()
        assert hits.scores.tolist() == scores[expected].tolist()


@pytest.mark.parametrize("is_near", [False, True])
def test_a_narrow_filter_reads_more_lists(
    is_near: bool,
    searchers: tuple[DenseSearcher, DenseSearcher],
    embedder: Clustered,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The best of a tenth of the rows are found as often as those of all, also where these lie in one direction."""
    monkeypatch.setattr("sleuth.dense.search.SPARSE", N + 1)
    monkeypatch.setattr(lists, "PROBES", 25)
    monkeypatch.setattr(lists, "READ_APART", 0)
    by_lists, _ = searchers
    values = embedder.rows[:, 0] if is_near else np.random.default_rng(4).random(N)
    mask = values > np.quantile(values, 0.9)
    same = 0
    for query in range(100):
        best = search(by_lists, str(query), 10, allowed=[pack(mask)], exact=True)
        hits = search(by_lists, str(query), 10, allowed=[pack(mask)])
        same += len(set(best.keys.tolist()) & set(hits.keys.tolist()))
    assert same >= 950


def test_deleted_rows_of_lists_are_not_found(
    segment_data: SegmentData, embedder: Clustered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is not live stays in its lists and is never a hit."""
    monkeypatch.setattr("sleuth.dense.search.EXACT_BELOW", 0)
    read_lists(monkeypatch, N)
    live = np.arange(N) % 4 != 0
    searcher = DenseSearcher(DenseLeg(embedder), [view_of(segment_data, live)])
    for query in range(20):
        assert live[search(searcher, str(query), 100).keys].all()


def test_many_rows_are_found_by_all_codes(
    searchers: tuple[DenseSearcher, DenseSearcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request for more rows than `LISTED_K` gets all of them, independent of the lists."""
    read_lists(monkeypatch, 1)
    by_lists, _ = searchers
    assert len(search(by_lists, "1", 3_000, depth=3_000)) == 3_000


def test_a_merge_lists_the_live_rows_of_its_segments(
    segment_data: SegmentData, embedder: Clustered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merge builds new lists, from `LISTED_FROM` live rows on."""
    live = np.arange(N) % 4 != 0
    leg = DenseLeg(embedder)
    monkeypatch.setattr(lists, "ROWS_OF_A_LIST", N // 100)
    monkeypatch.setattr(lists, "LISTED_FROM", 3 * N // 4)
    merge_result = leg.merge([view_of(segment_data, live)], IN_MEMORY)
    leg.validate(merge_result, 3 * N // 4, full=True)
    assert lists_in(merge_result.arrays) is not None
    monkeypatch.setattr(lists, "LISTED_FROM", N)
    assert lists_in(leg.merge([view_of(segment_data, live)], IN_MEMORY).arrays) is None


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("list_factors", 3, -1.0), ("list_factors", 3, np.nan), ("list_scales", 0, np.inf),
        ("list_centre_factors", 1, np.nan), ("list_begins", 1, 1 << 30),
        ("list_begins", 0, 1), ("list_begins", -1, 0), ("list_rows", 0, N), ("list_rows", slice(0, None), 5),
    ],
)  # fmt: skip
def test_lists_that_no_builder_writes_are_refused(
    segment_data: SegmentData, embedder: Clustered, name: str, place: Any, value: Any
) -> None:
    """Blocks ascend to the end, rows are rows, every row is listed, and numbers are finite."""
    leg = DenseLeg(embedder)
    leg.validate(segment_data, N, full=True)
    spoiled = segment_data.arrays[name].copy()
    spoiled[place] = value
    with pytest.raises(ValueError, match=name):
        leg.validate(SegmentData({**segment_data.arrays, name: spoiled}, segment_data.meta), N, full=True)


@pytest.mark.parametrize("name", ClusterLists._fields)
def test_lists_without_one_of_their_arrays_are_refused(
    segment_data: SegmentData, embedder: Clustered, name: str
) -> None:
    """A segment has all arrays of lists or no such array; a wrong shape is refused by name."""
    name = f"{lists.PREFIX}{name}"
    leg = DenseLeg(embedder)
    arrays = {other: array for other, array in segment_data.arrays.items() if other != name}
    with pytest.raises(ValueError, match=name):
        leg.validate(SegmentData(arrays, segment_data.meta), N)
    with pytest.raises(ValueError, match="list_"):
        leg.validate(
            SegmentData({**segment_data.arrays, name: segment_data.arrays[name][:-1]}, segment_data.meta), N
        )


def test_rows_beyond_a_segment_are_not_read(
    segment_data: SegmentData, embedder: Clustered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where lists name rows that are not there, the kernel passes them by."""
    monkeypatch.setattr("sleuth.dense.search.EXACT_BELOW", 0)
    read_lists(monkeypatch, N)
    crafted = np.full_like(segment_data.arrays["list_rows"], N)
    crafted[::5] = 1
    data = SegmentData({**segment_data.arrays, "list_rows": crafted}, segment_data.meta)
    assert search(DenseSearcher(DenseLeg(embedder), [view_of(data)]), "1", 10).keys.tolist() == [1]


def test_how_many_lists_are_read(segment_data: SegmentData, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times as many lists as the measured ones have twice as many read, as has a filter of a 32nd of the rows; no
    lists are read where all codes take no longer.
    """
    row_lists = lists_of(segment_data)
    count = len(row_lists.centres)
    monkeypatch.setattr(lists, "PROBES", count // 9)
    monkeypatch.setattr(lists, "SPREAD_OF_MATCHING", 0.2)
    assert row_lists.probes(N, N) == count // 9
    assert row_lists.probes(N // 32, N // 32 * 32) == 2 * (count // 9)
    assert row_lists.probes(1, N) == 0
    monkeypatch.setattr(lists, "MOST_MEASURED", count / 4)
    assert row_lists.probes(N, N) == 2 * (count // 9)
    monkeypatch.setattr(lists, "PROBES", count // 4 + 1)
    assert row_lists.probes(N, N) == 0
