"""A scope limits every operation of an engine to the documents that match a filter."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Document, Engine, FilterError
from sleuth.engine import narrowing
from sleuth.engine.scope import prefix_of
from sleuth.engine.selection import Count, Facet
from sleuth.errors import EmbeddingError
from sleuth.filters import as_filter
from tests.embedders import Letters
from tests.engine.kinds import KINDS, new_index

DOCUMENTS = [
    Document("Our tokens are refilled.", {"source": "ours.md", "tenant": "us"}),
    Document("Their tokens are secret.", {"source": "theirs.md", "tenant": "them", "salary": 3}),
    Document("", {"source": "blank.md", "tenant": "them"}),
]
LONG = f"# One\n\n{'First words. ' * 200}\n\n# Two\n\n{'Second words. ' * 200}"


@pytest.fixture(params=KINDS)
def whole(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    with new_index(request.param, tmp_path / "index") as index:
        index.add(DOCUMENTS)
        yield index


@pytest.fixture(params=["open", "view"])
def ours(whole: Engine, request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "view":
        with whole.scoped("tenant:us") as view:
            yield view
    else:
        with Engine.open(whole.path, scope="tenant:us") as index:
            yield index


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


def test_a_key_of_one_scope_is_unknown_in_another(whole: Engine) -> None:
    """The notes on a filter name the keys that no document of the own scope has, independent of earlier callers."""
    with whole.scoped("tenant:us") as us, whole.scoped("tenant:them") as them:
        for _ in range(2):
            assert them.retrieve("tokens", filter="salary:3").notes == ()
            assert len(us.retrieve("tokens", filter="salary:3").notes) == 1
            assert whole.retrieve("tokens", filter="salary:3").notes == ()


def test_writing_stays_within(ours: Engine, whole: Engine) -> None:
    """Documents outside the scope are not deleted, changed, replaced or added."""
    assert ours.delete(["theirs.md", "blank.md"]) == []
    assert ours.update({"x": 1}, ["theirs.md"]) == []
    with pytest.raises(ArgumentError, match=r"documents must match the scope .*, got 'new\.md'"):
        ours.add([Document("Smuggled.", {"source": "new.md", "tenant": "them"})])
    for call in (
        lambda: ours.index([whole.path.parent]),
        lambda: ours.move("theirs.md", "taken.md"),
        *(ours.roots, ours.skips, ours.check, ours.repair, ours.compact, lambda: ours.searcher("lexical")),
    ):
        with pytest.raises(ArgumentError, match=r"scope must be None to|re_embed must be True"):
            call()
    ours.add([Document("Ours too.", {"source": "more.md", "tenant": "us"})])
    assert sorted(ours.delete(filter="tenant:us")) == ["more.md", "ours.md"]
    assert whole.count().documents == 2
    assert ours.repairs == ()
    assert whole.get("theirs.md")[0].text == "Their tokens are secret."


def test_passages_around_a_hit_stay_within(whole: Engine) -> None:
    """Expansion returns no passage outside the scope."""
    whole.add([Document(LONG, {"source": "long.md"})])
    view = whole.scoped("source:long.md end_line<5")
    (expanded,) = view.retrieve("first", k=1, expand="document")
    assert "First" in expanded.text
    assert "Second" not in expanded.text
    assert "Second" in whole.retrieve("first", k=1, filter="source:long.md", expand="document")[0].text
    end = whole.scoped("source:long.md start_line>=3")
    passages = [item.id for item in end.get("long.md")]
    assert passages
    expansions: tuple[Any, ...] = ("section", "document", 9)
    for expand in expansions:
        (expanded,) = end.retrieve("second", k=1, expand=expand)
        assert expanded.extra["passages"] == passages
    outside = [item.id for item in whole.get("long.md") if item.id not in passages]
    assert outside
    assert not any(map(end.get, outside))
    assert [item.id for id in passages for item in end.get(id)] == passages


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
        {"tenant": "them"}, {"tenant": None}, {"tenant": ["us", "them"]}, {"tenant": {"name": "us"}},
        {"tenant": []}, {"kind": "note", "tenant": "them"},
    ],
)  # fmt: skip
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
    """Where only some passages of a document lie in the scope, it is neither added nor changed nor deleted."""
    whole.add([Document(LONG, {"source": "long.md"})])
    view = whole.scoped("source:long.md end_line<5")
    assert view.get("long.md")
    for call in (
        lambda: view.delete(["long.md"]),
        lambda: view.update({"kind": "x"}, filter="source:long.md"),
        lambda: view.add([Document("# One", {"source": "long.md"})]),
    ):
        with pytest.raises(ArgumentError, match=r"documents must match the scope .*, got 'long\.md'"):
            call()
    other = whole.scoped({"$not": {"start_line": {"$gt": 1}}})
    with pytest.raises(ArgumentError, match=r"documents must match the scope .*, got 'new\.md'"):
        other.add([Document(LONG, {"source": "new.md"})])
    assert other.add([Document("One line.", {"source": "short.md"})]).added == 1
    assert other.delete(["short.md"]) == ["short.md"]
    assert 0 < len(view.get("long.md")) < len(whole.get("long.md"))


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


def test_ids_belong_to_a_scope(ours: Engine, whole: Engine) -> None:
    """Two scopes have documents of the same id, and each calls its own by it, in every call."""
    theirs = whole.scoped("tenant:them")
    for view, tenant in ((ours, "us"), (theirs, "them")):
        report = view.add(
            [
                Document(f"Tokens of {tenant}.", {"source": "README.md", "tenant": tenant}),
                Document(f"More tokens of {tenant}.", {"tenant": tenant}, id="theirs.md"),
            ]
        )
        assert (report.added, report.updated) == ((2, 0) if view is ours else (1, 1))
        again = view.add([Document(f"Tokens of {tenant}.", {"source": "README.md", "tenant": tenant})])
        assert (again.added, again.unchanged) == (0, 1)
    for view, tenant in ((ours, "us"), (theirs, "them")):
        (item,) = view.get("README.md")
        assert (item.id, item.text, item.metadata["source"]) == (
            "README.md#0", f"Tokens of {tenant}.", "README.md",
        )  # fmt: skip
        assert [other.text for other in view.get("README.md#0")] == [item.text]
        assert view.get("theirs.md")[0].metadata["source"] == "theirs.md"
        assert {hit.id: hit.text for hit in view.retrieve("tokens", 9)}["README.md#0"] == item.text
        assert [hit.extra["passages"] for hit in view.retrieve(f"tokens {tenant}", 1, expand="document")]
        ids = [document.id for document in view.documents()]
        assert sorted(ids) == [document.id for document in view.list_documents().documents]
        assert ids.count("README.md") == ids.count("theirs.md") == 1
        assert view.update({"kind": tenant}, ["README.md"]) == ["README.md"]
    assert ours.facets("kind") == {"kind": [Facet("us", 1)]}
    assert ours.delete(["README.md", "theirs.md", "blank.md"]) == ["README.md", "theirs.md"]
    assert theirs.get("README.md")[0].metadata["kind"] == "them"
    assert [item.id for item in theirs.get("README.md")] == ["README.md#0"]
    assert not whole.get("README.md")
    assert whole.get("@tenant:them/README.md")[0].text == "Tokens of them."


def test_a_document_that_was_moved_away_is_gone(ours: Engine, whole: Engine) -> None:
    """What the operator gives to another scope is not seen, changed or deleted by the view that added it."""
    ours.add([Document("Ours once.", {"tenant": "us"}, id="once.md")])
    (id,) = (document.id for document in whole.documents() if document.id.endswith("once.md"))
    whole.update({"tenant": "them"}, [id])
    assert ours.get("once.md") == []
    assert ours.delete(["once.md"]) == ours.update({"x": 1}, ["once.md"]) == []
    with pytest.raises(ArgumentError, match="documents must match the scope"):
        ours.add([Document("Ours again.", {"tenant": "us"}, id="once.md")])
    assert [item.text for item in whole.scoped("tenant:them").get(id)] == ["Ours once."]


def test_what_was_noted_of_files_is_not_shown(engine: Engine, tmp_path: Path) -> None:
    """A view reads no note of the folders that were indexed."""
    (tmp_path / "a.md").write_text("Tokens.")
    engine.index([tmp_path])
    with engine.store.reader() as snapshot:
        assert snapshot.noted_files()
    with engine.scoped("tenant:us").store.reader() as snapshot:
        assert snapshot.noted_files() == []


def test_an_id_with_a_prefix_is_an_id_like_others(ours: Engine, whole: Engine) -> None:
    """Neither its own prefix nor that of another scope gives a view a second way to a document."""
    whole.scoped("tenant:them").add([Document("Theirs.", {"tenant": "them"}, id="a.md")])
    names = ["a.md", "@tenant:us/a.md", "@tenant:them/a.md"]
    ours.add([Document("Ours, first.", {"tenant": "us"}, id="a.md")])
    for turn in range(2):
        ours.add([Document(f"Ours, {name}.", {"tenant": "us", "turn": turn}, id=name) for name in names])
        assert [ours.get(name)[0].text for name in names] == [f"Ours, {name}." for name in names]
        assert sorted(document.id for document in ours.documents()) == sorted([*names, "ours.md"])
    assert ours.update({"x": 1}, names) == names
    assert ours.delete(names) == names
    assert whole.get("@tenant:them/a.md")[0].text == "Theirs."


@pytest.mark.parametrize("together", [1000, 2])
def test_pages_of_a_view_are_in_order_of_id(
    whole: Engine, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents that a view added and others are listed in one order, each once."""
    monkeypatch.setattr(narrowing, "_FEW", together)
    view = whole.scoped("tenant:us")
    names = ["#.md", "a.md", "n.md", "p.md", "z.md", "\U0010ffff\U0010ffff"]
    view.add([Document(f"{name} of ours", {"source": name, "tenant": "us"}) for name in names])
    view.delete(["a.md"])
    whole.add([Document("theirs", {"source": name, "tenant": "them"}) for name in ("b.md", "y.md")])
    ids: list[str] = []
    after = None
    while True:
        page = view.list_documents(limit=1, after=after)
        ids += [document.id for document in page.documents]
        after = page.after
        if after is None:
            break
    assert ids == sorted([*names, "ours.md"])[:1] + sorted([*names, "ours.md"])[2:]


