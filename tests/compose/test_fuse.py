import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.compose.fuse import FORMULAS, Pool, best_places, fuse_hits
from sleuth.compose.methods import RANK_CONSTANT, Method
from sleuth.errors import ArgumentError
from tests.examples import examples

METHODS = get_args(Method)
SCORES = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 1.5, 7.0])
EVERY = [*range(-5, 13), -(2**62), 2**62]
KEYS = st.lists(st.sampled_from(EVERY), unique=True, max_size=12)


@st.composite
def pools(draw: st.DrawFn) -> dict[str, Pool]:
    """Generate pools by leg, or none, best first, with common keys and tied scores."""
    result = {}
    for name in draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4)):
        keys = draw(KEYS)
        scores = sorted((draw(SCORES) for _ in keys), reverse=True)
        result[name] = Pool(np.array(keys, np.int64), np.array(scores, np.float64))
    return result


def oracle(
    pools: dict[str, Pool], weights: dict[str, float], method: str, constant: float
) -> list[tuple[int, float]]:
    """Compute every key with its score from the definitions, best first, ties by key."""
    shares: dict[int, list[float]] = {}
    for name, pool in pools.items():
        values = [float(score) for score in pool.scores]
        for rank, (key, value) in enumerate(zip(pool.keys.tolist(), values, strict=True), 1):
            least, greatest = min(values), max(values)
            contribution = {
                "rrf": 1 / (constant + rank),
                "max": value,
            }.get(method, (value - least) / (greatest - least) if greatest > least else 1.0)
            shares.setdefault(key, []).append(weights.get(name, 1.0) * contribution)
    totals = {key: (max if method == "max" else sum)(values) for key, values in shares.items()}
    return sorted(totals.items(), key=lambda pair: (-round(pair[1], 9), pair[0]))


@settings(max_examples=examples(100), deadline=None)
@given(
    pools(),
    st.sampled_from(METHODS),
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from([0.0, 0.5, 1.0, 2.0])),
    st.integers(0, 20),
    st.sampled_from([1.0, 60.0]),
)
def test_equals_the_definitions(
    legs: dict[str, Pool], method: Method, weights: dict[str, float], k: int, constant: float
) -> None:
    """Every method gives each key once with the score of its definition, the best k of them, ties by key; all of them
    without a k.
    """
    weights = {name: weight for name, weight in weights.items() if name in legs}
    fusion = fuse_hits(legs, weights, method, k, rank_constant=constant)
    expected = oracle(legs, weights, method, constant)
    assert np.allclose(fusion.scores, [score for _, score in expected[:k]], atol=1e-6)
    scores = dict(expected)
    assert all(
        math.isclose(scores[key], score, abs_tol=1e-6)
        for key, score in zip(fusion.keys.tolist(), fusion.scores, strict=True)
    )
    order = list(zip((-fusion.scores).tolist(), fusion.keys.tolist(), strict=True))
    assert order == sorted(order)
    whole = fuse_hits(legs, weights, method, rank_constant=constant)
    assert sorted(whole.keys.tolist()) == sorted(scores)
    assert fusion.keys.tolist() == whole.keys[:k].tolist()


@settings(max_examples=examples(100), deadline=None)
@given(pools(), st.sampled_from(METHODS), st.permutations(range(len(EVERY))))
def test_ties_by_the_order_given(legs: dict[str, Pool], method: Method, places: list[int]) -> None:
    """Keys with equal scores are ordered by their tie names."""
    names = dict(zip(EVERY, places, strict=True))
    fusion = fuse_hits(legs, method=method, order=lambda keys: [names[int(key)] for key in keys])
    order = list(zip((-fusion.scores).tolist(), map(names.get, fusion.keys.tolist()), strict=True))
    assert order == sorted(order)


@settings(max_examples=examples(100), deadline=None)
@given(pools(), st.sampled_from(METHODS))
def test_explanations_add_up(legs: dict[str, Pool], method: Method) -> None:
    """The parts of a hit's explanation are the legs that found it, with rank and score, and the formula gives the
    hit's score.
    """
    fusion = fuse_hits(legs, dict.fromkeys(list(legs)[:1], 0.5), method, 5)
    for i, key in enumerate(fusion.keys.tolist()):
        explanation = fusion.explain(i)
        assert {part.name for part in explanation.parts} == {
            n for n, pool in legs.items() if key in pool.keys.tolist()
        }
        for part in explanation.parts:
            rank = int(part.facts["rank"])
            assert legs[part.name].keys[rank - 1] == key
            assert legs[part.name].scores[rank - 1] == part.facts["score"]
            assert math.isclose(float(part.facts["weight"]) * float(part.facts["normalised"]), part.value)
        values = [part.value for part in explanation.parts]
        combined = (max if method == "max" else sum)(values)
        assert math.isclose(explanation.value, combined, abs_tol=1e-9)
        assert explanation.formula == FORMULAS[method]
        assert explanation.facts.get("rank_constant") == (RANK_CONSTANT if method == "rrf" else None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "sum"}, "method must be one of minmax, rrf, max, got 'sum'"),
        ({"weights": {"x": 1}}, "weights must name legs among a, got 'x'"),
        ({"weights": {"a": -1}}, r"weights\['a'\] must be a number of 0 and more, got -1"),
        ({"weights": {"a": math.nan}}, r"weights\['a'\] must be a number of 0 and more, got nan"),
        ({"rank_constant": 0}, "rank_constant must be a finite number above 0, got 0"),
    ],
)
def test_wrong_arguments(options: dict[str, object], message: str) -> None:
    """Invalid arguments raise an error with name, rule and value."""
    pool = Pool(np.array([1]), np.array([1.0], np.float64))
    with pytest.raises(ArgumentError, match=message):
        fuse_hits({"a": pool}, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_hits_that_tie_at_the_end_are_put_in_order_first(k: int) -> None:
    """Which of equal hits are among the best `k` depends on their order, not on their places."""
    keys, scores = np.array([4, 3, 9, 1]), np.array([0.5, 0.5, 0.1, 0.5])
    assert keys[best_places(keys, scores, k, None)].tolist() == [1, 3, 4][:k]
    assert sorted(keys[best_places(keys, scores, k, None, ordered=False)]) == [1, 3, 4][:k]
