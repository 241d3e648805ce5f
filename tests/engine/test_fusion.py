"""Legs are fused into one ranking."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth import Document, Engine
from sleuth.dense.wordllama import WordLlamaEmbedder
from sleuth.engine import Fusion
from sleuth.errors import ArgumentError

WORDS = ["tokens", "refill", "bucket", "every", "second", "limit", "river", "stone", "naïve", "x86_64"]


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), batches=st.integers(1, 3))
def test_equal_passages_are_in_order_of_id(
    tmp_path_factory: pytest.TempPathFactory, seed: int, batches: int
) -> None:
    """Passages of equal text are ordered by id, whatever the order and the batches in which they were added."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 4)) for _ in range(6)]
    ids = [f"d{i:02d}" for i in rng.permutation(36)]
    with Engine.open(tmp_path_factory.mktemp("ties"), create=True) as engine:
        for part in np.array_split(np.arange(36), batches):
            engine.add([Document(texts[i % 6], id=ids[i]) for i in part])
        for item in (engine.retrieve(texts[0], k) for k in (3, 8, 36)):
            order = [(-(hit.score or 0), hit.id) for hit in item]
            assert order == sorted(order)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), fusion=st.sampled_from(["minmax", "rrf", "max"]))
def test_pools_that_end_in_a_tie(tmp_path_factory: pytest.TempPathFactory, seed: int, fusion: str) -> None:
    """If pools end among tied hits, rankings do not depend on segments or on explanations."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 4)) for _ in range(5)]
    ids = [f"d{i:02d}" for i in rng.permutation(40)]
    results = []
    for batches in (1, 4):
        with Engine.open(tmp_path_factory.mktemp("pools"), create=True) as engine:
            for part in np.array_split(np.arange(40), batches):
                engine.add([Document(texts[i % 5], id=ids[i]) for i in part])
            for explain in (False, True):
                ranking = engine.retrieve(texts[0], 11, fusion=f"{fusion}(pool=11)", explain=explain)
                results.append([(hit.id, hit.score) for hit in ranking])
    assert results == [results[0]] * 4


def test_a_query_is_embedded_once(hybrid: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Explaining hits does not embed the query again."""
    embedded: list[str] = []
    embed = WordLlamaEmbedder.embed_query

    def counted(self: WordLlamaEmbedder, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        embedded.append(text)
        return embed(self, text)

    monkeypatch.setattr(WordLlamaEmbedder, "embed_query", counted)
    hybrid.add([Document(f"{word} and water", id=word) for word in WORDS])
    for legs in (["dense"], None):
        ranking = hybrid.retrieve("river water", 10, legs=legs, explain=True)
        assert len(ranking) > 2
        assert all(item.explanation for item in ranking)
    assert embedded == ["river water"] * 2


def test_kept_tokens_rank_as_texts_do(hybrid: Engine) -> None:
    """The default ranking is the same, to 1e-5, with stored tokens and with tokens of the texts."""
    rng = np.random.default_rng(3)
    documents = [
        Document(" ".join(rng.choice(WORDS, 12)), {"title": f"On {rng.choice(WORDS)}", "n": i}, id=str(i))
        for i in range(300)
    ]
    hybrid.add(documents[:200])
    hybrid.add(documents[150:])
    hybrid.delete([str(i) for i in range(0, 300, 7)])
    queries = ["tokens refill every second", "naïve river", "x86_64 limit stone bucket"]
    expected = [hybrid.retrieve(query, 20, filter={"n": {"$gte": 20}}) for query in queries]
    hybrid.backend.searcher("dense").tokens = None
    rankings = [hybrid.retrieve(query, 20, filter={"n": {"$gte": 20}}) for query in queries]
    for a, b in zip(expected, rankings, strict=True):
        assert [item.score for item in a] == pytest.approx([item.score for item in b], abs=1e-5)
        assert {item.id for item in a} == {item.id for item in b}


NUMBERS = st.one_of(st.integers(0, 10**9), st.floats(0, 1e300))


@given(
    method=st.sampled_from(["minmax", "rrf", "max"]),
    weights=st.dictionaries(st.sampled_from(["lexical", "dense"]), NUMBERS),
    pool=st.integers(1, 2**40),
    rank_constant=st.floats(1e-9, 1e9),
    tokens=st.none() | NUMBERS,
)
def test_fusions_print_as_they_read(
    method: str, weights: dict[str, float], pool: int, rank_constant: float, tokens: float | None
) -> None:
    """A printed fusion is parsed to the same fusion, to the last digit."""
    fusion = Fusion(method, weights, pool, rank_constant, tokens)  # type: ignore[arg-type]
    assert Fusion.parse(str(fusion)) == fusion


@pytest.mark.parametrize(
    "text",
    [
        "minmax(pool=nan)", "minmax(pool=inf)", "minmax(pool=1.9)", "minmax(pool=0)", "minmax(dense=1,dense=2)",
        "minmax(dense=nan)", "minmax(dense=)", "minmax(dense)", "minmax(dense=1,)", "minmax(pol=5)",
        "minmax(tokens=inf)", "rrf(rank_constant=nan)", "minmax(pool=" + "1" * 5000 + ")",
    ],
)  # fmt: skip
def test_fusions_are_read_strictly(text: str) -> None:
    """An invalid number or a repeated name raises an error that shows it."""
    with pytest.raises(ArgumentError, match=r"must"):
        Fusion.parse(text)


@pytest.mark.parametrize(
    "values",
    [
        {"pool": 1.9}, {"pool": "5"}, {"pool": True}, {"pool": 10**30}, {"weights": {"dense": "1"}}, {"weights": [1]},
        {"weights": {"dense": 10**400}}, {"tokens": "a"}, {"rank_constant": "60"}, {"rank_constant": None},
    ],
)  # fmt: skip
def test_fusions_of_other_types_are_refused(values: dict[str, object]) -> None:
    """A fusion of another type raises an ArgumentError."""
    with pytest.raises(ArgumentError, match=r"must be .*, got"):
        Fusion(**values)  # type: ignore[arg-type]


def test_weights_are_named() -> None:
    """Weights in the place of the method are refused, with the way to name them."""
    with pytest.raises(ArgumentError, match=r"one of minmax, .* got \{.dense.: 1.0\}; weights are named"):
        Fusion({"dense": 1.0})  # type: ignore[arg-type]


def test_weights_that_are_named_are_not_defaults() -> None:
    """Weights equal to the defaults are used as they are; a fusion without weights prints none, and reads back so."""
    named = Fusion.parse("minmax(lexical=1,dense=0.4)")
    assert not named.is_default and not Fusion(weights=dict(Fusion().weights)).is_default
    assert not Fusion.parse(str(named)).is_default
    assert Fusion.parse(str(Fusion())) == Fusion() and Fusion.parse(str(Fusion())).is_default
