"""Queries of every kind over the shop."""

# ruff: noqa: E501 - sources of other languages, a line each
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sleuth.code import CodeRetriever, CodeStorage, RetrievedContext, Snapshot, render_context
from sleuth.code.parsing.labels import LABELS
from sleuth.code.search import ranking
from sleuth.code.search.context import count_tokens
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from sleuth.code.search.request import CodeRequest
from sleuth.code.search.signals import best_of
from sleuth.code.search.vectors import Similar, embed_missing
from sleuth.engine.codebase import default_embedder
from sleuth.errors import ArgumentError, EmbeddingError, FilterError, RetrievalError
from sleuth.types import Explanation
from tests.code.conftest import hits_by_words, opened
from tests.code.projects import SAMPLES
from tests.embedders import Letters
from tests.examples import examples

Ask = Callable[..., list[str]]


@pytest.mark.parametrize(("query", "first"), SAMPLES["queries"])
def test_queries_find_their_file(ask: Ask, query: str, first: str) -> None:
    """Questions, identifiers, code, compounds, traces, paths, qualified names and tests find their file."""
    assert ask(query)[0] == first


def test_frames_of_many_languages() -> None:
    """Stack frames of Python, Java, Ruby and Go are parsed in order."""
    text = 'File "a/b.py", line 3, in f\n at p.A.g(A.java:12)\nlib/x.rb:7:in `run\'\n/go/main.go:9 +0x1d'
    assert [(f.path, f.line) for f in read_query(text).frames] == [
        ("a/b.py", 3), ("A.java", 12), ("lib/x.rb", 7), ("/go/main.go", 9),
    ]  # fmt: skip


def test_explanations_add_up(shop: tuple[CodeStorage, str]) -> None:
    """The parts of a file's score sum to it, and that of a definition follows from it and from the hit before."""
    ceiling = 1.0
    for hit in hits_by_words(*shop, "charge an order"):
        own = hit.explanation
        assert isinstance(own, Explanation)
        assert hit.score == own.value
        (file,) = own.parts
        assert sum(p.value for p in file.parts) == pytest.approx(file.value, abs=1e-5)
        share = own.facts["share"]
        assert isinstance(share, float)
        assert own.value == pytest.approx(min(ceiling, file.value * (0.5 + 0.5 * share)), abs=1e-6)
        ceiling = 0.999 * own.value


def test_hybrid_scores_compare_between_queries(shop: tuple[CodeStorage, str]) -> None:
    """A score says how much of the query a piece holds: little for what has one word of many, 1 for all words."""
    storage, id = shop
    retriever = CodeRetriever(storage, default_embedder())
    whole = retriever.retrieve("charge an order", id)
    partial = retriever.retrieve("charge of electrons in a magnetic field at low temperature", id)
    assert whole[0].score > 0.8
    assert 0 < partial[0].score < 0.5
    for per_file in (None, 1):
        hits = retriever.retrieve("charge an order", id, per_file=per_file)
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert min(scores) < 0.5 < max(scores) <= 1
        assert all(
            hit.explanation is not None and hit.explanation.value == pytest.approx(hit.score) for hit in hits
        )
    order = [hit.id for hit in retriever.retrieve("charge an order", id, limit=30)]
    assert [hit.id for hit in retriever.retrieve("charge an order", id, limit=5)] == order[:5]
    assert retriever.retrieve("Order", id)[0].score == 1
    assert retriever.retrieve("hjkl fghj", id) == []


class OwnEmbedder:
    """Vectors that are nearest to whatever names a ledger."""

    fingerprint = "ledger"

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "ledger.py" in text else [0.0, 1.0] for text in texts]


def test_an_embedder_of_ones_own_counts(shop: tuple[CodeStorage, str]) -> None:
    """Ranks of vectors weigh .25, what the embedder says, what the constructor says, or what the call says."""
    storage, id = shop
    query = "charge an order"

    def weight(retriever: CodeRetriever, **options: Any) -> float:
        """Return the weight of the vector leg among those that the explanation of the best hit tells."""
        explanation = retriever.retrieve(query, id, limit=30, **options)
        for hit in explanation:
            assert hit.explanation is not None
            for part in hit.explanation.parts[0].parts[0].parts:
                if part.name == "vector":
                    return float(part.facts["weight"])
        raise AssertionError("no hit of the vector leg")

    own, modest = OwnEmbedder(), OwnEmbedder()
    modest.code_weight = 0.5  # type: ignore[attr-defined]
    scale = 61  # so that the first of every leg has 1
    for expected, score in (
        (0.25, weight(CodeRetriever(storage, own))),
        (0.5, weight(CodeRetriever(storage, modest))),
        (2.0, weight(CodeRetriever(storage, modest, weights="vector=2"))),
        (3.0, weight(CodeRetriever(storage, own, weights={"vector": 2}), weights={"vector": 3})),
        (0.001, weight(CodeRetriever(storage, default_embedder()))),
    ):
        assert score == pytest.approx(expected * scale / (1 + expected))
    with pytest.raises(ArgumentError, match="weights must be of keyword, vector, got 'words'"):
        CodeRetriever(storage, own, weights="words=1")
    with pytest.raises(ArgumentError, match="number of 0 and more"):
        CodeRequest(query=query, weights="vector=much")


