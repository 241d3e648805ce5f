from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sleuth.dense import DenseLeg, codes
from sleuth.dense.encoding import encode
from sleuth.dense.search import DenseSearcher
from sleuth.errors import ArgumentError, EmbedderMismatchError, EmbeddingError
from sleuth.store import Scratch, SegmentView, unpack
from sleuth.store.legs.leg import pack
from sleuth.store.legs.searching import rows_allowed
from tests.dense.strategies import HashEmbedder
from tests.examples import examples
from tests.segments import rows_of, search, segment_of, view_of

DIMENSIONS = st.sampled_from([1, 7, 16, 64, 100, 256, 300])


def index(
    seed: int, sizes: list[int], dimension: int, dead: float = 0.0
) -> tuple[DenseLeg, list[SegmentView]]:
    """Generate segments over few distinct texts, so that scores tie within and across them."""
    rng = np.random.default_rng(seed)
    leg = DenseLeg(HashEmbedder(dimension))
    segments, first = [], 1
    for number, size in enumerate(sizes):
        texts = [f"text {rng.integers(0, max(2, size))}" for _ in range(size)]
        live = rng.random(size) >= dead if dead else None
        segments.append(segment_of(leg, rows_of(texts, first), f"s{number}", live))
        first += size
    return leg, segments


def exhaustive(
    searcher: DenseSearcher, query: str, segments: list[SegmentView], masks: list[NDArray[np.bool_] | None]
) -> list[tuple[int, float]]:
    """Return every live, allowed row by score, then by key."""
    scored: list[tuple[float, int]] = []
    vector = codes.direction(searcher.ask(query))
    for view, mask in zip(segments, masks, strict=True):
        live = np.ones(len(view), bool) if view.live is None else unpack(view.live, len(view))
        allowed = live if mask is None else live & mask
        for row in np.flatnonzero(allowed):
            score = codes.dots(view.arrays["vectors"][row : row + 1], vector)[0]
            scored.append((-float(score), int(view.keys[row])))
    return [(key, -score) for score, key in sorted(scored)]


@settings(deadline=None, max_examples=examples(60))
@given(
    st.integers(0, 1000),
    st.lists(st.integers(0, 150), min_size=1, max_size=4),
    DIMENSIONS,
    st.integers(0, 200),
    st.sampled_from([(0.0, None), (0.3, None), (0.0, 0.1), (0.3, 0.6), (0.3, 0.0)]),
)
def test_equals_the_exhaustive_ranking(
    seed: int, sizes: list[int], dimension: int, k: int, rates: tuple[float, float | None]
) -> None:
    """With few rows, the hits equal the exhaustive ranking of live, allowed rows, ties by id, for every k."""
    dead, keep = rates
    leg, segments = index(seed, sizes, dimension, dead)
    searcher = DenseSearcher(leg, segments)
    rng = np.random.default_rng(seed)
    masks = [None if keep is None else rng.random(size) < keep for size in sizes]
    allowed = None if keep is None else [None if mask is None else pack(mask) for mask in masks]
    hits = search(searcher, "what is it", k, allowed=allowed)
    expected = exhaustive(searcher, "what is it", segments, masks)[:k]
    assert list(zip(hits.keys.tolist(), hits.scores.tolist(), strict=True)) == expected
    assert [
        segments[i].keys[0] <= key <= segments[i].keys[-1]
        for i, key in zip(hits.segments, hits.keys, strict=True)
    ] == [True] * len(hits)


