"""Searches that are sorted, folded or boosted, over each kind of index and within a scope."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine, Sources
from sleuth.compose.items import rescored
from sleuth.engine import WITHOUT_VARIETY
from sleuth.errors import ArgumentError
from tests.engine.kinds import KINDS, new_index

DOCUMENTS = [
    *(
        Document(
            f"bucket number {n} {'token ' * (n % 7)}",
            {"source": f"{n:03}.md", "n": n, "kind": "note" if n % 3 else "page", "tenant": "ab"[n % 2]},
        )
        for n in range(400)
    ),
    Document("Der Eimer hält fünfzig Marken und noch viel mehr.", {"source": "de.md", "language": "de", "n": 999}),
    Document("Cats sleep most of the day.", {"source": "cats.md", "n": 1000, "tenant": "a"}),
]  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Return an index of 400 passages with one word in common, and two others."""
    with new_index(request.param, tmp_path_factory.mktemp("index") / "index") as engine:
        engine.add(DOCUMENTS)
        yield engine


def test_a_sorted_search_orders_all_passages_that_hold_each_word(engine: Engine) -> None:
    """No passage is left out because the fusion's pool is smaller, and none without the words comes in."""
    ranking = engine.retrieve("the bucket", 1_000, sort="-n", **WITHOUT_VARIETY)
    assert [item.metadata["n"] for item in ranking] == list(range(399, -1, -1))
    assert ranking.notes == ("sorted: all 400 passages that hold each word of the query",)
    both = engine.retrieve("bucket token", 500, sort="n", **WITHOUT_VARIETY)
    assert [item.metadata["n"] for item in both] == [n for n in range(400) if n % 7]
    assert [item.id for item in engine.retrieve("bucket", 5, sort="-n", filter="kind:page")] == [
        f"{n:03}.md#0" for n in (399, 396, 393, 390, 387)
    ]


def test_equal_values_are_in_order_of_score(engine: Engine) -> None:
    ranking = engine.retrieve("bucket token", 500, sort="tenant", explain=True, **WITHOUT_VARIETY)
    keys = [(item.metadata["tenant"], -(item.score or 0), item.id) for item in ranking]
    assert keys == sorted(keys)
    assert ranking[0].explanation is not None
    assert (ranking[0].explanation.name, ranking[0].explanation.value) == ("sort", ranking[0].score)


def test_a_word_is_read_in_the_language_of_the_passage(engine: Engine) -> None:
    """A German passage holds the words of a German query in another form."""
    assert [item.id for item in engine.retrieve("Eimer", sort="n")] == ["de.md#0"]


def test_where_no_passage_holds_each_word_the_best_are_sorted(engine: Engine) -> None:
    ranking = engine.retrieve("cats number", 5, sort="-n")
    assert ranking[0].id == "cats.md#0"
    assert ranking.notes[0].startswith("sorted: the best ")


def test_a_boost_reaches_every_candidate(engine: Engine) -> None:
    """A factor of 1 changes nothing, a great one brings all matches to the top, and explanations have the scores."""
    plain = engine.retrieve("bucket token", 20)
    assert engine.retrieve("bucket token", 20, boost="kind:page^1").items == plain.items
    ranking = engine.retrieve("bucket token", 20, boost={"kind:page": 100}, explain=True)
    assert {item.metadata["kind"] for item in ranking} == {"page"}
    assert all(item.explanation and item.explanation.value == item.score for item in ranking)
    for k in (1, 7):
        assert (
            engine.retrieve("bucket token", k, boost={"kind:page": 100}).items
            == engine.retrieve("bucket token", 7, boost={"kind:page": 100}).items[:k]
        )


def test_folded_results_are_the_best_of_their_value(engine: Engine) -> None:
    plain = engine.retrieve("bucket token", 100)
    folded = engine.retrieve("bucket token", collapse="kind")
    best = {item.metadata["kind"]: item.id for item in reversed(plain.items)}
    assert {item.metadata["kind"]: item.id for item in folded if "kind" in item.metadata} == best
    assert sum(item.folded + 1 for item in folded) == 200
    grown = engine.retrieve("bucket token", collapse="kind", expand="document", explain=True)
    assert [(item.id, item.folded) for item in grown] == [(item.id, item.folded) for item in folded]


