"""What a query and the first hits say about the kind of source that is asked for."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth import Ranking, RetrievedItem, Sources
from sleuth.engine import scale
from tests.retrievers import Fixed


def item(kind: str, text: str, **metadata: str) -> RetrievedItem:
    """Return a hit of a kind of source."""
    return RetrievedItem(id=text, text=text, metadata={"source_type": kind, **metadata}, score=1.0)


CODE = [item("code", "def get_total_price(order): return order.sum", name="get_total_price")]
PAGES = [item("docs", "A ledger is closed at the end of a month.", heading="Ledgers")]


def kinds(query: str, *, sources: tuple[str, ...] = ("docs", "code")) -> dict[str, float]:
    """Return what each source counts for a query."""
    heads = {"docs": Ranking(PAGES), "code": Ranking(CODE)}
    scaled = scale.on_one_scale(query, {name: heads[name] for name in sources})
    reasons = {name: ranking[0].explanation for name, ranking in scaled.items()}
    return {name: float(reason.facts["kind"]) for name, reason in reasons.items() if reason is not None}


@pytest.mark.parametrize(
    ("cue", "query", "other"), tomllib.loads(Path(__file__).with_name("cues.toml").read_text("utf8"))["cues"]
)
def test_a_cue(cue: str, query: str, other: str) -> None:
    """Each cue is 1 for one query and 0 for another that resembles it."""
    assert [getattr(scale.cues(each, [PAGES, CODE]), cue) for each in (query, other)] == [1, 0]


def test_every_word_of_a_name_counts() -> None:
    """The first word of a name, too."""
    cues = scale.cues("the end of the total price", [[item("code", "x", name="total_price_of_order")]])
    assert cues.spelled == 2 / 3


@pytest.mark.parametrize(
    ("query", "kind", "other"),
    [
        ("function that closes ledgers", "code", "docs"),
        ("get_total_price", "code", "docs"),
        ("merge the total price", "code", "docs"),
        ("why is my ledger closed?", "docs", "code"),
        ("ledger", "docs", "code"),
    ],
)
def test_the_other_kind_counts_less(query: str, kind: str, other: str) -> None:
    """The kind that a query asks for counts 1, the other less, and never less than `LEAST`."""
    counts = kinds(query)
    assert counts[kind] == 1
    assert scale.LEAST <= counts[other] < 1


@pytest.mark.parametrize("name", ["docs", "code"])
def test_one_kind_alone_counts_1(name: str) -> None:
    """Where only one kind of source has hits, it counts 1 whatever the query asks for."""
    for query in ("function that closes ledgers", "why is my ledger closed?"):
        assert kinds(query, sources=(name,)) == {name: 1}


def test_no_words_and_no_hits() -> None:
    """A query without words, and no hits, are no cue."""
    assert scale.cues("", []) == scale.Cues(0, 0, 0, 0, 0)


def test_the_page_has_the_weights() -> None:
    """The page on sources lists the weight of each cue, and the bias."""
    page = (Path(__file__).parents[2] / "docs" / "concepts" / "sources.md").read_text("utf8")
    weights = re.findall(r"\| (-?\d?\.\d+) \|$", page, re.MULTILINE)
    assert sorted(map(float, weights)) == sorted(scale.WEIGHTS_OF_CUES)
    assert f"and {scale.BIAS:.2f}, are added".replace("0.", ".") in page


WORDS = ["ledger", "order", "card", "month", "noon", "lunch"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), max_size=6)


def shelf(name: str, texts: list[str]) -> Fixed:
    """Return a source with these texts, each with an id of its own."""
    return Fixed(
        *(
            RetrievedItem(id=f"{name} {place}", text=f"{text} {name} {place}", metadata={}, score=1.0)
            for place, text in enumerate(texts)
        )
    )


@given(st.dictionaries(st.sampled_from(["docs", "code:a", "code:b", "web", "kb:1"]), TEXTS, min_size=2))
def test_each_plausible_kind_has_one_of_the_first_places(texts: Mapping[str, list[str]]) -> None:
    """Three kinds at most, those with the best hits, have one of the first three places, for any sources and any k."""
    query = "ledger order card"
    with Sources({name: shelf(name, some) for name, some in texts.items()}) as sources:
        hits = sources.retrieve(query, 50, explain=True)
        least = scale.PLAUSIBLE * max((hit.score or 0.0 for hit in hits[:1]), default=0.0)
        alone = {hit.metadata["source_type"] for hit in hits if 0 < (hit.score or 0.0) >= least}
        top = {hit.metadata["source_type"] for hit in hits[: scale.PLACES]}
        assert len(top & alone) == min(len(alone), scale.PLACES)
        for k in range(1, 6):
            shorter = sources.retrieve(query, k)
            assert [hit.id for hit in shorter] == [hit.id for hit in hits[:k]]


def test_an_implausible_kind_has_no_place() -> None:
    """A source whose best hit says nothing of the query stands where its score puts it."""
    pages = [f"The ledger of order {place} is charged to a card." for place in range(5)]
    with Sources({"docs": shelf("docs", pages), "web": shelf("web", ["Zebras graze."])}) as sources:
        hits = sources.retrieve("ledger of an order charged to a card", 6)
    assert [hit.metadata["source_type"] for hit in hits[:5]] == ["docs"] * 5


def test_a_raised_hit_says_why() -> None:
    """`explain` says that the place of a hit is kept for its kind, and that its score is that of the place."""
    pages = [f"The ledger of order {place} is charged to a card." for place in range(5)]
    with Sources({"docs": shelf("docs", pages), "web": shelf("web", ["A card is red."])}) as sources:
        hits = sources.retrieve("ledger of an order charged to a card", 6, explain=True)
    assert [hit.metadata["source_type"] for hit in hits[:4]] == ["docs", "docs", "web", "docs"]
    assert "place is kept" in str(hits[2].explanation)
    assert [hit.score for hit in hits] == sorted((hit.score or 0.0 for hit in hits), reverse=True)
