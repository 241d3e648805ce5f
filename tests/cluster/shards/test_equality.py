"""Rankings over many shards equal those of one index, to the last bit."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth import Document, Engine
from tests.cluster.conftest import twins
from tests.text.test_detection import TEXTS

SHARDS = (1, 2, 4, 16)
WAYS: Sequence[Mapping[str, Any]] = (
    {}, {"legs": ["lexical"]}, {"legs": ["dense"]}, {"filter": "year<5"}, {"fusion": "rrf"},
    {"fusion": "minmax(lexical=1,dense=0.4,tokens=0)"}, {"explain": True}, {"expand": 1}, {"syntax": True},
)  # fmt: skip
MISSPELT = ("tidde mon", "harbuor -shp gul", 'roape year:3 year:42 kind:x "sial"', "xylophone wnd moon")
CORPUS = Path(__file__).parents[3] / ".data" / "cacm"

words = st.sampled_from(["tide", "moon", "harbour", "ship", "rope", "sail", "wind", "gull"])
texts = st.lists(words, min_size=1, max_size=12).map(" ".join)
documents = st.lists(
    st.builds(
        lambda number, text, year: Document(text, {"year": year}, id=f"d{number}"),
        st.integers(0, 30),
        texts,
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=40,
)


def plain(engine: Engine, query: str, k: int, **options: Any) -> list[dict[str, Any]]:
    return [item.to_dict() for item in engine.retrieve(query, k, **options)]


def without_copies(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**item, "extra": {key: value for key, value in item["extra"].items() if key != "copies"}}
        for item in items
    ]


def notes(engine: Engine, query: str) -> Sequence[str]:
    return engine.retrieve(query, syntax=True).notes


def assert_equal(one: Engine, many: Engine, queries: Sequence[str], k: int = 25) -> None:
    for query in queries:
        for way in WAYS:
            assert plain(many, query, k, **way) == plain(one, query, k, **way), (query, way)
        head, whole = plain(many, query, 3), plain(many, query, k)
        # A longer list names more copies of the same hits.
        assert without_copies(head) == without_copies(whole[:3])
        for scope in ("year<5", "year=1"):
            assert plain(many.scoped(scope), query, k) == plain(one.scoped(scope), query, k), (query, scope)
    for query in MISSPELT:
        for scope in ("year<5", "year=1"):
            scoped = many.scoped(scope), one.scoped(scope)
            assert notes(scoped[0], query) == notes(scoped[1], query), (query, scope)
        assert notes(many, query) == notes(one, query), query


def assert_equal_contents(one: Engine, many: Engine) -> None:
    for engine in (one, many):
        assert engine.delete(filter="year=7", ids=["1", "8"]) == ["8"]
        assert engine.update({"kind": "paper"}, filter="year=3")
    assert many.count() == one.count()
    assert many.count("year<5") == one.count("year<5")
    assert many.facets(["year", "kind"], limit=3) == one.facets(["year", "kind"], limit=3)
    assert many.count(query="algorithm") == one.count(query="algorithm")
    assert many.facets("year", query="algorithm") == one.facets("year", query="algorithm")
    assert many.metadata_keys() == one.metadata_keys()
    page = many.list_documents(filter="kind=paper", limit=20)
    assert page == one.list_documents(filter="kind=paper", limit=20)
    assert many.list_documents(after=page.after, limit=5) == one.list_documents(after=page.after, limit=5)
    with_scope, alone = many.scoped("year=4"), one.scoped("year=4")
    assert with_scope.count() == alone.count()
    assert plain(with_scope, "algorithm", 10) == plain(alone, "algorithm", 10)
    assert (
        many.retrieve("algorithm", filter="yeer=4").notes == one.retrieve("algorithm", filter="yeer=4").notes
    )


@settings(max_examples=int(os.environ.get("SLEUTH_SHARDED", "3")), deadline=None)
@given(
    first=documents, second=documents, deleted=st.sets(st.integers(0, 30)),
    queries=st.lists(texts, max_size=2), shards=st.sampled_from(SHARDS),
)  # fmt: skip
def test_any_documents_rank_as_in_one_index(  # noqa: PLR0917 - what hypothesis gives
    tmp_path_factory: pytest.TempPathFactory,
    first: list[Document],
    second: list[Document],
    deleted: set[int],
    queries: list[str],
    shards: int,
) -> None:
    """After adding, replacing and deleting, items, scores and explanations are equal for 1, 2, 4 and 16 shards."""
    folder = tmp_path_factory.mktemp("indexes")
    ids = [f"d{number}" for number in deleted]
    with twins(folder, first, shards) as (one, many):
        for engine in (one, many):
            engine.add(second)
        assert many.delete(ids) == one.delete(ids)
        assert_equal(one, many, queries)


def collection() -> Iterator[Document]:
    with (CORPUS / "corpus.jsonl").open(encoding="utf8") as lines:
        for number, line in enumerate(islice(lines, 900)):
            values = json.loads(line)
            yield Document(
                values.get("text") or "",
                {"title": values.get("title") or "", "year": number % 10},
                id=str(values["_id"]),
            )


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the collection cacm is not under .data")
@pytest.mark.parametrize("shards", [2, 16])
def test_a_real_collection_ranks_as_in_one_index(tmp_path: Path, shards: int) -> None:
    """Rankings of real queries over CACM are equal, and so are exact ones."""
    with (CORPUS / "queries.jsonl").open(encoding="utf8") as lines:
        queries = [json.loads(line)["text"] for line in islice(lines, 3)]
    with twins(tmp_path, list(collection()), shards) as (one, many):
        assert_equal(one, many, queries)
        assert_equal_contents(one, many)
        for query in queries:
            assert plain(many, query, 10, exact=True) == plain(one, query, 10, exact=True)
        assert one.embedder is not None
        vector = list(one.embedder.embed_query("operating systems"))
        assert many.nearest(vector, 10) == one.nearest(vector, 10)
        for syntax in ("year:4", '"operating system"', "algorithm -system"):
            assert plain(many, syntax, 30, syntax=True) == plain(one, syntax, 30, syntax=True) != []
        assert many.idf(["system", "zebra"]) == one.idf(["system", "zebra"])
        assert many.search(queries[0]).response == one.search(queries[0]).response


@pytest.mark.parametrize("shards", SHARDS)
def test_words_are_suggested_as_from_one_index(tmp_path: Path, shards: int) -> None:
    """The most frequent of the near words is suggested, whichever shard holds it, and none from outside the scope."""
    texts = [
        "token bucket", "tokens refill", "tokes of smoke", "tokens leak", "retrievers see", "in time retrieved",
    ]  # fmt: skip
    documents = [Document(text, {"n": n, "author": f"Ann {n}"}, id=str(n)) for n, text in enumerate(texts)]
    queries = (
        "tokenz", "retreival lekk", "smoke bukket author:bob", "author:ann xylophone", "tokez -leek", "-token",
    )  # fmt: skip
    with twins(tmp_path, documents, shards, settings={"embedder": ""}) as (one, many):
        for query in queries:
            assert notes(many, query) == notes(one, query) != ()
        assert notes(many, "tokenz")[0] == "no passage holds 'tokenz'; did you mean 'tokens'?"
        assert notes(many.scoped("n=2"), "tokenz") == notes(one.scoped("n=2"), "tokenz")
        for engine in (one, many):
            engine.delete(["0", "1", "3"])
            engine.add([Document(f"rain{n * n % 7} rain{n % 5}", id=f"rain-{n}") for n in range(40)])
        assert many.suggest("rai", 1) == one.suggest("rai", 1) != []
        assert notes(many, "tokenz") == notes(one, "tokenz")
        assert notes(many, "tokenz")[0] == "no passage holds 'tokenz'; did you mean 'tokes'?"


def test_languages_rank_as_in_one_index(tmp_path: Path) -> None:
    """Shards with different languages score each language with the statistics of all shards."""
    documents = [Document(text * 2, {"source": code}) for code, text in TEXTS.items()]
    with twins(tmp_path, documents, shards=5, settings={"embedder": ""}) as (one, many):
        for query in ("Haus am Fluss", "les maisons", "river legs", "дом"):
            assert plain(many, query, 10) == plain(one, query, 10) != []
        assert many.retrieve("pietra", fuzzy=2).notes == one.retrieve("pietra", fuzzy=2).notes != ()
