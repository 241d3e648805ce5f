"""A scope limits every operation of an engine to the documents that match a filter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Document, Engine, FilterError
from sleuth.cluster import ShardedEngine
from sleuth.engine import Count, Facet, import_vectors

DOCUMENTS = [
    Document("Our tokens are refilled.", {"source": "ours.md", "tenant": "us"}),
    Document("Their tokens are secret.", {"source": "theirs.md", "tenant": "them", "salary": 3}),
    Document("", {"source": "blank.md", "tenant": "them"}),
]


@pytest.fixture(params=["index", "shards"])
def whole(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    options: dict[str, Any] = {"shards": 3} if request.param == "shards" else {}
    opener = ShardedEngine.open if options else Engine.open
    with opener(tmp_path / "index", create=True, **options) as opened:
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
    for call in (
        lambda: ours.index([whole.path.parent]),
        lambda: ours.move("theirs.md", "taken.md"),
        *(ours.roots, ours.check, ours.repair, ours.compact),
        lambda: import_vectors(ours, whole.path / "none.jsonl"),
    ):
        with pytest.raises(ArgumentError, match=r"scope must be None to|re_embed must be True"):
            call()
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


@pytest.mark.parametrize(
    "changes",
    [
        {"tenant": "them"},
        {"tenant": None},
        {"tenant": ["us", "them"]},
        {"tenant": {"name": "us"}},
        {"tenant": []},
        {"kind": "note", "tenant": "them"},
    ],
)
def test_no_change_leads_out_of_the_scope(ours: Engine, whole: Engine, changes: dict[str, Any]) -> None:
    """`update` refuses to move documents into another scope, by id and by filter, and changes nothing then."""
    ours.add([Document("Ours as well.", {"source": "also.md", "tenant": "us", "kind": "note"})])
    before = [document.metadata for document in whole.documents()]
    for selection in ({"ids": ["ours.md", "also.md"]}, {"filter": "kind:note"}, {"filter": "tenant:us"}):
        with pytest.raises(ArgumentError, match="documents must match the scope of this engine"):
            ours.update(changes, **selection)
    assert [document.metadata for document in whole.documents()] == before
    assert ours.update({"kind": "memo"}, ["also.md"]) == ["also.md"]


@pytest.mark.parametrize("tenant", [["us", "them"], None, [], {"us": 1}])
def test_no_document_of_two_scopes_is_added(ours: Engine, whole: Engine, tenant: Any) -> None:
    """A list with a value of another scope, and no value, lie out of the scope; a list of its own values does not."""
    for text in ("Shared with them.", ""):
        with pytest.raises(ArgumentError, match=r"documents must match the scope .*, got 'both\.md'"):
            ours.add([Document(text, {"source": "both.md", "title": "Both", "tenant": tenant})])
    assert not whole.get("both.md")
    ours.add([Document("Our own.", {"source": "list.md", "tenant": ["us"]})])
    assert [item.id for item in ours.get("list.md")] == ["list.md#0"]


def test_what_two_scopes_share_is_changed_by_neither(ours: Engine, whole: Engine) -> None:
    """A document of two tenants is seen by both; a view neither replaces, changes nor deletes it."""
    whole.add([Document("For all of us.", {"source": "all.md", "tenant": ["us", "them"], "kind": "shared"})])
    assert [item.id for item in ours.get("all.md")] == ["all.md#0"]
    for call in (
        lambda: ours.delete(["all.md"]),
        lambda: ours.delete(filter="kind:shared"),
        lambda: ours.update({"kind": "ours"}, ["all.md"]),
        lambda: ours.update({"tenant": "us"}, filter="kind:shared"),
        lambda: ours.add([Document("Ours now.", {"source": "all.md", "tenant": "us"})]),
    ):
        with pytest.raises(ArgumentError, match=r"documents must match the scope .*, got 'all\.md'"):
            call()
    assert whole.get("all.md")[0].text == "For all of us."
    assert whole.get("all.md")[0].metadata["kind"] == "shared"


def test_a_document_partly_in_the_scope_is_not_changed(whole: Engine) -> None:
    """Where only some passages of a document lie in the scope, the others would be changed unseen."""
    text = f"# One\n\n{'First words. ' * 200}\n\n# Two\n\n{'Second words. ' * 200}"
    whole.add([Document(text, {"source": "long.md"})])
    view = whole.scoped("source:long.md end_line<5")
    assert view.get("long.md")
    for call in (
        lambda: view.delete(["long.md"]),
        lambda: view.update({"kind": "x"}, filter="source:long.md"),
        lambda: view.add([Document(text, {"source": "long.md"})]),
    ):
        with pytest.raises(ArgumentError, match=r"documents must match the scope .*, got 'long\.md'"):
            call()
    with pytest.raises(ArgumentError, match="documents must match the scope"):
        whole.scoped("end_line<5").add([Document(text, {"source": "new.md"})])
    assert len(whole.get("long.md")) > 1


def test_a_view_of_a_view_writes_into_both(whole: Engine) -> None:
    """A change through a view of a view lies in both scopes."""
    inner = whole.scoped("tenant:us").scoped("kind:note")
    inner.add([Document("A note of ours.", {"source": "note.md", "tenant": "us", "kind": "note"})])
    for changes in ({"tenant": "them"}, {"kind": "memo"}):
        with pytest.raises(ArgumentError, match="documents must match the scope"):
            inner.update(changes, ["note.md"])
    with pytest.raises(FilterError, match="no document has the metadata key 'salary'"):
        inner.update({"x": 1}, filter="salary:3")
    assert inner.update({"x": 1}, ["note.md"]) == ["note.md"]
