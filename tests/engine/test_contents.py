"""Documents of an index are listed, counted, changed and deleted by filter."""

import asyncio
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from sleuth import ArgumentError, Document, Engine, FilterError
from sleuth.engine.selection import Count, Facet, MetadataKey
from sleuth.filters import field, matches
from sleuth.ingest.validate import content_hash

DOCUMENTS = [
    Document("Tokens are refilled.", {"source": "limits.md", "lang": "en", "year": 2020, "tags": ["a", "b"]}),
    Document("Ein Eimer voller Tokens.", {"source": "eimer.md", "lang": "de", "year": 2021.5, "tags": ["a"]}),
    Document("Cats sleep. " * 300, {"source": "cats.md", "lang": "en", "author": {"name": "Ann"}, "draft": True}),
    Document("", {"source": "empty.md", "lang": "de"}),
]  # fmt: skip


@pytest.fixture
def engine(engine: Engine) -> Engine:
    engine.add(DOCUMENTS)
    return engine


def listed(engine: Engine, **options: Any) -> list[str]:
    return [document.id for document in engine.list_documents(**options).documents]


@pytest.mark.parametrize(
    "filter", [None, "lang:de", "lang!=de", "tags:a", "year>2020", "author.name:Ann", "draft:true", "year:*"]
)
def test_counts_listings_and_deletions_agree_with_the_truth_table(engine: Engine, filter: str | None) -> None:
    """`count`, `list_documents` and `delete` select exactly the matching documents, including those without text."""
    from sleuth.filters import as_filter

    expected = sorted(
        str(document.metadata["source"])
        for document in DOCUMENTS
        if matches(as_filter(filter), document.metadata)
    )
    assert engine.count(filter).documents == len(expected)
    assert listed(engine, filter=filter) == expected
    if filter is not None:
        assert sorted(engine.delete(filter=filter)) == expected
        assert engine.count() == Count(
            len(DOCUMENTS) - len(expected), sum(len(engine.get(id)) for id in listed(engine))
        )


def test_count_counts_passages_too(engine: Engine) -> None:
    """A long document has several passages, a document without text has no passage."""
    assert engine.count("source:cats.md") == Count(1, len(engine.get("cats.md")))
    assert engine.count("source:empty.md") == Count(1, 0)


def test_count_counts_what_holds_a_word(engine: Engine) -> None:
    """With a query, only passages that hold one of its words count, within the filter."""
    for filter in (None, "lang:de"):
        sources = dict(engine.facets("source", query="Eimer", filter=filter)["source"])
        assert engine.count(filter, query="Eimer").documents == len(sources) > 0
    assert engine.count("lang:en", query="Eimer") == Count(0, 0)


def test_deleting_needs_ids_or_a_filter(engine: Engine) -> None:
    """Without ids and filter, or with a filter on an unknown key, nothing is deleted."""
    with pytest.raises(ArgumentError, match="ids or filter must say which documents, got neither"):
        engine.delete()
    with pytest.raises(FilterError, match="no document has the metadata key 'lnag'; did you mean 'lang'\\?"):
        engine.delete(filter="lnag!=de")
    assert engine.delete(["cats.md", "eimer.md"], filter="lang:de") == ["eimer.md"]
    assert engine.count().documents == 3


def test_pages_follow_each_other(engine: Engine) -> None:
    """Pages contain every document once, even if documents are deleted in between."""
    first = engine.list_documents(limit=2)
    assert [document.id for document in first.documents] == ["cats.md", "eimer.md"]
    assert first.after == "eimer.md"
    engine.delete(["eimer.md"])
    last = engine.list_documents(limit=2, after=first.after)
    assert [document.id for document in last.documents] == ["empty.md", "limits.md"]
    assert last.after is None


