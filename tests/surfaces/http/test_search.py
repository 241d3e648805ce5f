"""POST /v1/search."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth import Engine

from .conftest import Local, serving


def search(server: Local, **body: Any) -> dict[str, Any]:
    answer = server.client.post("/v1/search", json=body)
    assert answer.status_code == 200, answer.text
    values: dict[str, Any] = answer.json()
    return values


def test_options_reach_the_engine(server: Local) -> None:
    """Legs, fusion, explanation and snippets work as in Python."""
    hits = search(server, query="tokens", legs=["lexical"], explain=True, snippets=True)
    assert [part["name"] for part in search(server, query="tokens")["parts"]] == ["lexical", "dense"]
    assert hits["parts"] == []  # there was one, and it answered
    best = hits["items"][0]
    assert best["explanation"]["value"] == pytest.approx(best["score"])
    start, end = best["snippet"]["spans"][0]
    assert best["snippet"]["text"][start:end].lower() == "tokens"


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """Run a server over one document of three sections, the second of which has three passages."""
    folder = tmp_path_factory.mktemp("long")
    parts = {word: f"{word} " + "and so on it goes for a while. " * 40 for word in WORDS}
    one, two, three, four, five = parts.values()
    text = f"# First\n\n{one}\n\n# Second\n\n{two}\n\n{three}\n\n{four}\n\n# Third\n\n{five}\n"
    (folder / "guide.md").write_text(text, "utf-8")
    with Engine.open(folder / "index", create=True) as engine:
        engine.index([folder / "guide.md"])
    with serving(folder / "index", read_only=True) as started:
        yield started


WORDS = ("alpha", "bravo", "zebra", "delta", "echo")
FUSIONS = ["rrf(lexical=1,dense=1)", "minmax(lexical=0,dense=1)", "max(lexical=2,dense=1)"]


@pytest.mark.parametrize("fusion", FUSIONS)
def test_fusions_are_those_of_the_engine(server: Local, index: Any, fusion: str) -> None:
    """A printed fusion gives the same scores as in Python, also over pages."""
    with Engine.open(index) as engine:
        expected = [(item.id, item.score) for item in engine.retrieve("tokens cats", k=3, fusion=fusion)]
    whole = search(server, query="tokens cats", k=3, fusion=fusion)
    assert [(hit["id"], hit["score"]) for hit in whole["items"]] == expected
    first = search(server, query="tokens cats", k=1, fusion=fusion)
    again = {"query": "tokens cats", "k": 2, "cursor": first["next_cursor"]}
    rest = search(server, **again, fusion=fusion)
    assert [(hit["id"], hit["score"]) for hit in first["items"] + rest["items"]] == expected
    other = server.client.post("/v1/search", json={**again, "fusion": "max"})
    assert (other.status_code, other.json()["code"]) == (422, "ArgumentError")


@pytest.mark.parametrize(("expand", "expected"), [(None, 1), (1, 3), ("section", 3), ("document", 5)])
def test_hits_grow_by_their_neighbours(long: Local, expand: Any, expected: int) -> None:
    """Expansion returns the passages around a hit, its section, or its document, as one text."""
    (hit,) = search(long, query="zebra", k=1, legs=["lexical"], expand=expand)["items"]
    assert len([word for word in WORDS if word in hit["text"]]) == expected


WRONG = tomllib.loads(Path(__file__).with_name("wrong_searches.toml").read_text("utf8"))["searches"]


@pytest.mark.parametrize(("body", "code", "words"), WRONG)
def test_wrong_arguments_are_problems(server: Local, body: Any, code: str, words: str) -> None:
    """An invalid argument gives a problem document with the error's code and the remedy."""
    answer = server.client.post("/v1/search", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    problem = answer.json()
    assert (problem["code"], problem["type"]) == (code, f"urn:sleuth:error:{code}")
    assert words in problem["detail"]
    assert problem["request_id"] == answer.headers["x-request-id"]
