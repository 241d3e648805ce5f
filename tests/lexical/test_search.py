"""Block-max search equals a slow scorer: rows, scores, and ties by id."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sleuth.errors import ArgumentError
from sleuth.lexical import LexicalLeg, blockmax
from sleuth.lexical.leg import FieldSpec
from sleuth.lexical.search import LexicalSearcher
from sleuth.lexical.terms import weigh
from sleuth.store import LegRequest, SegmentView, unpack
from sleuth.store.legs.leg import pack
from tests.examples import examples
from tests.lexical import oracle
from tests.segments import rows_of, segment_of

WORDS = ["a1", "b2", "c3", "d4", "e5", "f6", "g7", "h8"]
LEG = LexicalLeg({"text": FieldSpec("plain")})
TWO = LexicalLeg(
    {"text": FieldSpec("plain", {"title": 3, "text": 1}), "path": FieldSpec("code", {"path": 1})},
    k1=0.9,
    b=0.4,
)

texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
rows_of_two = st.fixed_dictionaries({"title": texts, "text": texts, "path": texts})


def names_of(keys: Any) -> list[str]:
    """Return ids in another order than keys."""
    return [f"{(int(key) * 7919) % 1000:03d}-{key}" for key in keys]


def ranks_of(keys: Any) -> list[int]:
    names = names_of(keys)
    order = sorted(range(len(names)), key=lambda i: names[i])
    return [order.index(i) for i in range(len(names))]


def segments_of(
    leg: LexicalLeg, rows: list[dict[str, str]], cuts: list[int], live: list[bool]
) -> list[SegmentView]:
    borders = sorted({0, len(rows), *(border % (len(rows) + 1) for border in cuts)})
    views = []
    for number, (a, b) in enumerate(zip(borders, borders[1:], strict=False)):
        some_dead = not all(live[a:b])
        views.append(
            segment_of(
                leg,
                rows_of(rows[a:b], a, ranks_of(range(a, b))),
                f"s{number}",
                live[a:b] if some_dead else None,
            )
        )
    return views


def ranked(scores: list[float], keys: list[int], k: int) -> list[tuple[int, float]]:
    """Return rows best first, with ties of float32 scores by id."""
    scored = [
        (np.float32(score), name, key) for score, key, name in zip(scores, keys, names_of(keys), strict=True)
    ]
    scored = sorted((item for item in scored if item[0] > 0), key=lambda item: (-item[0], item[1]))
    return [(key, float(score)) for score, _, key in scored[:k]]


@settings(max_examples=examples(150), deadline=None)
@given(
    rows=st.lists(rows_of_two, min_size=1, max_size=70),
    cuts=st.lists(st.integers(0, 100), max_size=3),
    dead=st.sets(st.integers(0, 69), max_size=20),
    barred=st.sets(st.integers(0, 69), max_size=40),
    query=texts,
    k=st.sampled_from([1, 2, 5, 10, 69, 70, 1000]),
)
@example(rows=[{"text": "a1"}] * 9, cuts=[2, 5], dead=set(), barred=set(), query="a1", k=2)
def test_hits_equal_exhaustive_scoring(  # noqa: PLR0917 - drawn by hypothesis, by name
    rows: list[dict[str, str]], cuts: list[int], dead: set[int], barred: set[int], query: str, k: int
) -> None:
    """For any segments, deletions, filters and k, the hits equal those of a slow scorer of the live rows."""
    live = [i not in dead for i in range(len(rows))]
    views = segments_of(TWO, rows, cuts, live)
    searcher = LexicalSearcher(TWO, views)
    allowed = [pack(np.array([int(key) not in barred for key in view.keys], bool)) for view in views]
    live_rows = [i for i in range(len(rows)) if live[i]]
    expected = oracle.scores(TWO, [rows[i] for i in live_rows], query)
    hits = searcher.pool(query, LegRequest(k, allowed=allowed, ids=names_of))
    visible = [(score, key) for score, key in zip(expected, live_rows, strict=True) if key not in barred]
    best = ranked([score for score, _ in visible], [key for _, key in visible], k)
    assert len(hits) == len(best)
    np.testing.assert_allclose(hits.scores, [score for _, score in best], rtol=1e-5)
    by_key = dict(zip(live_rows, expected, strict=True))
    assert all(
        abs(by_key[int(key)] - score) < 1e-5 * score
        for key, score in zip(hits.keys, hits.scores, strict=True)
    )
    every = searcher.pool(query, LegRequest(len(rows), allowed=allowed, ids=names_of))
    assert hits.keys.tolist() == every.keys[:k].tolist()  # also of rows that tie with the last of them
    results = list(zip((-every.scores).tolist(), names_of(every.keys), strict=True))
    assert results == sorted(results)
    assert [searcher.explain(query, int(key)).value for key in hits.keys] == hits.scores.tolist()


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.sampled_from([1, 10, 100]),
    narrow=st.sampled_from([0.0, 0.5, 0.995]),
    words=st.sampled_from([5, 5, 50, 200]),
)
def test_every_path_gives_the_same_bits(seed: int, k: int, narrow: float, words: int) -> None:
    """Pruned, exhaustive and row-by-row search agree to the bit on corpora with lists and dense terms."""
    rng = np.random.default_rng(seed)
    rows = [" ".join(f"w{min(int(x), 400)}" for x in rng.zipf(1.3, rng.integers(0, 30))) for _ in range(3000)]
    view = segment_of(LEG, rows_of(rows, 0, rng.permutation(3000).tolist()))
    searcher = LexicalSearcher(LEG, [view])
    query = " ".join(f"w{min(int(x), 400)}" for x in rng.zipf(1.2, words))
    terms = weigh(searcher._look_up_terms(query))
    assert len(terms) <= blockmax.MOST_PRUNED
    mask = pack(rng.random(3000) >= narrow)
    results = [
        blockmax.search(terms, [(0, view.keys, view.tie_ranks)], k, [mask], path=path)
        for path in ("blocks", "all", "few", "auto")
    ]
    for _, ordinals, scores, _ in results[1:]:
        np.testing.assert_array_equal(ordinals, results[0][1])
        np.testing.assert_array_equal(scores, results[0][2])
    assert all(unpack(mask, 3000)[results[0][1]])


def test_block_maxima_stay_bounds_when_the_average_grows() -> None:
    """A segment of short rows beside one of long rows is still searched exactly."""
    rng = np.random.default_rng(3)
    short = [{"text": " ".join(rng.choice(WORDS, 3))} for _ in range(500)]
    long = [{"text": " ".join(rng.choice([*WORDS, *[f"x{i}" for i in range(50)]], 400))} for _ in range(500)]
    rows = short + long
    searcher = LexicalSearcher(LEG, segments_of(LEG, rows, [500], [True] * 1000))
    expected = np.array(oracle.scores(LEG, rows, "a1 b2 c3"), np.float32)
    hits = searcher.pool("a1 b2 c3", LegRequest(20))
    np.testing.assert_allclose(hits.scores, np.sort(expected)[::-1][:20], rtol=1e-5)


def test_no_segments_and_empty_segments_find_nothing() -> None:
    """An index without rows gives no hits."""
    assert len(LexicalSearcher(LEG, []).pool("a1", LegRequest(10))) == 0
    empty = segment_of(LEG, rows_of([]))
    assert len(LexicalSearcher(LEG, [empty]).pool("a1", LegRequest(10))) == 0
    blank = segment_of(LEG, rows_of(["", "  "]))
    assert len(LexicalSearcher(LEG, [blank]).pool("a1", LegRequest(10))) == 0


def test_a_very_long_query_is_answered() -> None:
    """A query of ten thousand words works."""
    rng = np.random.default_rng(5)
    rows = [{"text": " ".join(f"t{x}" for x in rng.integers(0, 9000, 50))} for _ in range(300)]
    searcher = LexicalSearcher(LEG, segments_of(LEG, rows, [100], [True] * 300))
    query = " ".join(f"t{x}" for x in rng.integers(0, 12000, 10_000))
    expected = np.sort(np.array(oracle.scores(LEG, rows, query)))[::-1][:10]
    np.testing.assert_allclose(searcher.pool(query, LegRequest(10)).scores, expected, rtol=1e-5)


def test_unknown_fields_and_bitmaps_are_refused() -> None:
    """Unknown fields and bitmaps raise an error that lists the valid ones."""
    searcher = LexicalSearcher(LEG, segments_of(LEG, [{"text": "a1"}], [], [True]))
    bad: list[dict[str, Any]] = [{"allowed": []}, {"allowed": [np.zeros(9, np.uint64)]}]
    for options in bad:
        with pytest.raises(ArgumentError, match="must"):
            searcher.pool("a1", LegRequest(3, **options))
    with pytest.raises(ArgumentError, match="text"):
        searcher.pool({"body": {"a1": 1.0}}, LegRequest(3))
    with pytest.raises(ArgumentError, match="above 0"):
        searcher.pool({"text": {"a1": 0.0}}, LegRequest(3))


def test_weighed_terms_are_the_query_they_came_from() -> None:
    """Searching the terms of a query equals searching the query; a doubled weight doubles the score."""
    rows = [{"text": "a1 b2 c3"}, {"text": "a1 a1 d4"}, {"text": "e5"}]
    searcher = LexicalSearcher(LEG, segments_of(LEG, rows, [1], [True] * 3))
    terms = searcher.analyse("a1 d4 a1 zz")
    assert terms == {"text": {"a1": 2, "d4": 1, "zz": 1}}
    a, b = searcher.pool("a1 d4 a1 zz", LegRequest(3)), searcher.pool(terms, LegRequest(3))
    np.testing.assert_array_equal(a.keys, b.keys)
    np.testing.assert_array_equal(a.scores, b.scores)
    doubled = searcher.pool({"text": {"a1": 4.0, "d4": 2.0}}, LegRequest(3))
    np.testing.assert_allclose(doubled.scores, 2 * a.scores, rtol=1e-6)


def test_threads_get_what_one_gets() -> None:
    """Concurrent searches give the same hits as one."""
    rng = np.random.default_rng(11)
    rows = [{"text": " ".join(rng.choice(WORDS, 6))} for _ in range(4000)]
    searcher = LexicalSearcher(LEG, segments_of(LEG, rows, [1500], [True] * 4000))
    queries = [" ".join(rng.choice(WORDS, 3)) for _ in range(200)]
    alone = [searcher.pool(query, LegRequest(15)).keys.tolist() for query in queries]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda query: searcher.pool(query, LegRequest(15)).keys.tolist(), queries))
    assert together == alone