def test_facets_count_documents(engine: Engine) -> None:
    """Facets count documents, not passages, with and without a filter or a query."""
    assert engine.facets(["lang", "tags", "nothing"]) == {
        "lang": [Facet("en", 2), Facet("de", 1)],
        "tags": [Facet("a", 2), Facet("b", 1)],
        "nothing": [],
    }
    assert engine.facets("lang", filter="tags:a") == {"lang": [Facet("de", 1), Facet("en", 1)]}
    assert engine.facets("lang", query="cats") == {"lang": [Facet("en", 1)]}
    assert engine.facets("lang", limit=1) == {"lang": [Facet("en", 2)]}
    assert engine.facets(["year", "draft"]) == {
        "year": [Facet(2020, 1), Facet(2021.5, 1)],
        "draft": [Facet(True, 1)],
    }
    with pytest.raises(
        ArgumentError, match="keys must be a metadata key or a list of them, got \\['lang', 3\\]"
    ):
        engine.facets(["lang", 3])  # type: ignore[list-item]


def test_facets_of_several_segments_and_deleted_documents(engine: Engine) -> None:
    """Values are added over segments; deleted documents do not count, and True is not 1."""
    engine.add([Document("More tokens.", {"source": "more.md", "lang": "en", "draft": 1})])
    engine.delete(["cats.md"])
    assert engine.facets(["lang", "draft"]) == {
        "lang": [Facet("en", 2), Facet("de", 1)],
        "draft": [Facet(1, 1)],
    }


def test_keys_have_types(engine: Engine) -> None:
    """Metadata keys are listed with the JSON types of their values and the number of their documents."""
    keys = {key.name: key for key in engine.metadata_keys()}
    assert keys["year"] == MetadataKey("year", ("integer", "number"), 2)
    assert keys["lang"] == MetadataKey("lang", ("string",), 3)
    assert keys["tags"].types == ("array",)
    assert keys["author"].types == ("object",)
    assert keys["author.name"].types == ("string",)
    assert keys["draft"].types == ("boolean",)
    assert "draft" not in {key.name for key in engine.metadata_keys("lang:de")}


def test_metadata_is_updated_alone(engine: Engine) -> None:
    """An update changes, adds and removes keys; text, passages and lines stay, and the new title is searchable."""
    before = engine.get("cats.md")
    assert engine.update({"draft": None, "status": "new", "title": "Felines"}, ["cats.md", "none"]) == [
        "cats.md"
    ]
    after = engine.get("cats.md")
    assert [item.text for item in after] == [item.text for item in before]
    assert after[0].metadata == {
        **{key: value for key, value in before[0].metadata.items() if key != "draft"},
        "status": "new",
        "title": "Felines",
    }
    assert {item.id for item in engine.retrieve("felines", filter="status:new")} == {
        item.id for item in after
    }
    assert engine.update({"status": "new"}, ["cats.md"]) == []
    assert all(finding.level == "ok" for finding in engine.check(full=True))


def test_an_updated_document_counts_as_changed(engine: Engine) -> None:
    """Adding the original again restores its metadata."""
    assert engine.update({"year": 1999}, filter="lang:en year:2020") == ["limits.md"]
    report = engine.add(DOCUMENTS)
    assert (report.updated, report.unchanged) == (1, 3)
    assert engine.get("limits.md")[0].metadata["year"] == 2020


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": "x"}, "changes must be none of the keys that the engine writes itself .*, got source"),
        ({"title": 3}, "changes\\['title'\\] must be a string or None, got 3"),
        ({"x": {1, 2}}, "metadata\\['x'\\] must be a JSON value"),
        ([], "changes must be a mapping of metadata keys to values, got \\[\\]"),
    ],
)
def test_changes_that_cannot_be_made(engine: Engine, changes: Any, message: str) -> None:
    """Reserved keys and values that JSON cannot represent raise an error with the key."""
    with pytest.raises(ArgumentError, match=message):
        engine.update(changes, ["limits.md"])


