"""Combinations of retrievers over a retriever with fixed hits."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.compose import (
    BoostedRetriever,
    CrossEncoderReranker,
    DedupedRetriever,
    DiversifiedRetriever,
    FusedRetriever,
    RerankedRetriever,
)
from sleuth.compose.diversify import mmr
from sleuth.errors import ArgumentError, FilterError, RetrievalError
from sleuth.protocols import Reranker, Retriever
from sleuth.testing.contracts import RerankerContract, RetrieverContract
from sleuth.types import Explanation, PartReport, RetrievedItem
from tests.embedders import Letters
from tests.retrievers import ByLength, Fixed, ids


def item(name: str, score: float | None = 1.0, text: str | None = None, **metadata: object) -> RetrievedItem:
    return RetrievedItem(id=name, text=text or f"text of {name}", score=score, metadata=metadata)


def lexical() -> Fixed:
    return Fixed(item("a", 9.0), item("b", 6.0), item("c", 6.0), item("d", 3.0))


def dense() -> Fixed:
    return Fixed(item("c", 0.875), item("e", 0.5), item("a", 0.125))


def nested() -> Retriever:
    fusion = FusedRetriever({"lexical": lexical(), "dense": dense()})
    boosted = BoostedRetriever(fusion, 1.25, lambda it: it.id in "de")
    return DedupedRetriever(FusedRetriever({"all": boosted, "more": dense()}, method="max"))


KINDS: dict[str, Callable[[], Retriever]] = {
    "fused": lambda: FusedRetriever({"lexical": lexical(), "dense": dense()}, {"dense": 0.5}),
    "fused by rank": lambda: FusedRetriever({"lexical": lexical(), "dense": dense()}, method="rrf", pool=3),
    "nested": nested,
    "boosted": lambda: BoostedRetriever(lexical(), 2.0, lambda it: it.id == "d"),
    "deduped": lambda: DedupedRetriever(lexical()),
    "diversified": lambda: DiversifiedRetriever(lexical(), Letters()),
    "reranked": lambda: RerankedRetriever(lexical(), ByLength()),
}


@pytest.mark.parametrize("kind", KINDS)
class TestContract(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _kind(self, kind: str) -> None:
        self.make = KINDS[kind]  # type: ignore[method-assign]


class Overlap:
    """A stand-in for sentence-transformers' CrossEncoder that counts common words."""

    def predict(self, pairs: list[tuple[str, str]], **options: object) -> Any:
        return np.array([len(set(query.split()) & set(text.split())) for query, text in pairs], np.float32)


class TestCrossEncoder(RerankerContract):
    def make(self) -> Reranker:
        return CrossEncoderReranker(Overlap())


def test_fused_scores() -> None:
    """The weighted min-max scores of both pools are added; the explanation has the part of each."""
    ranking = FusedRetriever({"lexical": lexical(), "dense": dense()}, {"dense": 0.5}).retrieve("q", 10)
    assert [(it.id, it.score) for it in ranking] == [
        ("a", 1.0), ("c", 1.0), ("b", 0.5), ("e", 0.25), ("d", 0.0),
    ]  # fmt: skip
    explanation = ranking[1].explanation
    assert explanation is not None
    assert [
        (p.name, p.facts["rank"], p.facts["score"], p.facts["weight"], p.value) for p in explanation.parts
    ] == [("lexical", 3, 6.0, 1.0, 0.5), ("dense", 1, 0.875, 0.5, 0.5)]


def test_explanations_nest() -> None:
    """The explanation of a part is nested below its share."""
    below = Explanation("bm25", 9.0)
    leg = Fixed(RetrievedItem(id="a", text="t", score=9.0, extra={"explanation": below}))
    explanation = FusedRetriever({"lexical": leg}).retrieve("q")[0].explanation
    assert explanation is not None
    assert explanation.parts[0].parts == (below,)


def test_the_first_that_found_an_item_describes_it() -> None:
    """An item of two retrievers has the text and metadata of the first."""
    first, second = Fixed(item("a", text="one", lang="en")), Fixed(item("a", text="two"))
    ranking = FusedRetriever({"x": first, "y": second}).retrieve("q")
    assert [(it.text, it.metadata) for it in ranking] == [("one", {"lang": "en"})]


def test_ranking_without_scores() -> None:
    """Items of a retriever without scores get decreasing scores."""
    ranking = FusedRetriever({"x": Fixed(item("a", None), item("b", None), item("c", None))}).retrieve("q")
    assert [(it.id, it.score) for it in ranking] == [("a", 1.0), ("b", 0.5), ("c", 0.0)]


def test_filter_and_pool_reach_every_retriever() -> None:
    """Each retriever gets the pool size and the filter."""
    legs = {"lexical": lexical(), "dense": dense()}
    ranking = FusedRetriever(legs, pool=7).retrieve("q", 3, filter={"c": 1, "e": 1})
    assert ids(ranking) == ["c", "e"]
    assert [leg.asked for leg in legs.values()] == [[7], [7]]


