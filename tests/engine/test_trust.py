import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.compose.pools import agreement
from sleuth.engine import Engine
from sleuth.engine.legs import WEIGHTS
from sleuth.engine.ranking import trust_in
from sleuth.store import Hits
from sleuth.types import Document, Explanation
from tests.dense.strategies import HashEmbedder


def hits(keys: list[int], scores: list[float] | None = None) -> Hits:
    values = np.arange(len(keys), 0, -1.0) if scores is None else np.array(scores, np.float64)
    return Hits(np.array(keys, np.int64), values.astype(np.float32), np.zeros(len(keys), np.int32))


def test_agreement() -> None:
    """Agreement is the share of both first twenties that are among the first hundred of the other leg."""
    assert agreement(hits([*range(200)]), hits([*range(200)])) == 1
    assert agreement(hits([*range(200)]), hits([*range(200, 400)])) == 0
    assert agreement(hits([*range(20), 50, 51]), hits([50, 51, *range(100, 118), *range(5)])) == 7 / 40
    assert agreement(hits([1, 2]), hits([*range(100, 198), 2, 3, 1])) == 1 / 22


@given(st.permutations(range(150)), st.integers(1, 130), st.integers(1, 130), st.integers(1, 9))
def test_agreement_of_any_hits(keys: list[int], first: int, other: int, step: int) -> None:
    """The sets of first hits hold those that tie with the last of them, too."""
    pools = [keys[:first], keys[-other:]]
    scores = [[float(-(i // step)) for i in range(len(pool))] for pool in pools]
    (head, wide), (other_head, other_wide) = (
        [{key for key, score in zip(pool, values, strict=True) if score >= values[:n][-1]} for n in (20, 100)]
        for pool, values in zip(pools, scores, strict=True)
    )
    expected = (len(head & other_wide) + len(other_head & wide)) / (len(head) + len(other_head))
    assert agreement(*map(hits, pools, scores)) == expected


def test_trust() -> None:
    """Legs that agree enough, or of which one found nothing, have full trust; others at least a quarter."""
    assert trust_in(hits([*range(200)]), hits([*range(200)])) == 1
    assert trust_in(hits([]), hits([*range(9)])) == trust_in(hits([*range(9)]), hits([])) == 1
    assert trust_in(hits([*range(200)]), hits([*range(200, 400)])) == 0.25
    assert trust_in(hits([*range(20)]), hits([*range(3), *range(20, 37)])) == pytest.approx(0.5)


@pytest.fixture(scope="module")
def without_meaning(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An index whose vectors say nothing about its texts."""
    rng = np.random.default_rng(5)
    words = [f"word{i}" for i in range(400)]
    documents = [Document(" ".join(rng.choice(words, 30)), id=str(i)) for i in range(1_500)]
    engine = Engine.open(tmp_path_factory.mktemp("index") / "index", create=True, embedder=HashEmbedder())
    engine.add(documents)
    return engine


def fusion_of(explanation: Explanation | None) -> Explanation:
    assert explanation is not None
    return explanation if explanation.name == "fusion" else fusion_of(explanation.parts[0])


def test_the_explanation_says_what_the_vectors_weigh_and_why(without_meaning: Engine) -> None:
    """Where vectors say nothing, their weight is lower, and each hit's explanation names trust and knowledge."""
    ranking = without_meaning.retrieve("word1 word2 word3", 100, explain=True)
    fusion = next(fusion for hit in ranking if len((fusion := fusion_of(hit.explanation)).parts) == 2)
    facts = {part.name: part.facts for part in fusion.parts}
    assert facts["lexical"]["weight"] == WEIGHTS["lexical"]
    trust = float(facts["dense"]["trust"])
    assert 0.25 <= trust < 0.9
    assert facts["dense"]["knowledge"] == 1
    assert facts["dense"]["weight"] == pytest.approx(without_meaning.legs["dense"].weight * trust)


def test_chosen_weights_stay(without_meaning: Engine) -> None:
    """Weights that a caller chooses are used as they are."""
    ranking = without_meaning.retrieve("word1 word2", fusion="minmax(lexical=1,dense=0.5)", explain=True)
    fusions = [fusion_of(item.explanation) for item in ranking]
    assert {part.facts["weight"] for fusion in fusions for part in fusion.parts} <= {1.0, 0.5}
    assert all("trust" not in part.facts for fusion in fusions for part in fusion.parts)