def test_values_of_python_and_data_frames_are_kept(engine: Engine) -> None:
    """Dates, decimals, ids, paths and scalars of numpy come back in their plain form; adding that changes nothing."""
    metadata = {
        "source": Path("notes/rain.md"), "at": datetime(2024, 1, 31, 10), "day": date(2024, 1, 31),
        "price": Decimal("2.50"), "uid": UUID(int=5), "count": np.int64(3), "rate": float("nan"),
        "nested": {"days": [np.datetime64("2024-01-31"), Decimal(3)]},
    }  # fmt: skip
    plain = {
        "at": "2024-01-31T10:00:00", "day": "2024-01-31", "price": 2.5,
        "uid": "00000000-0000-0000-0000-000000000005", "count": 3, "rate": None,
        "nested": {"days": ["2024-01-31", 3]},
    }  # fmt: skip
    assert engine.add([Document("Rain.", metadata)]).added == 1
    [item] = engine.get("notes/rain.md")
    assert {key: item.metadata[key] for key in plain} == plain
    again = Document("Rain.", {**plain, "source": "notes/rain.md"})
    assert content_hash(Document("Rain.", metadata)) == content_hash(again)
    assert engine.add([again]).unchanged == 1
    assert engine.count({"at": {"$lt": datetime(2024, 2, 1)}, "uid": UUID(int=5)}).documents == 1
    assert engine.update({"day": date(2024, 2, 1)}, ["notes/rain.md"]) == ["notes/rain.md"]
    assert engine.count(field("day") > date(2024, 1, 31)).documents == 1


@pytest.mark.parametrize("value", [{1}, b"x", float("inf"), [{"a": np.complex64(1)}]])
def test_a_value_that_cannot_be_kept_is_named_by_its_key(engine: Engine, value: Any) -> None:
    """The message names the key and the document."""
    with pytest.raises(ArgumentError, match=r"metadata\['bad'\] must be a JSON value, .*'x'"):
        engine.add([Document("text", {"day": date(2024, 1, 1), "bad": value}, id="x")])


def test_another_case_is_noted_where_a_filter_finds_nothing(engine: Engine) -> None:
    """The note gives the filter that finds something, counted within the scope; a filter that matches has no note."""
    note = "no passage matches lang:EN draft:true; in another case 2 would: lang:~EN draft:true"
    ranking = engine.retrieve("cats", filter="lang:EN draft:true")
    assert (len(ranking), ranking.notes) == (0, (note,))
    assert engine.retrieve("cats", 1, filter="lang:~EN draft:true")[0].metadata["source"] == "cats.md"
    assert engine.retrieve("cats", filter={"tags": {"$in": ["B", 3]}}).notes == (
        "no passage matches tags:B,3; in another case 1 would: tags:~B OR tags:3",
    )
    (note,) = engine.scoped("lang:de").retrieve("cats", filter="lang:EN").notes
    assert note == "no document has 'EN' as 'lang'; values are 'de'"
    assert engine.retrieve("xyzzy", filter="lang:en").notes == ()
    assert engine.count("author.name:~ANN").documents == 1


def test_unknown_keys_are_noted(engine: Engine) -> None:
    """A filter with an unknown key adds a note with the nearest key."""
    ranking = engine.retrieve("tokens", filter="lnag:en")
    assert (len(ranking), ranking.notes) == (
        0,
        ("no document has the metadata key 'lnag'; did you mean 'lang'?",),
    )
    assert engine.retrieve("tokens", filter="page:3 lang:en").notes == ()


@pytest.mark.parametrize("form", ["{}:{}", "{}:{} AND tags:a", "tags:nosuch OR {}:{}", "{}:~{}"])
def test_values_that_no_document_has_are_noted_with_those_that_exist(engine: Engine, form: str) -> None:
    """Whatever the filter is made of; the values most alike come first, and only where nothing was found."""
    ranking = engine.retrieve("tokens", filter=form.format("lang", "dee"))
    assert "no document has 'dee' as 'lang'; values are 'de', 'en'" in ranking.notes
    assert len(ranking) == 0
    assert not engine.retrieve("tokens", filter="lang:en OR lang:dee").notes


def test_cancelling_ends_an_add(engine: Engine) -> None:
    """A cancelled `aadd` reads no further document and releases the index."""
    begun, consumed = Event(), list[int]()

    def endless() -> Iterator[Document]:
        while True:
            consumed.append(len(consumed))
            yield Document(f"Document {len(consumed)}.", {"source": f"{len(consumed)}.md"})
            begun.set()

    async def main() -> None:
        task = asyncio.create_task(engine.aadd(endless()))
        assert await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    engine.add([Document("Later.", {"source": "later.md"})], timeout=60)
    number = len(consumed)
    engine.add([Document("Later still.", {"source": "still.md"})])
    assert len(consumed) == number