@pytest.mark.parametrize(("one", "other", "are_equal"), [
    ("a:1 b:2", "b:2 a:1", True),
    ("a:1 (b:2 c:3)", {"$and": [{"c": 3}, {"a": 1}, {"b": 2}, {"a": 1}]}, True),
    ("a:1 OR b:2", "b:2 OR a:1", True), ("a:1 OR b:2", "a:1 b:2", False),
    ("-(a:1 b:2)", "-(b:2 a:1)", True), ("a:1", 'a:"1"', False), ('a:"x/"', "a:x/", False),
    ('a:"b/c"', 'a:"b%2Fc"', False), ("a:" + "x" * 200, "a:" + "x" * 201, False),
])  # fmt: skip
def test_filters_that_say_the_same_share_a_space(one: Any, other: Any, are_equal: bool) -> None:
    """The prefix of ids does not depend on how a scope is written, and no two scopes share one."""
    prefixes = [prefix_of(as_filter(filter)) for filter in (one, other)]  # type: ignore[arg-type]
    assert (prefixes[0] == prefixes[1]) is are_equal
    assert all(prefix.find("/") == len(prefix) - 1 for prefix in prefixes)


TEXTS = (
    "Tokens are refilled.", "A bucket holds tokens.", "Refilled buckets, and more buckets.", "",
    "Cats sleep.",
)  # fmt: skip
QUERIES = (
    "tokens", "refilled bucket", "secret", "secrets tokens", "bukcet salary", "source:c.md", "-tokens cats",
)  # fmt: skip