def test_weights_of_legs(shop: tuple[CodeStorage, str]) -> None:
    """A weight decides which leg leads; a leg of weight 0 does not count; wrong weights are refused."""
    storage, id = shop
    retriever = CodeRetriever(storage, Letters())

    def places(strategy: str, **options: object) -> list[str]:
        return [hit.id for hit in retriever.retrieve("charge an order", id, strategy=strategy, **options)]  # type: ignore[arg-type]

    assert places("hybrid", weights={"keyword": 0, "vector": 1}) == places("vector")
    assert places("hybrid", weights={"vector": 1e9})[0] == places("vector")[0]
    assert places("hybrid", weights={"keyword": 1}) == places("hybrid")
    for weights in ({"words": 1}, {"vector": -1}, {"vector": float("nan")}, {"keyword": 0, "vector": 0}, [1]):
        with pytest.raises(ArgumentError, match="weights"):
            places("hybrid", weights=weights)
    with pytest.raises(ArgumentError, match="expand must be a list of strings, got 'callers'"):
        places("hybrid", expand="callers")
    with pytest.raises(ArgumentError, match="storage must be what open_code opens, got 'folder'"):
        CodeRetriever("folder", None)  # type: ignore[arg-type]


def test_tests_come_after_code_unless_asked_for(ask: Ask) -> None:
    """A test ranks behind equal code, and before it if the query is about tests."""
    code = ask("PaymentProcessor charge")
    assert code.index("shop/payment.py") < code.index("tests/test_payment.py")
    assert ask("test PaymentProcessor charge")[0] == "tests/test_payment.py"


def test_labels_filter_definitions(ask: Ask, shop: tuple[CodeStorage, str]) -> None:
    """Only code with one of the labels matches, also code outside of definitions; unknown labels are refused."""
    hits = hits_by_words(*shop, "order", filters={"labels": "data_schema"})
    assert [h.symbol for h in hits] == ["Order"]
    module = hits_by_words(*shop, "order", filters={"labels": "module_code"})
    assert module
    assert all(hit.semantic_labels == ["module_code"] for hit in module)
    with pytest.raises(FilterError, match=r"labels must be among .*data_schema.*did you mean 'data_schema'"):
        hits_by_words(*shop, "order", filters={"labels": ["data_shema"]})


def test_every_label_is_known(shop: tuple[CodeStorage, str]) -> None:
    """The labels of all definitions are among those that a filter takes."""
    storage, id = shop
    snapshot = opened(storage, id)
    labels = {
        label for row in snapshot.files for symbol in snapshot.detail(row).symbols for label in symbol.labels
    }
    assert "class_definition" in labels
    assert labels <= LABELS


@pytest.mark.parametrize(
    ("filters", "suggestion"),
    [({"language": "pyton"}, "python"), ({"category": "tests"}, "test"), ({"labls": "async"}, "labels")],
)
def test_misspelt_filters_name_what_was_meant(ask: Ask, filters: dict[str, str], suggestion: str) -> None:
    """A misspelt language, category or key is refused with the nearest known one."""
    with pytest.raises(FilterError, match=f"did you mean '{suggestion}'"):
        ask("order", filters=filters)


def test_a_uuid_or_a_path_names_a_repository(shop: tuple[CodeStorage, str]) -> None:
    """A `uuid.UUID` is a repository id, a `Path` names its folder; the storage takes the first."""
    storage, id = shop
    assert storage.repository(UUID(id)).id == id
    for name in (UUID(id), Path(storage.repository(id).path)):
        assert CodeRetriever(storage, None).retrieve("order", name, strategy="keyword")


def test_every_signal_has_a_weight(snapshot: Snapshot) -> None:
    """Signals and weights have the same names; signals lie in [0, 1]."""
    signals = rank_files(snapshot, read_query("charge an order in shop/payment.py")).signals.values
    assert signals.keys() == ranking.WEIGHTS.keys()
    assert all(v.min() >= 0 and v.max() <= 1 for v in signals.values())


def test_best_of_is_what_a_loop_gives() -> None:
    """The best chunks of each file are summed with decreasing shares, as a loop does."""
    rng = np.random.default_rng(3)
    positions = rng.integers(0, 7, 60)
    scores = np.sort(rng.random(60).astype(np.float32))[::-1]
    expected = np.zeros(9)
    for file in range(9):
        own = sorted(scores[positions == file], reverse=True)[:3]
        expected[file] = sum(s / (i + 1) for i, s in enumerate(own))
    np.testing.assert_allclose(best_of(positions, scores, 9), expected, rtol=1e-6)


