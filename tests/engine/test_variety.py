"""Lists of hits without copies and with few passages of one document, over each kind of index."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine, Ranking, RetrievedItem, Sources
from sleuth.engine import WITHOUT_VARIETY
from sleuth.errors import ArgumentError
from tests.engine.kinds import KINDS, new_index
from tests.retrievers import Fixed
from tests.text.test_repeats import prose


def chapter(number: int, words: int = 60) -> str:
    """Return a paragraph about buckets."""
    return f"bucket {' '.join(prose(number, words))}."


LONG = "\n\n".join(f"# Chapter {n}\n\n{chapter(n)} bucket bucket" for n in range(8))
DOCUMENTS = [
    Document(LONG, {"source": "long.md"}),
    *(Document(chapter(100 + n), {"source": f"short-{n}.md", "tenant": "a"}) for n in range(9)),
    *(
        Document(f"{chapter(100 + n).upper()} More.", {"source": f"short-{n}.txt", "tenant": "b"})
        for n in range(4)
    ),
]


@pytest.fixture(scope="module", params=[*KINDS, "words"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Return an index with a long document, nine short ones and copies of four."""
    path = tmp_path_factory.mktemp("index") / "index"
    settings: dict[str, Any] = {"chunk_size": 100, "chunk_overlap": 0}
    if request.param == "words":
        settings["embedder"] = ""
    with new_index(request.param, path, settings=settings) as engine:
        engine.add(DOCUMENTS)
        yield engine


def documents(ranking: Ranking) -> list[str]:
    """Return the document of each hit."""
    return [item.document_id for item in ranking]


def test_the_first_ten_are_different(engine: Engine) -> None:
    """No copy is among them and three passages of the long document at most; a hit names its copies."""
    ranking = engine.retrieve("bucket", fold_copies=True)
    assert len(ranking) == 10
    assert documents(ranking).count("long.md") <= 3
    copies = {copy for item in ranking for copy in item.copies}
    ids_of_hits = {item.id for item in ranking}
    assert len(copies) == 4
    assert not copies & ids_of_hits
    for item in ranking:
        assert all(Path(copy).stem == Path(item.document_id).stem for copy in item.copies)


def test_nothing_is_lost(engine: Engine) -> None:
    """A long list has every passage or names it, and begins with the shorter ones; unless asked, it has every one."""
    every = engine.retrieve("bucket", 100, per_document=0)
    whole = engine.retrieve("bucket", 100, fold_copies=True)
    assert sorted(item.id for item in every) == sorted(item.id for item in engine.retrieve("bucket", 100))
    assert sorted(item.id for item in every) == sorted(
        [*(item.id for item in whole), *(copy for item in whole for copy in item.copies)]
    )
    assert all(not item.copies for item in every)
    for k in (1, 4, 9, 10, 11, 15):
        assert [item.id for item in engine.retrieve("bucket", k, fold_copies=True)] == [
            item.id for item in whole[:k]
        ]
    scores = [item.score for item in engine.retrieve("bucket")]
    assert scores == sorted(scores, key=lambda score: -(score or 0))


def test_filters_and_scopes_choose_first(engine: Engine) -> None:
    """A passage whose better copy a filter or a scope leaves out is a hit, and names nothing that they leave out."""
    for ranking in (
        engine.retrieve("bucket", filter="tenant:b", fold_copies=True),
        engine.scoped("tenant:b").retrieve("bucket", fold_copies=True),
    ):
        assert {Path(name).suffix for name in documents(ranking)} == {".txt"}
        assert len(ranking) == 4
        assert all(not item.copies for item in ranking)


def test_a_filter_to_one_document_lists_it(engine: Engine) -> None:
    """Where nothing else can answer, all passages of a document do, in the order of their scores."""
    ranking = engine.retrieve("bucket", filter="source:long.md")
    expected = engine.retrieve("bucket", filter="source:long.md", **WITHOUT_VARIETY)
    assert len(ranking) > 3
    assert [item.id for item in ranking] == [item.id for item in expected]