OPTIONS: dict[str, dict[str, Any]] = {
    "all": {}, "words": {"legs": ["lexical"]}, "exact": {"exact": True}, "least": {"min_score": 0.1},
    "filtered": {"filter": "kind:note"}, "unknown": {"filter": "salery>1"}, "grown": {"expand": "section"},
}  # fmt: skip


def shown(engine: Engine) -> dict[str, Any]:
    """Return what an engine says of its documents, with every figure."""
    searches = {
        (query, name): engine.retrieve(query, 9, explain=True, syntax=True, **options)
        for query in QUERIES
        for name, options in OPTIONS.items()
    }
    answer = engine.search("how are tokens refilled", return_mode="with_items")
    return {
        "hits": {
            key: [
                (i.id, i.score, i.text, i.metadata, i.explanation, i.extra.get("passages")) for i in ranking
            ]
            for key, ranking in searches.items()
        },
        "notes": {key: ranking.notes for key, ranking in searches.items()},
        "parts": {key: [(p.name, p.status, p.hits) for p in r.parts] for key, r in searches.items()},
        "answer": (answer.response, answer.extra.get("sources")),
        "idf": engine.idf(["tokens", "secret", "bucket"]),
        "counts": (engine.count(), engine.facets(["tenant", "kind", "salary"], query="tokens secret")),
        "keys": engine.metadata_keys(),
        "documents": [document._replace(content_hash="") for document in engine.list_documents().documents],
        "status": {name: engine.status()[name] for name in ("documents", "passages")},
    }