@settings(deadline=None, max_examples=examples(25))
@given(st.integers(0, 1000), DIMENSIONS, st.sampled_from([None, 0.02, 0.5]))
def test_estimates_leave_exact_scores(seed: int, dimension: int, keep: float | None) -> None:
    """With many rows, every hit has its exact score and rank; a depth of all rows gives the exact ranking."""
    leg, segments = index(seed, [300, 0, 70, 130], dimension, dead=0.1)
    searcher = DenseSearcher(leg, segments)
    rng = np.random.default_rng(seed)
    masks = [None if keep is None else rng.random(len(view)) < keep for view in segments]
    allowed = [None if mask is None else pack(mask) for mask in masks]
    expected = exhaustive(searcher, "q", segments, masks)
    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patched:
        patched.setattr("sleuth.dense.search.EXACT_BELOW", 0)
        sure = search(searcher, "q", 3, allowed=allowed)
    assert set(zip(sure.keys.tolist(), sure.scores.tolist(), strict=True)) <= set(expected)
    hits = search(searcher, "q", 20, allowed=allowed, depth=30)
    order = list(zip(hits.keys.tolist(), hits.scores.tolist(), strict=True))
    assert set(order) <= set(expected)
    assert order == sorted(order, key=lambda hit: (-hit[1], hit[0]))
    assert len(order) == min(20, len(expected))
    parts = [
        (
            v.arrays["codes"], v.arrays["factors"], v.arrays["vectors"], v.arrays["centre"],
            v.tie_ranks, v.keys, rows_allowed(v, allowed[i]),
        )
        for i, v in enumerate(segments)
        if len(v)
    ]  # fmt: skip
    query = codes.direction(searcher.ask("q"))
    _, keys, _, _ = codes.scan(parts, query, 1000, 1000)
    assert sorted(keys.tolist()) == sorted(key for key, _ in expected)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.integers(0, 1000), DIMENSIONS, st.integers(1, 200) | st.integers(600, 1500), st.integers(1, 60),
    st.sampled_from([1, 5, 1500]),
)  # fmt: skip
def test_scan_keeps_the_best_estimates(seed: int, dimension: int, n: int, depth: int, distinct: int) -> None:
    """The kernel's estimates equal the formula in every width, and it keeps the best, including ties."""
    rng = np.random.default_rng(seed)
    rows = codes.pack(rng.standard_normal((n, dimension), np.float32))[rng.integers(0, min(n, distinct), n)]
    vectors = codes.unpack(rows, dimension)
    query = rng.standard_normal(dimension).astype(np.float32)
    centre, bits, factors, spread = encode(rows, dimension)
    centred = vectors - centre
    size = np.abs(centred).sum(1)
    factor = np.divide((centred**2).sum(1), size, out=np.zeros_like(size), where=size > 0)
    assert np.allclose(factors[:n], factor, rtol=1e-4, atol=1e-6)
    left_out = centred - factor[:, None] * np.where(centred > 0, 1, -1)
    assert np.isclose(spread, np.sqrt((left_out**2).mean()), rtol=1e-3, atol=1e-3)
    halves = 2 * -(-dimension // 8)
    sums = np.abs(np.pad(query, (0, 4 * halves - dimension)).reshape(halves, 4)).sum(1)
    rounding = halves * sums.max() / min(31, 65535 // halves)  # half a step for each half byte
    expected = centre @ query + factor * (np.where(centred > 0, 1, -1) @ query)
    part = (bits, factors, rows, centre, None, np.arange(n), None)
    for width in (0, 128, 256, 512):
        _, all_keys, estimates, _ = codes.scan([part], query, n, n, exact=False, width=width)
        assert (np.abs(estimates - expected[all_keys]) <= factor[all_keys] * rounding + 1e-3).all()
        owners, keys, scores, _ = codes.scan([part], query, depth, depth, exact=False, width=width)
        assert len(keys) >= min(depth, n)
        assert not owners.any()
        assert np.allclose(scores[:depth], estimates[:depth], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n", [0, 1, 64, 1000])
def test_codes_do_not_depend_on_how_many_rows_are_read_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, n: int
) -> None:
    """Vectors read block by block, into files, have the codes, the mean and the error of those read at once."""
    rows = codes.pack(np.random.default_rng(n).standard_normal((n, 40), np.float32))
    whole = encode(rows, 40)
    monkeypatch.setattr("sleuth.dense.encoding.PIECE", 64)
    monkeypatch.setattr("sleuth.store.disk.scratch.ROOM", 100)
    pieces = encode(rows, 40, Scratch(tmp_path))
    assert [np.asarray(part).tobytes() for part in pieces] == [np.asarray(part).tobytes() for part in whole]
    assert [np.shape(part) for part in pieces] == [np.shape(part) for part in whole]


@pytest.mark.parametrize("width", [0, 128, 256, 512])
def test_a_bound_leaves_out_no_estimate_above_it(width: int) -> None:
    """Over many rows, where blocks are compared with the worst estimate kept, the best estimates are all kept."""
    rng = np.random.default_rng(7)
    rows = codes.pack(rng.standard_normal((20_011, 64), np.float32))
    centre, bits, factors, _ = encode(rows, 64)
    part = (bits, factors, rows, centre, None, np.arange(len(rows)), None)
    for _ in range(5):
        query = rng.standard_normal(64).astype(np.float32)
        query /= np.linalg.norm(query)
        every = codes.scan([part], query, len(rows), len(rows), exact=False)
        for k in (5, 20, 1500):  # no sample is taken for so few as 5
            best = codes.scan([part], query, k, k, exact=False, width=width)
            assert np.allclose(best[2][:k], every[2][:k], rtol=1e-5)
            assert len(set(best[1].tolist())) == len(best[1])


def test_a_sample_that_holds_the_best_rows_alone_is_not_trusted() -> None:
    """Where every 16th block has all the best estimates, rows of other blocks follow these."""
    rng = np.random.default_rng(8)
    query = np.eye(1, 64, dtype=np.float32)[0]
    vectors = rng.standard_normal((9_600, 64)).astype(np.float32)
    vectors[np.arange(9_600) // 64 % 16 == 0, 0] += 8
    rows = codes.pack(vectors)
    centre, bits, factors, _ = encode(rows, 64)
    part = (bits, factors, rows, centre, None, np.arange(9_600), None)
    every, best = (codes.scan([part], query, k, k, exact=False) for k in (9_600, 1_000))
    assert np.array_equal(best[2], every[2][: len(best[2])])


@pytest.mark.parametrize("dimension", [8, 48, 256])
@pytest.mark.parametrize("structure", ["none", "clusters"])
def test_recall(dimension: int, structure: str) -> None:
    """Of 20,000 rows the first ten are found nearly always, with and without a filter, even if no row is near the
    query.
    """
    rng = np.random.default_rng(5)
    leg = DenseLeg(HashEmbedder(dimension))
    vectors = rng.standard_normal((20_000, dimension)) + rng.standard_normal(dimension)
    if structure == "clusters":
        vectors += 2 * rng.standard_normal((100, dimension))[rng.integers(0, 100, 20_000)]
    rows = codes.pack(vectors.astype(np.float32))
    bounds = [0, 15_000, 19_000, 20_000]
    segments = []
    for first, end in pairwise(bounds):
        part = leg.pack(rows[first:end], dimension)
        segments.append(view_of(part, np.arange(first, end), f"s{first}"))
    searcher = DenseSearcher(leg, segments)
    hit_count = filtered = 0
    for row in range(20):
        query = rng.standard_normal(dimension).astype(np.float32)
        if structure == "clusters":
            query += 3 * vectors[row].astype(np.float32)
        exact = codes.dots(rows, query / np.linalg.norm(query))
        hit_count += len(set(np.argsort(-exact)[:10]) & set(search(searcher, query).keys))
        mask = rng.random(20_000) < 0.3
        best = np.argsort(-np.where(mask, exact, -2))[:10]
        allowed = [pack(mask[first:end]) for first, end in pairwise(bounds)]
        filtered += len(set(best) & set(search(searcher, query, allowed=allowed).keys))
    assert hit_count >= 197
    assert filtered >= 197


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(0, 1000), st.lists(st.integers(0, 60), min_size=1, max_size=4), st.integers(0, 50))
def test_layout_is_irrelevant(seed: int, sizes: list[int], k: int) -> None:
    """A merged segment gives the same hits and scores as its sources, without deleted rows."""
    leg, segments = index(seed, sizes, 32, dead=0.3)
    before = search(DenseSearcher(leg, segments), "q", k)
    merge_result = leg.merge(segments)
    live = [np.ones(len(v), bool) if v.live is None else unpack(v.live, len(v)) for v in segments]
    keys = np.concatenate([view.keys[mask] for view, mask in zip(segments, live, strict=True)])
    whole = view_of(merge_result, keys)
    after = search(DenseSearcher(leg, [whole]), "q", k)
    assert before.keys.tolist() == after.keys.tolist()
    assert before.scores.tolist() == after.scores.tolist()


def test_scores_of_keys() -> None:
    """Scores of keys equal those of the search; unknown keys score 0."""
    leg, segments = index(3, [50, 60], 48)
    searcher = DenseSearcher(leg, segments)
    hits = search(searcher, "q", 40)
    assert searcher.scores("q", hits.keys).tolist() == hits.scores.tolist()
    assert searcher.scores("q", np.array([0, 999])).tolist() == [0, 0]


def test_explain() -> None:
    """The explanation's value is the score; its facts name the embedder."""
    leg, segments = index(3, [50], 48)
    searcher = DenseSearcher(leg, segments)
    hits = search(searcher, "q", 1)
    explained = searcher.explain("q", int(hits.keys[0]))
    assert explained.value == hits.scores[0]
    assert explained.facts == {"embedder": "hash/48/", "dimension": 48}


def test_nothing_to_find() -> None:
    """An empty index, an empty query and k = 0 give no hits and no error."""
    leg, segments = index(1, [20], 16)
    searcher = DenseSearcher(leg, segments)
    assert len(search(searcher, "", 5)) == 0
    assert len(search(searcher, "q", 0)) == 0
    assert len(search(DenseSearcher(leg, []), "q", 5)) == 0
    assert len(search(DenseSearcher(leg, [segment_of(leg, rows_of([]))]), "q", 5)) == 0
    assert len(search(searcher, "q", 100)) == 20


def test_empty_passages_are_found_last() -> None:
    """A passage with a zero vector scores 0."""
    leg = DenseLeg(HashEmbedder())
    hits = search(DenseSearcher(leg, [segment_of(leg, rows_of(["", "word"]))]), "word", 2)
    assert hits.keys.tolist() == [1, 0]
    assert hits.scores[1] == 0


def test_another_embedder() -> None:
    """A segment of another embedder raises an error with both names and the remedy."""
    _, segments = index(1, [5], 16)
    other = DenseLeg(HashEmbedder(16, "other"))
    with pytest.raises(EmbedderMismatchError, match=r"'hash/16/'.*'hash/16/other'.*sleuth index --re-embed"):
        DenseSearcher(other, segments)
    with pytest.raises(EmbedderMismatchError):
        other.merge(segments)


def test_wrong_query() -> None:
    """A query vector of another length, or with NaN or infinity, raises an error."""
    leg, segments = index(1, [5], 16)
    searcher = DenseSearcher(leg, segments)
    with pytest.raises(EmbeddingError, match="vector of a query must have 16 dimensions"):
        search(searcher, np.ones(8, np.float32))
    with pytest.raises(ArgumentError, match="query must be finite"):
        search(searcher, np.full(16, np.nan, np.float32))


def test_wrong_mask() -> None:
    """A bitmap of another length raises an error."""
    leg, segments = index(1, [100], 16)
    with pytest.raises(ArgumentError, match="allowed must hold 2 words for 100 rows, got 1"):
        search(DenseSearcher(leg, segments), "q", allowed=[np.zeros(1, np.uint64)])


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 1000), DIMENSIONS)
def test_rows_keep_directions_in_12_bits(seed: int, dimension: int) -> None:
    """Numbers are read back to half a step of the greatest; zeros and what is no number stay zeros."""
    vectors = np.random.default_rng(seed).standard_normal((20, dimension)).astype(np.float32)
    vectors[3], vectors[5, 0] = 0, np.nan
    rows = codes.pack(vectors)
    assert rows.shape == (20, -(-dimension // 32) * 48)
    greatest = np.nan_to_num(np.abs(vectors)).max(axis=1, keepdims=True)
    numbers = np.rint(np.nan_to_num(vectors) * np.where(greatest > 0, 2047 / np.maximum(greatest, 1e-9), 0))
    lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
    assert np.allclose(codes.unpack(rows, dimension) * lengths, numbers, atol=1e-2)


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 1000), DIMENSIONS)
def test_scores_are_sums_of_whole_numbers(seed: int, dimension: int) -> None:
    """A score has the same bits on every machine and for every dimension, and is the cosine up to a few steps."""
    rng = np.random.default_rng(seed)
    width = -(-dimension // 32) * 32
    rows = rng.integers(0, 256, (20, width // 2 * 3), dtype=np.uint8)
    rows[7] = 0
    upper, lower = np.split(rows.astype(np.int64), [width], axis=1)
    low_bits = (
        np.stack([lower & 15, lower >> 4]).reshape(2, 20, -1, 16).transpose(1, 2, 0, 3).reshape(20, width)
    )
    numbers = upper.astype(np.uint8).view(np.int8).reshape(20, -1) * np.int64(16) + low_bits
    query = rng.standard_normal(dimension).astype(np.float32)
    scale = 32000 / np.sqrt((query.astype(np.float64) ** 2).sum())
    whole = np.pad(np.rint(query * scale).astype(np.int64), (0, width - dimension))
    product = square = np.zeros(20, np.float32)
    for first in range(0, width, 256):
        part = numbers[:, first : first + 256]
        product = product + (part @ whole[first : first + 256]).astype(np.float32)
        square = square + (part * part).sum(axis=1).astype(np.float32)
    lengths, scores = np.sqrt(np.maximum(square, 1)), codes.dots(rows, query)
    assert np.array_equal(scores, np.float32(1 / scale) * product / lengths)
    cosines = numbers[:, :dimension] @ query / lengths / np.linalg.norm(query)
    assert np.abs(scores / np.linalg.norm(query) - cosines).max() < 1e-4


def test_equal_rows_stay() -> None:
    """If more rows are equal than are scored exactly, the requested number is still returned."""
    leg = DenseLeg(HashEmbedder(16))
    segment = segment_of(leg, rows_of(["same"] * 3000))
    hits = search(DenseSearcher(leg, [segment]), "same", 20, depth=100)
    assert hits.keys.tolist() == list(range(20))
    assert np.allclose(hits.scores, 1, atol=1e-3)
