"""Queries that the page refuses, and what it says of those that are arranged."""

from typing import Any

import pytest

from tests.surfaces.http.conftest import Local


def test_a_query_that_is_too_long_is_refused_with_the_rule(library: Local) -> None:
    """The page does not search for a part of a query in silence; it says how many characters a query may have."""
    answer = library.client.get("/", params={"q": "a" * 10_001})
    assert "query must have at most 10,000 characters, got 10,001" in answer.text
    assert library.client.get("/", params={"q": "a" * 10_000}).status_code == 200


def test_a_page_has_as_many_results_as_its_address_says(library: Local) -> None:
    """`k` is a page's number of results, with the bounds of every door; the next page goes on with as many."""
    first = library.client.get("/", params={"q": "tokens", "k": "1"}).text
    second = library.client.get("/", params={"q": "tokens", "k": "1", "page": "2"}).text
    refused = library.client.get("/", params={"q": "tokens", "k": "10001"})
    assert ('id="hit-1"' in first, 'id="hit-2"' in first, 'id="hit-2"' in second) == (True, False, True)
    assert "k=1&amp;page=2" in first
    assert (refused.status_code, "k must be" in refused.text) == (422, True)


@pytest.mark.parametrize(
    "path",
    ["/", "/source", "/symbol", "/browse", "/contents", "/answer", "/original", "/picture", "/suggest"],
)
@pytest.mark.parametrize("query", ["?q=tokens&k=3&k=5", "?q=a&q=b", "?q=a&page=1&page=2", "?q=a&filter=x"])
def test_a_page_refuses_what_it_does_not_use(library: Local, path: str, query: str) -> None:
    """A parameter that no page takes, and a second value of one, is named with status 422, not left out."""
    answer = library.client.get(path + query)
    assert (answer.status_code, "query parameters must" in answer.text) == (422, True)
    lists = "/?q=tokens&f=a:b&f=c:d&after=a&after=b&legs=lexical&legs=dense"
    assert library.client.get(lists).status_code == 200


def test_a_form_has_only_the_fields_that_it_uses(library: Local) -> None:
    """A form with an unknown field, with a field twice, or with files beside a deletion changes nothing."""
    before = library.engine.count().documents
    headers = {"origin": library.url}
    forms: list[dict[str, Any]] = [
        {"data": {"delete": ["a", "b"]}},
        {"data": {"remove": "a"}},
        {"data": {"delete": "a"}, "files": {"files": ("new.md", b"new")}},
    ]
    answers = [library.client.post("/change", headers=headers, **form).status_code for form in forms]
    assert (answers, library.engine.count().documents) == ([422, 422, 422], before)


def test_a_suggested_spelling_is_a_link(server: Local) -> None:
    """A note that suggests a word leads to the question with that word, in the sources and filters that were chosen."""
    html = server.client.get("/", params={"q": "otterz swim", "in": "docs"}).text
    assert '<a href="/?q=otters+swim&amp;in=docs">Search for “otters swim”</a>' in html


def test_what_leaves_nothing_over_is_taken_away_with_one_link(library: Local) -> None:
    """A page without results, and one that refuses an option, link to the question without filters and options."""
    nothing = library.client.get("/", params={"q": "tokens", "f": "team:none", "min_score": "1"}).text
    refused = library.client.get("/", params={"q": "tokens", "fuzzy": "x"})
    bare = 'href="/?q=tokens&amp;in=docs">'
    assert f"{bare}search without the filters and the options</a>" in nothing
    assert refused.status_code == 422
    assert f"{bare}Search without the options</a>" in refused.text


def test_a_result_says_that_it_was_boosted(library: Local) -> None:
    """The figures below a result name the boosts; the number of options in use stands at their heading."""
    parameters = {"q": "tokens", "why": "1", "boost": "type:markdown^3", "collapse": "type"}
    html = library.client.get("/", params=parameters).text
    for text in ("factor&nbsp;3", "filter&nbsp;type:markdown", "<summary>Options (2)</summary>"):
        assert text in html