def change(engine: Engine) -> None:
    """Delete, change and replace documents."""
    engine.delete(["b.md"])
    engine.update({"kind": "paper"}, ["c.md"])
    engine.add([Document("Tokens, and no cats.", {"source": "e.md", "tenant": "us"})])


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_is_an_index_of_its_own(tmp_path: Path, kind: str) -> None:
    """Scores, explanations, notes, suggestions, counts and facets are those of an index without other documents."""
    own = [
        Document(
            text,
            {"source": f"{name}.md", "tenant": "us", "kind": "note" if name < "d" else "memo", "extra": []},
        )
        for name, text in zip("abcde", TEXTS, strict=True)
    ]
    foreign = [
        Document(
            f"Secrets, bukcets and tokens {'of them ' * n}.",
            {
                "source": f"{name}.md", "tenant": "them", "salary": n, "salery": 1, "title": "Tokens",
                "extra": {"x": n},
            },
        )
        for n, name in enumerate("abcxyz")
    ]  # fmt: skip
    with new_index(kind, tmp_path / "own") as alone:
        alone.add(own)
        expected = shown(alone)
        change(alone)
        contents = shown(alone)
    with new_index(kind, tmp_path / "shared") as whole:
        view = whole.scoped("tenant:us")
        whole.scoped("tenant:them").add(foreign[:3])
        view.add(own)
        whole.add(foreign[3:])
        assert shown(view) == expected
        whole.scoped("tenant:them").delete(["a.md", "b.md"])
        assert shown(view) == expected
        change(view)
        assert shown(view) == contents
        whole.compact()
        assert shown(view) == contents


def test_rows_that_await_their_vectors_are_in_the_scope(tmp_path: Path) -> None:
    """Where vectors are made after commits, a view finds new documents by their words meanwhile, and its own alone."""
    embedder = Letters()
    with Engine.open(tmp_path, create=True, embedder=embedder) as whole:
        whole.add(DOCUMENTS)
        view = whole.scoped("tenant:us")
        assert [item.id for item in view.retrieve("tokens")] == ["ours.md#0"]
        embedder.failure = EmbeddingError("down", service="letters")
        for tenant in ("us", "them"):
            with pytest.raises(EmbeddingError):
                whole.scoped(f"tenant:{tenant}").add(
                    [Document(f"New of {tenant}.", {"source": "n.md", "tenant": tenant})]
                )
        assert whole.status()["legs"]["dense"]["uncovered"] == 2
        assert [item.text for item in view.retrieve("new", legs=["lexical"])] == ["New of us."]
        embedder.failure = None
        assert view.embed() == 2
        assert {item.text for item in view.retrieve("new tokens", legs=["dense"])} == {
            "New of us.",
            DOCUMENTS[0].page_content,
        }
