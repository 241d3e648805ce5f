"""A scope limits every operation of an engine to the documents that match a filter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sleuth import ArgumentError, Document, Engine
from sleuth.engine import Count, Facet

DOCUMENTS = [
    Document("Our tokens are refilled.", {"source": "ours.md", "tenant": "us"}),
    Document("Their tokens are secret.", {"source": "theirs.md", "tenant": "them", "salary": 3}),
    Document("", {"source": "blank.md", "tenant": "them"}),
]


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "index", create=True) as opened:
        opened.add(DOCUMENTS)
        yield opened


@pytest.fixture(params=["open", "view"])
def ours(whole: Engine, request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "view":
        with whole.scoped("tenant:us") as view:
            yield view
    else:
        with Engine.open(whole.path, scope="tenant:us") as opened:
            yield opened


def test_reading_stays_within(ours: Engine) -> None:
    """Searches, answers, listings, counts, facets and keys cover only the scope, with any further filter."""
    for filter in (None, "tenant:them", "tenant:us OR tenant:them", "tenant!=us"):
        assert all(item.id == "ours.md#0" for item in ours.retrieve("secret tokens", filter=filter))
    assert [item.id for item in ours.retrieve("secret tokens")] == ["ours.md#0"]
    assert [item.id for item in ours.search("tokens", return_mode="with_items").items or ()] == ["ours.md#0"]
    embedder = ours.embedder
    assert embedder is not None
    assert [item.id for item in ours.nearest(embedder.embed_query("secret"))] == ["ours.md#0"]
    assert ours.get("theirs.md") == ours.get("theirs.md#0") == []
    assert [document.id for document in ours.documents()] == ["ours.md"]
    assert [document.id for document in ours.list_documents().documents] == ["ours.md"]
    assert ours.count() == Count(1, 1)
    assert ours.facets("tenant") == {"tenant": [Facet("us", 1)]}
    assert "salary" not in {key.name for key in ours.metadata_keys()}
    assert ours.retrieve("tokens", filter="salary:3").notes


def test_writing_stays_within(ours: Engine, whole: Engine) -> None:
    """Documents outside the scope are not deleted, changed, replaced or added."""
    assert ours.delete(["theirs.md", "blank.md"]) == []
    assert ours.update({"x": 1}, ["theirs.md"]) == []
    with pytest.raises(ArgumentError, match=r"documents must match the scope .*, got 'theirs\.md'"):
        ours.add([Document("Taken over.", {"source": "theirs.md", "tenant": "us"})])
    with pytest.raises(ArgumentError, match=r"documents must match the scope .*, got 'new\.md'"):
        ours.add([Document("Smuggled.", {"source": "new.md", "tenant": "them"})])
    with pytest.raises(ArgumentError, match="scope must be None to index files"):
        ours.index([whole.path.parent])
    assert whole.get("theirs.md")[0].text == "Their tokens are secret."
    ours.add([Document("Ours too.", {"source": "more.md", "tenant": "us"})])
    assert sorted(ours.delete(filter="tenant:us")) == ["more.md", "ours.md"]
    assert whole.count().documents == 2


def test_passages_around_a_hit_stay_within(whole: Engine) -> None:
    """Expansion returns no passage outside the scope."""
    whole.add(
        [
            Document(
                f"# One\n\n{'First words. ' * 200}\n\n# Two\n\n{'Second words. ' * 200}",
                {"source": "long.md"},
            )
        ]
    )
    view = whole.scoped("source:long.md end_line<5")
    (grown,) = view.retrieve("first", k=1, expand="document")
    assert "First" in grown.text
    assert "Second" not in grown.text
    assert "Second" in whole.retrieve("first", k=1, filter="source:long.md", expand="document")[0].text


def test_views_nest_and_leave_the_index_open(whole: Engine) -> None:
    """A view of a view covers the intersection; closing it closes nothing else."""
    with whole.scoped("tenant:us") as view, view.scoped("tenant:them") as none:
        assert none.count() == Count(0, 0)
    assert whole.count().documents == 3
    with pytest.raises(ArgumentError, match="filter must say what the view may see, got ''"):
        whole.scoped("")