def test_other_options_apply_to_what_is_shown(engine: Engine) -> None:
    """Explanations have the scores of their hits, and grown passages those of their place."""
    plain = engine.retrieve("bucket")
    for item in engine.retrieve("bucket", explain=True):
        assert item.explanation is not None
        assert item.explanation.value == pytest.approx(item.score)
    expanded = engine.retrieve("bucket", expand=1)
    assert len(expanded) == len(plain)
    assert [item.id for item in engine.retrieve("bucket", exact=True)] == [item.id for item in plain]
    assert documents(engine.retrieve("bucket", min_score=0)).count("long.md") <= 3


class Reversed:
    """Ranks the passages in reverse."""

    def rerank(self, query: str, items: Sequence[RetrievedItem]) -> list[RetrievedItem]:
        return [item.model_copy(update={"score": float(score)}) for score, item in enumerate(reversed(items))]


def test_what_a_reranker_ranks_is_chosen_after_it(engine: Engine) -> None:
    """The order of the reranker says which of two copies is shown."""
    ranking = engine.retrieve("bucket", 20, rerank=Reversed(), fold_copies=True)
    every = engine.retrieve("bucket", 100, **WITHOUT_VARIETY)
    order = [item.id for item in reversed(every)]
    for item in ranking:
        assert all(order.index(copy) > order.index(item.id) for copy in item.copies)
    assert sum(len(item.copies) for item in ranking) == 4
    assert documents(ranking)[:10].count("long.md") <= 3


def test_several_sources_are_chosen_together(engine: Engine) -> None:
    """A copy from another source is a copy, too."""
    mirror = Fixed(RetrievedItem(id="mirror", text=chapter(104), score=1.0))
    with Sources({"docs": engine.unhooked, "mirror": mirror}, engine=engine) as sources:
        ranking = sources.retrieve("bucket", fold_copies=True)
        names = [item.id for item in ranking] + [copy for item in ranking for copy in item.copies]
        assert {"mirror", "short-4.md#0"} <= set(names)
        assert len({"mirror", "short-4.md#0"} & {item.id for item in ranking}) == 1
        every = sources.retrieve("bucket", 50, per_document=0)
        assert {"mirror", "short-4.md#0"} <= {item.id for item in every}


def test_answers_are_written_from_all_passages(engine: Engine) -> None:
    """Versions of a page reach the answer, which may say that they disagree; a call may ask for fewer."""
    items = engine.search("bucket", 100, "with_items").items or ()
    assert [item.id for item in items] == [
        item.id for item in engine.retrieve("bucket", 100, **WITHOUT_VARIETY)
    ]
    fewer = engine.search("bucket", 100, "with_items", fold_copies=True).items or ()
    assert len(fewer) == len(items) - 4


def test_equal_texts_are_two_answers_to_a_program(engine: Engine) -> None:
    """Without folding, no text is compared: documents with one text and other metadata are both given."""
    texts = [Document("One text.", {"tenant": tenant}, id=tenant) for tenant in ("a", "b")]
    with Engine.open(engine.path / "two", create=True, embedder="") as two:
        two.add(texts)
        assert sorted(item.document_id for item in two.retrieve("text")) == ["a", "b"]
        (item,) = two.retrieve("text", fold_copies=True)
        assert len(item.copies) == 1


def test_the_former_name_is_refused_with_the_new_one(engine: Engine) -> None:
    """`all_copies` names what took its place."""
    with pytest.raises(TypeError, match="did you mean 'fold_copies'"):
        engine.retrieve("bucket", all_copies=True)  # type: ignore[call-arg]
    sources = Sources({"docs": engine.unhooked}, engine=engine)
    with sources, pytest.raises(ArgumentError, match="did you mean 'fold_copies'"):
        sources.retrieve("bucket", all_copies=True)


def test_a_limit_is_a_count(engine: Engine) -> None:
    """A limit below 0 or no int is refused by name."""
    for value in (-1, 1.5, "3"):
        with pytest.raises(ArgumentError, match="per_document must be"):
            engine.retrieve("bucket", per_document=value)  # type: ignore[arg-type]