@pytest.mark.parametrize("several", [False, True])
def test_folded_results_may_repeat_each_other(tmp_path: Path, several: bool) -> None:
    """Each value has its best passage, also where that is a copy of another one."""
    with Engine.open(tmp_path / "index", create=True, embedder=None) as index:
        index.add(
            Document(
                f"Walruses rest on the ice of the bay {'and sleep ' * (n % 2)}.",
                {"source": f"{n}.md", "team": n % 4},
            )
            for n in range(8)
        )
        parts = {"docs": index.unhooked, "other": index.scoped("team:9").unhooked}
        engine: Engine | Sources = Sources(parts, engine=index) if several else index
        folded = engine.retrieve("walruses", collapse="team", filter="team>=0", fold_copies=True)
        assert sorted((item.metadata["team"], item.folded) for item in folded) == [(n, 1) for n in range(4)]
        assert len(engine.retrieve("walruses", filter="team>=0", fold_copies=True)) == 2


def test_a_sorted_list_goes_on_in_its_order(tmp_path: Path) -> None:
    """Where copies give way, what comes after them is sorted, too."""
    with Engine.open(tmp_path / "index", create=True, embedder=None) as index:
        texts = ("Walruses " + " ".join(f"rest{n // 2}on{ice}" for ice in range(14)) for n in range(140))
        index.add(Document(text, {"n": n}) for n, text in enumerate(texts))
        sources = Sources({"docs": index.unhooked, "other": index.scoped("n>90").unhooked}, engine=index)
        ranking = sources.retrieve("walruses", 80, sort="-n", fold_copies=True)
    numbers = [item.metadata["n"] for item in ranking]
    assert numbers == sorted(numbers, reverse=True)


def test_a_scope_arranges_its_own_passages(engine: Engine) -> None:
    """Counts and order know nothing of other tenants."""
    with engine.scoped("tenant:a") as view:
        ranking = view.retrieve("bucket", 500, sort="-n", **WITHOUT_VARIETY)
        assert [item.metadata["n"] for item in ranking] == list(range(398, -1, -2))
        assert ranking.notes == ("sorted: all 200 passages that hold each word of the query",)
        (only,) = view.retrieve("bucket token", collapse="tenant")
        assert only.folded < 201
        assert view.retrieve("bucket", sort="salary").notes[1] == "no result has the metadata key 'salary'"


def test_a_lookup_is_sorted_whole(engine: Engine) -> None:
    """A query for a value of metadata sorts all passages that have it, whatever words they hold."""
    ranking = engine.retrieve("kind:page", 500, syntax=True, sort="-n", explain=True, **WITHOUT_VARIETY)
    assert [item.metadata["n"] for item in ranking if item.extra["share"] == 1] == [*range(399, -1, -3)]


def test_a_reranker_comes_before_the_boosts(engine: Engine) -> None:
    """Boosts multiply the scores of the reranker; a sorted search takes none."""

    class ByNumber:
        def rerank(self, query: str, items: Any) -> Any:
            scored = [rescored(item, float(item.metadata["n"]), "number", "n") for item in items]
            return sorted(scored, key=lambda item: -item.score)

    options: Any = {"boost": "kind:page^1000", "explain": True, "deadline": 60}
    ranking = engine.retrieve("bucket token", 3, rerank=ByNumber(), **options)
    assert [item.metadata["kind"] for item in ranking] == ["page"] * 3
    assert all(item.score == 1000 * item.metadata["n"] == item.explanation.value for item in ranking)  # type: ignore[union-attr]
    with pytest.raises(ArgumentError, match="rerank must be left out of a sorted search"):
        engine.retrieve("bucket", rerank=ByNumber(), sort="n")


def test_several_sources_are_arranged_together(engine: Engine) -> None:
    """The best hundred of each source are sorted, folded and boosted as one list."""
    sources = Sources({"docs": engine.unhooked, "others": engine.scoped("kind:page").unhooked}, engine=engine)
    ranking = sources.retrieve("bucket", 4, sort="-n", explain=True)
    numbers = [item.metadata["n"] for item in ranking]
    assert numbers == sorted(numbers, reverse=True)
    assert any(note.startswith("sorted: the best ") for note in ranking.notes)
    assert ranking[0].explanation is not None
    assert ranking[0].explanation.name == "sort"
    (folded,) = sources.retrieve("bucket", 4, collapse="source_type", filter="source_type:docs")
    assert folded.folded == 99
    boosted = sources.retrieve("bucket", 4, boost="source_type:others^9")
    assert {item.metadata["source_type"] for item in boosted} == {"others"}