def test_one_failed() -> None:
    """If one retriever fails, the others are ranked and the report names it."""
    legs = {"lexical": lexical(), "dense": Fixed(error=RuntimeError("no model"))}
    ranking = FusedRetriever(legs, {"dense": 0.5}).retrieve("q", 2)
    assert ids(ranking) == ["a", "b"]
    assert [(p.name, p.status, p.error) for p in ranking.failures] == [("dense", "failed", "no model")]


def test_one_late() -> None:
    """A retriever past its deadline is abandoned and reported."""
    legs = {"lexical": lexical(), "dense": Fixed(item("z"), after=5)}
    ranking = FusedRetriever(legs, deadline=0.1).retrieve("q", 2)
    assert ids(ranking) == ["a", "b"]
    assert [part.status for part in ranking.parts] == ["ok", "abandoned"]


def test_all_failed() -> None:
    """If all fail, the error names each, has query and k, and its cause is the first failure."""
    legs = {"x": Fixed(error=RuntimeError("one")), "y": Fixed(error=RuntimeError("two"))}
    with pytest.raises(RetrievalError, match="x: one; y: two") as caught:
        FusedRetriever(legs).retrieve("what", 2)
    assert (caught.value.context["query"], caught.value.context["k"]) == ("what", 2)
    assert str(caught.value.__cause__) == "one"


def test_what_the_caller_got_wrong() -> None:
    """A filter that one retriever cannot apply raises an error instead of degrading the ranking."""
    legs = {"x": lexical(), "y": Fixed(error=FilterError("no $regex"))}
    with pytest.raises(FilterError, match=r"no \$regex"):
        FusedRetriever(legs).retrieve("q", filter={"a": 1})


@pytest.mark.parametrize(
    "wrong",
    [{"retrievers": {}}, {"pool": 0}, {"method": "sum"}, {"weights": {"z": 1}}, {"rank_constant": -1}],
)
def test_wrong_settings(wrong: dict[str, Any]) -> None:
    """Invalid settings raise an error when the retriever is created."""
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        FusedRetriever(**{"retrievers": {"x": lexical()}, **wrong})


def test_boost() -> None:
    """Matching items are multiplied and explained; a negative score also rises."""
    leg = Fixed(item("a", 1.0), item("b", 0.9), item("c", -1.0), item("d", None))
    boosted = BoostedRetriever(leg, 2, lambda it: it.id != "a").retrieve("q")
    assert [(it.id, it.score) for it in boosted] == [("b", 1.8), ("a", 1.0), ("c", -0.5), ("d", None)]
    assert boosted[0].explanation is not None
    assert boosted[0].explanation.facts == {"factor": 2}
    formulas = [it.explanation.formula for it in boosted if it.explanation]
    assert formulas == ["score * factor", "score / factor"]
    with pytest.raises(ArgumentError, match="factor must be a finite number above 0, got 0"):
        BoostedRetriever(leg, 0)
    with pytest.raises(ArgumentError, match="pool must be an int of 1 or more, got 0"):
        BoostedRetriever(lexical(), 2.0, pool=0)


def test_boost_finds_what_lies_below_k() -> None:
    """A hit below the first k can be boosted into them."""
    assert ids(BoostedRetriever(lexical(), 4.0, lambda it: it.id == "d").retrieve("q", 1)) == ["d"]


def test_deduplicate() -> None:
    """The better of two equal items stays; items without the value equal no other."""
    items = [item("a", source="x"), item("b", source="x"), item("c"), item("d"), item("e", source="x")]
    leg, source = Fixed(*items), lambda each: each.metadata.get("source")
    assert ids(DedupedRetriever(leg, source).retrieve("q")) == ["a", "c", "d"]
    assert ids(DedupedRetriever(leg, source, most=2).retrieve("q")) == ["a", "b", "c", "d"]
    equal = Fixed(item("a", text="One  text"), item("b", text="one text "))
    assert ids(DedupedRetriever(equal).retrieve("q")) == ["a"]
    with pytest.raises(ArgumentError, match="most must be an int of 1 or more, got 0"):
        DedupedRetriever(leg, most=0)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.integers(0, 99),
    st.integers(0, 14),
    st.sampled_from([0.0, 0.4, 1.0]),
)
def test_mmr(relevance: list[float], seed: int, k: int, trade_off: float) -> None:
    """Each choice maximizes the definition among the remaining items; values never rise."""
    vectors = np.random.default_rng(seed).integers(-2, 3, (len(relevance), 3)).astype(float)
    selection = mmr(np.array(relevance), vectors, k, trade_off)
    assert len(selection) == min(k, len(relevance))
    lengths = np.linalg.norm(vectors, axis=1)
    unit = vectors / np.where(lengths == 0, 1, lengths)[:, None]
    before: list[int] = []
    for row, value, _ in selection:
        worth = {
            i: trade_off * relevance[i]
            - (1 - trade_off) * max([-1.0, *(float(unit[i] @ unit[j]) for j in before)])
            for i in range(len(relevance))
            if i not in before
        }
        assert value == pytest.approx(worth[row])
        assert value == pytest.approx(max(worth.values()))
        before.append(row)
    values = [value for _, value, _ in selection]
    assert all(later <= earlier + 1e-12 for earlier, later in zip(values, values[1:], strict=False))