class Fickle:
    """An embedder that returns scripted vectors."""

    fingerprint = "fickle"

    def __init__(self, documents: Sequence[Sequence[float]], query: Sequence[float]) -> None:
        self.documents, self.query, self.calls = documents, query, 0

    def embed_query(self, text: str) -> Sequence[float]:
        return self.query

    def embed_documents(self, texts: list[str]) -> Sequence[Sequence[float]]:
        self.calls += len(texts)
        return [self.documents[i % len(self.documents)] for i in range(len(texts))]


def test_vectors_are_made_once(shop: tuple[CodeStorage, str]) -> None:
    """Chunks are embedded at first use and stored; a query vector of another length raises an error with both lengths."""
    storage, id = shop
    first = Fickle([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    best = CodeRetriever(storage, first).retrieve("x", id, strategy="vector", limit=3)[0]
    assert best.score == pytest.approx(1.0, abs=1e-3)
    storage._snapshots.clear()
    second = Fickle([[1.0, 0.0]], [1.0, 0.0])
    CodeRetriever(storage, second).retrieve("x", id, strategy="vector")
    assert (first.calls > 10, second.calls) == (True, 0)
    with pytest.raises(RetrievalError, match=r"\(3,\).*2 numbers"):
        CodeRetriever(storage, Fickle([[1.0]], [1.0, 0.0, 0.0])).retrieve("x", id, strategy="vector")
    bad = Fickle([[1.0], [1.0, 2.0]], [1.0])
    bad.fingerprint = "bad"
    with pytest.raises((RetrievalError, EmbeddingError)):
        CodeRetriever(storage, bad).retrieve("x", id, strategy="vector")


def test_embedding_keeps_no_files_in_memory(shop: tuple[CodeStorage, str]) -> None:
    """What was read of the files of a repository is dropped once their vectors are made."""
    storage, id = shop
    snapshot = opened(storage, id)
    snapshot.detail(snapshot.files[0])
    assert snapshot._details.cache_info().currsize
    provider = Fickle([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    provider.fingerprint = "another"
    embed_missing(snapshot, provider)
    assert not snapshot._details.cache_info().currsize
    assert not snapshot._contents.cache_info().currsize


def test_context_fits_the_budget() -> None:
    """The context never exceeds the budget; bodies that do not fit become outlines."""
    hits = [
        RetrievedContext(
            f"m{i}.py", "def f():\n" + "    x = 1\n" * 30 * i, 1, 30 * i + 1, 1.0, signature="def f()"
        )
        for i in (1, 9, 2)
    ]
    whole = render_context(hits, 10_000)
    context = render_context(hits[:1] * 40, 1000)
    assert context.rindex("[CODE]") < 4 * 600 <= context.index("[OUTLINE]") < context.index("\n- ") < 4 * 810
    assert len(context) <= 4 * 1000
    assert whole == "\n\n".join(hit.render() for hit in hits)
    packed = render_context(hits, 300)
    assert len(packed) <= 1200
    assert "[OUTLINE]\ndef f()" in packed
    assert render_context(hits, 0) == ""
    with pytest.raises(ArgumentError, match="budget"):
        render_context(hits, -1)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.integers(0, 60), max_size=12), st.integers(0, 600))
def test_context_is_spent_by_rank(lengths: list[int], budget: int) -> None:
    """No hit is shown in more detail than a better one, and an omitted hit would not fit even as a place."""
    hits = [
        RetrievedContext(
            f"m{i}.py", "def f():" + "\n    x = 1" * n, 1, n + 1, 1.0, symbol=f"f{i}", signature="def f()"
        )
        for i, n in enumerate(lengths)
    ]
    text = render_context(hits, budget)
    assert count_tokens(text) <= budget
    detail = [
        3 if hit.render() in text else 2 if hit.outline() in text else 1 if hit.place() in text else 0
        for hit in hits
    ]
    assert detail == sorted(detail, reverse=True)
    if 0 in detail:
        assert count_tokens(f"{text}\n\n{hits[detail.index(0)].place()}") > budget


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.one_of(st.text(max_size=300), st.text(alphabet="aZ_.:/\\()<>`'\" \n\t0#@-", max_size=200)))
def test_any_text_can_be_asked(ask: Ask, query: str) -> None:
    """Every query text can be searched."""
    assert len(ask(query, limit=3)) <= 3


def test_threads_get_the_same_answers(ask: Ask) -> None:
    """Many threads over one retriever get the same hits as one."""
    queries = ["charge an order", "newest order", "Refund.add", "server listens", "ledger"] * 6
    alone = [ask(query) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, queries)) == alone


@pytest.mark.parametrize("count", [1, 3, 7, 50, 400])
def test_the_nearest_are_those_of_a_stable_sort(count: int) -> None:
    """The best scores come best first, equal ones in order of place, and none that is 0."""
    scores = (np.random.default_rng(3).integers(0, 20, 300) / 20).astype(np.float32)
    similar = Similar(np.zeros(300, np.int64), np.arange(300), scores)
    expected = [at for at in np.argsort(-scores, kind="stable").tolist() if scores[at] > 0][:count]
    assert similar.nearest(count).tolist() == expected