def test_diversified() -> None:
    """A hit similar to the first is ranked behind a different one."""
    leg = Fixed(item("a", 1.0, "aaa"), item("b", 0.9, "aaa"), item("c", 0.5, "zzz"), item("d", 0.0, "zz"))
    assert ids(DiversifiedRetriever(leg, Letters(), trade_off=0.5).retrieve("q", 2)) == ["a", "c"]
    assert ids(DiversifiedRetriever(leg, Letters(), trade_off=1.0).retrieve("q", 2)) == ["a", "b"]
    assert len(DiversifiedRetriever(Fixed(), Letters()).retrieve("q", 2)) == 0
    with pytest.raises(ArgumentError, match=r"trade_off must be a number from 0 to 1, got 1\.5"):
        DiversifiedRetriever(leg, Letters(), trade_off=1.5)


class Slow(Overlap):
    """A model whose second batch takes more than a second."""

    batches = 0

    def predict(self, pairs: list[tuple[str, str]], **options: object) -> Any:
        self.batches += 1
        time.sleep(1.1 if self.batches == 2 else 0)
        return super().predict(pairs)


def test_a_cross_encoder_scores_what_fits_into_its_time() -> None:
    """The best passages are scored first; the others follow in their order, without a score."""
    items = [
        item(name, 9.0 - place, text) for place, (name, text) in enumerate(zip("abcd", "xyqq", strict=True))
    ]
    reranked = CrossEncoderReranker(Slow(), batch_size=1, seconds=1).rerank("y", items)
    assert ids(reranked) == ["b", "a", "c", "d"]
    assert [each.score for each in reranked] == [1.0, 0.0, None, None]
    assert ids(CrossEncoderReranker(Overlap(), batch_size=1).rerank("q", items)) == ["c", "d", "a", "b"]


@pytest.mark.parametrize(
    "combine",
    [
        DedupedRetriever,
        lambda leg: BoostedRetriever(leg, 2.0),
        lambda leg: DiversifiedRetriever(leg, Letters()),
        lambda leg: RerankedRetriever(leg, ByLength()),
    ],
)
def test_reports_and_notes_are_kept(combine: Callable[[Any], Any]) -> None:
    """What changes the order of hits keeps what their retriever said of them."""
    leg = Fixed(item("a", 1.0, "aaa"), parts=[PartReport("leg", "ok", 0.1, 1)], notes=["a note"])
    ranking = combine(leg).retrieve("q", 1)
    assert (ranking.notes, [part.name for part in ranking.parts]) == (("a note",), ["leg"])


def test_reranked_pool() -> None:
    """The reranker reads exactly the pool."""
    leg = lexical()
    RerankedRetriever(leg, ByLength(), pool=2).retrieve("q", 1)
    assert leg.asked == [2]


def test_large_scores_keep_their_order() -> None:
    """Scores that are equal in single precision, such as times in seconds, keep their order."""
    leg = Fixed(item("b", 1_700_000_030.0), item("z", 1_700_000_020.0), item("a", 1_700_000_000.0))
    assert [it.id for it in FusedRetriever({"leg": leg}).retrieve("q")] == ["b", "z", "a"]
    assert ids(FusedRetriever({"leg": Fixed(item("b", 1e39), item("a"))}).retrieve("q")) == ["b", "a"]


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_fail_their_part(score: float) -> None:
    """A retriever with NaN or infinite scores fails, is reported, and the others answer."""
    odd = item("a").model_copy(update={"score": score})
    legs = {"odd": Fixed(odd, item("b")), "sound": Fixed(item("c"))}
    ranking = FusedRetriever(legs).retrieve("q")
    assert [it.id for it in ranking] == ["c"]
    assert "scores must be finite" in str(ranking.failures[0].error)
    with pytest.raises(RetrievalError, match=r"of 'a' from 'odd'"):
        FusedRetriever({"odd": legs["odd"]}).retrieve("q")


def test_diversity_is_explained_by_its_terms() -> None:
    """The formula gives the value from the facts of the explanation."""
    ranking = DiversifiedRetriever(lexical(), Letters(), trade_off=0.6).retrieve("q")
    assert len(ranking) > 2
    for place, it in enumerate(ranking):
        assert it.explanation is not None
        facts = it.explanation.facts
        assert it.score == pytest.approx(0.6 * float(facts["relevance"]) - 0.4 * float(facts["nearest"]))
        assert (facts["nearest"] == -1) == (place == 0)
